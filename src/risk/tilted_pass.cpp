#include "risk/tilted_pass.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "comm/agreement.hpp"
#include "core/parallel.hpp"

namespace fedsinkhorn {
namespace {

/// Column sums are formed in so many parts at most, whatever the number of threads: same bits for all of them.
constexpr std::size_t kMostParts = 32;

cpu::TiltedSums mixed(const cpu::TiltedSums& one, double keeps, const cpu::TiltedSums& other, double adds) {
  return {keeps * one.weight + adds * other.weight, keeps * one.excess + adds * other.excess,
          keeps * one.squared_excess + adds * other.squared_excess, keeps * one.loss + adds * other.loss,
          keeps * one.product + adds * other.product};
}

}  // namespace

TiltedPass::TiltedPass(const Days& days, double epsilon, const Collectives& clients, const RiskComputing& computing,
                       std::function<void(const TiltedTotals&)> on_pass)
    : days_(days),
      epsilon_(epsilon),
      clients_(clients),
      computing_(computing),
      on_pass_(std::move(on_pass)),
      active_(days, computing, epsilon) {}

TiltedTotals TiltedPass::totals(const Tilt& tilt, const Losses& losses) {
  sums_.assign(days_.own(), {});
  columns_.assign(forms_plans_ ? days_.scenarios() : 0, 0.0);
  last_tilt_ = tilt;
  const Timer timer;
  if (days_.costs) compute(tilt, losses);
  std::vector<ExactSum> totals(7);
  for (std::size_t i = 0; i < days_.own(); ++i) {
    const double a = days_.a[i];
    totals[0].add(a * sums_[i].excess);
    totals[1].add(a * sums_[i].variance);
    totals[2].add(a * sums_[i].covariance);
    totals[3].add(a * sums_[i].loss);
    totals[4].add(a * sums_[i].maximum);
    totals[5].add(a * (sums_[i].maximum + epsilon_ * std::log(sums_[i].weight)));
  }
  totals[6].add(computing_.stop.is_made() ? 1 : 0);
  compute_seconds_ += timer.seconds();
  add_up_of_all(clients_, totals);
  if (totals[6].total() > 0) throw Interrupted();
  ++passes_;
  const TiltedTotals result{tilt.lambda,       totals[0].total(), totals[1].total(), totals[2].total(),
                            totals[3].total(), totals[4].total(), totals[5].total()};
  if (on_pass_) on_pass_(result);
  return result;
}

// The place of a day that may stay is one more scenario, with e = 0.
TiltedPass::DayWeights TiltedPass::weigh(std::size_t i, const DayRow& row, double lambda, const Losses& losses,
                                         double* w) const {
  const cpu::TiltOps& ops = computing_.simd.tilts;
  const double least = days_.least[i];
  DayWeights weights;
  weights.maximum = ops.maximum(row.costs, least, row.count, row.losses, lambda);
  if (days_.may_stay) weights.maximum = std::max(weights.maximum, losses.of_days[i]);
  weights.scenarios = ops.sums(row.costs, least, row.count, row.losses, lambda, weights.maximum, 1 / epsilon_, w);
  weights.stays = days_.may_stay ? std::exp((losses.of_days[i] - weights.maximum) / epsilon_) : 0;
  return weights;
}

void TiltedPass::compute_day(std::size_t i, const DayRow& row, const Tilt& tilt, const Losses& losses,
                             std::span<double> w, std::vector<double>* column_part) {
  DaySums& day = sums_[i];
  DayWeights weights = weigh(i, row, tilt.lambda, losses, w.data());
  day.maximum = weights.maximum;
  day.weight = weights.sum();
  if (tilt.share > 0) {
    double* const other_w = w.data() + w.size() / 2;
    const DayWeights other = weigh(i, row, tilt.other, losses, other_w);
    const double keeps = 1 - tilt.share;
    const double adds = tilt.share * day.weight / other.sum();  // the sum of weights stays the same
    for (std::size_t k = 0; k < row.count; ++k) w[k] = keeps * w[k] + adds * other_w[k];
    weights.scenarios = mixed(weights.scenarios, keeps, other.scenarios, adds);
    weights.stays = keeps * weights.stays + adds * other.stays;
  }
  const cpu::TiltedSums& s = weights.scenarios;
  const double stays = weights.stays;
  day.excess = s.excess / day.weight;
  day.variance = std::max(0.0, s.squared_excess / day.weight - day.excess * day.excess);
  day.loss = (s.loss + (stays > 0 ? stays * losses.of_days[i] : 0)) / day.weight;
  day.covariance = s.product / day.weight - day.excess * day.loss;
  day.stays = stays / day.weight;
  if (column_part == nullptr) return;
  const double scale = days_.a[i] / day.weight;
  double given_loss = stays > 0 ? stays * days_.losses[i] : 0;
  for (std::size_t k = 0; k < row.count; ++k) {
    const std::size_t j = row.scenario(k);
    (*column_part)[j] += scale * w[k];
    given_loss += w[k] * days_.scenario_losses[j];
  }
  day.given_loss = given_loss / day.weight;
  const double* const best = std::max_element(w.data(), w.data() + row.count);
  const bool stays_best = row.count == 0 || stays >= *best;
  day.likeliest = stays_best ? days_.scenarios() : row.scenario(static_cast<std::size_t>(best - w.data()));
  day.share = (stays_best ? stays : *best) / day.weight;
}

void TiltedPass::compute(const Tilt& tilt, const Losses& losses) {
  const std::size_t m = days_.scenarios();
  const std::size_t parts = std::min(kMostParts, (days_.own() + cpu::kRowBlock - 1) / cpu::kRowBlock);
  const auto threads = static_cast<std::size_t>(std::max(1, computing_.threads));
  active_.prepare(losses, budget_);
  std::vector<std::optional<DayCosts>> readers(threads);
  std::vector<std::vector<double>> weights(threads);
  std::vector<std::vector<std::uint32_t>> rooms(threads);
  std::vector<std::vector<double>> column_parts(columns_.empty() ? 0 : parts);
  parallel_chunks(computing_.threads, parts, [&](std::size_t part, std::size_t thread) {
    if (!readers[thread]) readers[thread].emplace(*days_.costs);
    if (weights[thread].empty()) weights[thread].resize(2 * m);
    if (rooms[thread].empty()) rooms[thread].resize(m);
    if (!columns_.empty()) column_parts[part].assign(m, 0.0);
    const Range rows = chunk_range(days_.own(), parts, part, cpu::kRowBlock);
    for (std::size_t first = rows.first; first < rows.last; first += cpu::kRowBlock) {
      if (computing_.stop.is_made()) return;
      const std::size_t count = std::min(cpu::kRowBlock, rows.last - first);
      std::array<std::optional<DayRow>, cpu::kRowBlock> lists;
      bool are_all_listed = true;
      for (std::size_t k = 0; k < count; ++k) {
        lists[k] = active_.row(first + k, tilt.lambda);
        if (tilt.share > 0 && !active_.row(first + k, tilt.other)) lists[k].reset();
        are_all_listed = are_all_listed && lists[k];
      }
      const double* const* const costs = are_all_listed ? nullptr : readers[thread]->at(first, count);
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t i = first + k;
        const DayRow row = lists[k] ? *lists[k] : DayRow{costs[k], losses.of_scenarios.data(), nullptr, m};
        compute_day(i, row, tilt, losses, weights[thread], columns_.empty() ? nullptr : &column_parts[part]);
        if (!lists[k]) active_.make(i, costs[k], tilt.lambda, sums_[i].maximum, rooms[thread]);
      }
    }
  });
  for (const std::vector<double>& part : column_parts) {
    for (std::size_t j = 0; j < part.size(); ++j) columns_[j] += part[j];
  }
}

