#include "risk/tail_search.hpp"

#include <algorithm>
#include <array>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "comm/agreement.hpp"

namespace fedsinkhorn {
namespace {

/// Masses that differ by rounding count as equal: 125 of 2,500 days are exactly 5 %.
constexpr double kMassRounding = 1e-12;
/// A threshold is found to this share of the range of losses. The worst case depends on it to second order.
constexpr double kThresholdDigits = 1e-9;
/// While thresholds are compared, lambda need not be better than this.
constexpr double kRough = 1e-6;

double stretched(double loss, double threshold, double level) {
  return threshold + std::max(0.0, loss - threshold) / (1 - level);
}

}  // namespace

Losses losses_above(const Days& days, double threshold, double level) {
  Losses losses;
  losses.stretch = 1 / (1 - level);
  for (const double loss : days.scenario_losses) losses.of_scenarios.push_back(stretched(loss, threshold, level));
  for (const double loss : days.losses) losses.of_days.push_back(stretched(loss, threshold, level));
  return losses;
}

/// The worst case for one threshold, and how much of its mass lies above.
struct TailSearch::Trial {
  double threshold = 0;
  Multiplier multiplier;
  double above = 0;          // P(L > t)
  double from = 0;           // P(L >= t)
  double value_at_risk = 0;  // of P, among the losses of scenarios
};

TailSearch::TailSearch(TiltedPass& pass, MultiplierSearch& multipliers, double level)
    : pass_(pass), multipliers_(multipliers), level_(level), losses_(pass.days().scenario_losses) {
  std::ranges::sort(losses_);
  losses_.erase(std::unique(losses_.begin(), losses_.end()), losses_.end());
}

TailSearch::Trial TailSearch::at(double threshold, const MultiplierGoal& goal) {
  const Days& days = pass_.days();
  const Losses losses = losses_above(days, threshold, level_);
  multipliers_.forget();
  Trial trial;
  trial.threshold = threshold;
  trial.multiplier = multipliers_.find(losses, goal, lambda_);
  are_all_found_ = are_all_found_ && trial.multiplier.is_found;
  if (trial.multiplier.is_binding) lambda_ = trial.multiplier.totals.lambda;
  if (pass_.last_tilt() != trial.multiplier.tilt) (void)pass_.totals(trial.multiplier.tilt, losses);
  const TiltedPlan plan = pass_.last_plan(threshold);
  std::vector<std::size_t> order(days.scenarios());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::ranges::sort(order, std::greater<>(), [&](std::size_t j) { return days.scenario_losses[j]; });
  trial.above = plan.stays_above;
  trial.from = plan.stays_above + plan.stays_at;
  double mass = 0;
  trial.value_at_risk = losses_.front();
  bool is_reached = false;
  for (const std::size_t j : order) {
    const double loss = days.scenario_losses[j];
    if (loss > threshold) trial.above += plan.columns[j];
    if (loss >= threshold) trial.from += plan.columns[j];
    mass += plan.columns[j];
    if (!is_reached && mass > 1 - level_) trial.value_at_risk = loss;
    is_reached = is_reached || mass > 1 - level_;
  }
  return trial;
}

Tail TailSearch::find(const MultiplierGoal& final_goal, std::optional<double> guess, std::optional<double> lambda) {
  lambda_ = lambda;
  are_all_found_ = true;
  pass_.form_plans(true);
  MultiplierGoal goal = final_goal;
  goal.tolerance = std::max(goal.tolerance, kRough);
  // Looks for the smallest loss of a scenario above which there is not too much mass. Above losses_[low] there is;
  // above losses_[high] there is not, as far as scenarios go.
  std::ptrdiff_t low = -1;
  auto high = static_cast<std::ptrdiff_t>(losses_.size()) - 1;
  const auto loss = [&](std::ptrdiff_t index) { return losses_[static_cast<std::size_t>(index)]; };
  const auto index_of = [&](double x) { return std::ranges::lower_bound(losses_, x) - losses_.begin(); };
  std::optional<Trial> best;
  std::ptrdiff_t next = guess ? index_of(*guess) : static_cast<std::ptrdiff_t>(level_ * static_cast<double>(high));
  while (high - low > 1) {
    Trial trial = at(loss(std::clamp(next, low + 1, high - 1)), goal);
    const std::ptrdiff_t width = high - low;
    (is_too_much(trial.above) ? low : high) = index_of(trial.threshold);
    // The value at risk of this plan is the best guess, unless the last one did not halve the bracket.
    next = 2 * (high - low) > width ? (low + high) / 2 : index_of(trial.value_at_risk);
    if (!is_too_much(trial.above)) best = trial;
  }
  if (!best || best->threshold != loss(high)) best = at(loss(high), goal);
  if (is_too_much(best->above)) {
    // Above all scenarios there are still days that stay.
    const double lowest = best->threshold;
    best = between(lowest, at(reach_of_days(), goal), goal);
  } else if (best->from < (1 - level_) * (1 - kMassRounding)) {
    // The threshold lies between the losses of two scenarios.
    best = between(low >= 0 ? loss(low) : std::min(loss(0), -2 * reach_of_days()), *best, goal);
  }
  best = at(best->threshold, final_goal);
  pass_.form_plans(false);
  best->multiplier.is_found = are_all_found_;  // else the threshold may be a wrong one
  return {best->threshold, best->multiplier};
}

bool TailSearch::is_too_much(double above) const { return above > (1 - level_) * (1 + kMassRounding); }

double TailSearch::reach_of_days() const {
  double reach = 0;
  for (const double loss : pass_.days().losses) reach = std::max(reach, std::abs(loss));
  return greatest_of_all(pass_.clients(), reach);
}

TailSearch::Trial TailSearch::between(double low, Trial high, const MultiplierGoal& goal) {
  const double range = std::max(high.threshold - low, losses_.back() - losses_.front());
  const auto surplus = [&](double threshold) {
    Trial trial = at(threshold, goal);
    const double above = trial.above - (1 - level_);
    if (is_too_much(trial.above)) return above;
    high = trial;
    return std::min(above, 0.0);
  };
  const auto is_close = [&](double a, double b) { return std::abs(a - b) <= kThresholdDigits * range; };
  const double above_high = high.above - (1 - level_);
  if (!(above_high < 0)) return high;
  std::uintmax_t most = 100;
  constexpr double above_low = 1;  // its sign is all that is known
  (void)boost::math::tools::toms748_solve(surplus, low, high.threshold, above_low, above_high, is_close, most);
  return high;
}

// ---------------------------------------------------------------------------------------------------------------------

ObservedTail observed_tail(const Days& days, const Collectives& clients, double level) {
  double reach = 0;
  for (const double loss : days.losses) reach = std::max(reach, std::abs(loss));
  reach = greatest_of_all(clients, reach);
  // A power of two, as by secure sums: all policies and numbers of clients look at the same thresholds.
  reach = reach > 0 ? std::exp2(std::ceil(std::log2(reach))) : 1;
  // Too much mass lies above `low`, not too much above `high`.
  double low = -2 * reach;
  double high = reach;
  constexpr std::size_t thresholds = 15;
  constexpr int rounds = 12;  // of a factor 16
  for (int round = 0; round < rounds; ++round) {
    std::vector<ExactSum> above(thresholds);
    const double step = (high - low) / (thresholds + 1);
    for (std::size_t i = 0; i < days.own(); ++i) {
      for (std::size_t k = 0; k < thresholds; ++k) {
        if (days.losses[i] > low + static_cast<double>(k + 1) * step) above[k].add(days.a[i]);
      }
    }
    add_up_of_all(clients, above);
    std::size_t k = 0;
    while (k < thresholds && above[k].total() > (1 - level) * (1 + kMassRounding)) ++k;
    high = low + static_cast<double>(k + 1) * step;
    low = low + static_cast<double>(k) * step;
  }
  std::vector<ExactSum> excess(1);
  for (std::size_t i = 0; i < days.own(); ++i) excess[0].add(days.a[i] * std::max(0.0, days.losses[i] - high));
  add_up_of_all(clients, excess);
  return {high, high + excess[0].total() / (1 - level)};
}

}  // namespace fedsinkhorn
