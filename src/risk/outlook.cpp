#include "risk/outlook.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "comm/agreement.hpp"
#include "core/special_numbers.hpp"
#include "risk/tail_search.hpp"
#include "solve/gather_result.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kBins = 60;

/// Losses beyond the bins count in those at the ends.
std::size_t bin_of(const LossHistogram& histogram, double loss) {
  const double share = (loss - histogram.first) / (histogram.last - histogram.first);
  const double bin = std::floor(share * static_cast<double>(kBins));
  return static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(kBins - 1)));
}

/// Mean and spread of losses, as sums over masses.
struct Spread {
  double mass = 0;
  double first = 0;   // sum of mass * loss
  double second = 0;  // sum of mass * loss^2

  void add(double m, double loss) {
    mass += m;
    first += m * loss;
    second += m * loss * loss;
  }
  [[nodiscard]] double mean() const { return first / mass; }
  [[nodiscard]] double deviation() const { return std::sqrt(std::max(0.0, second / mass - mean() * mean())); }
};

/// Bins reach from four deviations below to four above the means, before and after, within the losses of scenarios.
void choose_bins(const Days& days, const Collectives& clients, const TiltedPlan& after, bool losses_are_known,
                 LossHistogram& histogram) {
  std::vector<ExactSum> sums(6);
  for (std::size_t i = 0; losses_are_known && i < days.own(); ++i) {
    const double stays = days.may_stay ? after.moves[i].stays : 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const double mass = days.a[i] * (k == 0 ? 1 : stays);
      sums[3 * k].add(mass);
      sums[3 * k + 1].add(mass * days.losses[i]);
      sums[3 * k + 2].add(mass * days.losses[i] * days.losses[i]);
    }
  }
  add_up_of_all(clients, sums);
  Spread then{sums[3].total(), sums[4].total(), sums[5].total()};
  for (std::size_t j = 0; j < days.scenarios(); ++j) then.add(after.columns[j], days.scenario_losses[j]);
  Spread before{sums[0].total(), sums[1].total(), sums[2].total()};
  if (!(before.mass > 0)) before = then;
  const auto [least, most] = std::ranges::minmax_element(days.scenario_losses);
  constexpr double reach = 4;
  const double low = std::min(before.mean() - reach * before.deviation(), then.mean() - reach * then.deviation());
  const double high = std::max(before.mean() + reach * before.deviation(), then.mean() + reach * then.deviation());
  histogram.first = std::max(*least, low);
  histogram.last = std::min(*most, high);
  if (histogram.last > histogram.first) return;
  histogram.first = std::min(low, *least);
  histogram.last = std::max(high, *most);
  if (histogram.last > histogram.first) return;
  histogram.last = histogram.first + std::max(1e-12, std::abs(histogram.first) * 1e-3);
}

constexpr std::size_t kNumbersOfMove = 8;

std::vector<double> numbers_of(const std::vector<DayMove>& moves) {
  std::vector<double> numbers;
  for (const DayMove& move : moves) {
    numbers.insert(numbers.end(), {static_cast<double>(move.day), move.mass, move.loss_before, move.loss_after,
                                   move.cost, static_cast<double>(move.scenario), move.share, move.stays});
  }
  return numbers;
}

std::vector<DayMove> moves_at_root(const Days& days, const Collectives& clients, std::vector<DayMove> own) {
  const std::array<double, 1> mine = {static_cast<double>(own.size())};
  const std::vector<double> said = clients.of(Payload::shape).allgather_numbers(mine);
  std::vector<std::size_t> counts;
  std::size_t total = 0;
  for (std::size_t k = 0; k < said.size(); ++k) {
    const std::uint64_t held = days.slices[k].size();
    counts.push_back(kNumbersOfMove * from_peer(clients, k).count(said[k], held, "a number of days"));
    total += counts.back();
  }
  const bool root = clients.rank() == 0;
  std::vector<double> all(root ? total : 0);
  clients.of(Payload::result).gather(numbers_of(own), counts, all, 0);
  if (!root) return own;
  std::vector<DayMove> moves;
  const double* at = all.data();
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const FromPeer peer = from_peer(clients, k);
    for (std::size_t i = 0; i < counts[k] / kNumbersOfMove; ++i, at += kNumbersOfMove) {
      moves.push_back({peer.count(at[0], days.all, "the number of a day"), at[1], at[2], at[3], at[4],
                       peer.count(at[5], days.scenarios(), "the number of a scenario"), at[6], at[7]});
    }
  }
  return moves;
}

}  // namespace

void describe_before(const Days& days, const Collectives& clients, double cvar_level, RiskResult& result) {
  // All clients know the losses of their days, or none does. A client without days knows all of them.
  std::vector<bool> is_unknown = {days.own() > 0 && days.losses.empty()};
  any_of_all(clients, is_unknown);
  result.expected_loss = result.value_at_risk = kUnknown;
  if (is_unknown[0]) return;
  if (cvar_level > 0) {
    const ObservedTail tail = observed_tail(days, clients, cvar_level);
    result.expected_loss = tail.cvar;
    result.value_at_risk = tail.value_at_risk;
    return;
  }
  std::vector<ExactSum> sum(1);
  for (std::size_t i = 0; i < days.own(); ++i) sum[0].add(days.a[i] * days.losses[i]);
  add_up_of_all(clients, sum);
  result.expected_loss = sum[0].total();
}

void describe_losses(const Days& days, const Collectives& clients, const TiltedPlan& after, RiskResult& result) {
  LossHistogram& histogram = result.histogram;
  choose_bins(days, clients, after, !std::isnan(result.expected_loss), histogram);
  histogram.after.assign(kBins, 0.0);
  for (std::size_t j = 0; j < days.scenarios(); ++j) {
    histogram.after[bin_of(histogram, days.scenario_losses[j])] += after.columns[j];
  }
  if (std::isnan(result.expected_loss)) return;
  std::vector<ExactSum> sums(2 * kBins);
  for (std::size_t i = 0; i < days.own(); ++i) {
    const std::size_t bin = bin_of(histogram, days.losses[i]);
    sums[bin].add(days.a[i]);
    if (days.may_stay) sums[kBins + bin].add(days.a[i] * after.moves[i].stays);
  }
  add_up_of_all(clients, sums);
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    histogram.before.push_back(sums[bin].total());
    histogram.after[bin] += sums[kBins + bin].total();
  }
}

void gather_outlook(const Days& days, const Collectives& clients, const CountingCommunicator& traffic,
                    double compute_seconds, std::vector<DayMove> own, RiskResult& result) {
  const bool may_leave = clients.sums() == nullptr && clients.size() > 1;
  result.moves = may_leave ? moves_at_root(days, clients, std::move(own)) : std::move(own);
  ClientReport report;
  report.client = clients.rank();
  report.compute_seconds = compute_seconds;
  report = with_traffic(traffic, std::move(report));
  result.clients = reports_of(clients, report);
  for (ClientReport& one : result.clients) {
    one.first_row = days.slices[one.client].first;
    one.last_row = days.slices[one.client].last;
    one.last_column = days.scenarios();
  }
  result.client_count = clients.size();
  result.this_client = clients.rank();
  result.rows = days.all;
  result.columns = days.scenarios();
}

}  // namespace fedsinkhorn