TiltedPlan TiltedPass::last_plan(double threshold) const {
  const std::size_t m = days_.scenarios();
  std::vector<ExactSum> all(m + 3);
  for (std::size_t j = 0; j < m; ++j) all[j].add(columns_[j]);
  for (std::size_t i = 0; days_.may_stay && i < sums_.size(); ++i) {
    const double mass = days_.a[i] * sums_[i].stays;
    all[m].add(mass);
    if (days_.losses[i] > threshold) all[m + 1].add(mass);
    if (days_.losses[i] == threshold) all[m + 2].add(mass);
  }
  add_up_of_all(clients_, all);
  TiltedPlan plan;
  for (std::size_t j = 0; j < m; ++j) plan.columns.push_back(all[j].total());
  plan.stays = all[m].total();
  plan.stays_above = all[m + 1].total();
  plan.stays_at = all[m + 2].total();
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    DayMove move;
    move.day = days_.numbers[i];
    move.mass = days_.a[i];
    move.loss_before = days_.losses.empty() ? std::numeric_limits<double>::quiet_NaN() : days_.losses[i];
    move.loss_after = sums_[i].given_loss;
    move.cost = days_.least[i] + sums_[i].excess;
    move.scenario = sums_[i].likeliest;
    move.share = sums_[i].share;
    move.stays = sums_[i].stays;
    plan.moves.push_back(move);
  }
  return plan;
}

}  // namespace fedsinkhorn
