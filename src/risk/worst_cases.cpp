#include "risk/worst_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/agreement.hpp"
#include "comm/secure_sums.hpp"
#include "core/special_numbers.hpp"
#include "fedsinkhorn/error.hpp"
#include "risk/meeting.hpp"

namespace fedsinkhorn {
namespace {

/// Radii that differ from the least one by rounding are the least one.
constexpr double kRadiusRounding = 1e-12;
/// Mixtures of two plans are found to this, unless the tolerance is smaller: of what is maximised, relative to
/// lambda * budget.
constexpr double kGap = 1e-9;
/// Of near().
constexpr double kNearGap = 1e-6;

}  // namespace

WorstCases::WorstCases(TiltedPass& pass, double cvar_level, std::optional<double> threshold, std::int64_t most_passes,
                       std::uint64_t most_sums)
    : pass_(pass), level_(cvar_level), most_passes_(most_passes), most_sums_(most_sums), multipliers_(pass) {
  if (level_ > 0) {
    tails_.emplace(pass_, multipliers_, level_);
    threshold_ = threshold;
  } else {
    losses_ = {pass.days().scenario_losses, pass.days().losses};
  }
}

double WorstCases::budget_of(double radius) const {
  const double least = pass_.days().least_radius;
  const double budget = radius - least;
  if (budget < -kRadiusRounding * least) {
    throw InputError(
        "`radius`",
        fmt::format("{} is less than {}, the least mean cost of moving every day to a scenario", radius, least),
        "give at least that, more scenarios, or let days stay where they are (`may_stay`)");
  }
  return budget <= kRadiusRounding * least ? 0 : budget;
}

template <class Body>
bool WorstCases::leaves_sums_for_the_end(const Body& body) {
  if (most_sums_ == 0) {
    body();
    return true;
  }
  SecureSums& sums = *pass_.clients().sums();
  sums.show_at_most(most_sums_ - numbers_at_the_end_of_risk(pass_.days().scenarios()));
  try {
    body();
  } catch (const SumsSpent&) {
    are_sums_spent_ = true;
  }
  sums.show_at_most(most_sums_);
  return !are_sums_spent_;
}

Multiplier WorstCases::find(const MultiplierGoal& goal) {
  Multiplier found;
  return leaves_sums_for_the_end([&] { found = search(goal); }) ? found : best_so_far(goal);
}

// Any multiplier gives a bound. If no pass has had these losses, one more is made.
Multiplier WorstCases::best_so_far(const MultiplierGoal& goal) {
  Multiplier best = {tilt_, {}, tilt_.lambda > 0, false, 0};
  if (!multipliers_.visited().empty()) {
    best = multipliers_.best(goal.budget);
    if (!tails_) return best;
  }
  if (tails_) {
    if (!threshold_) threshold_ = *std::ranges::max_element(pass_.days().scenario_losses);
    losses_ = losses_above(pass_.days(), *threshold_, level_);
  }
  pass_.form_plans(false);
  best.totals = pass_.totals(best.tilt, losses_);
  return best;
}

Multiplier WorstCases::search(const MultiplierGoal& goal) {
  if (!tails_) return multipliers_.find(losses_, goal, multipliers_.predicted(goal.budget));
  const Tail tail = tails_->find(goal, threshold_, tilt_.lambda > 0 ? std::optional(tilt_.lambda) : std::nullopt);
  threshold_ = tail.threshold;
  losses_ = losses_above(pass_.days(), tail.threshold, level_);
  return tail.multiplier;
}

WorstCase WorstCases::worst_case(double radius, double budget, const Multiplier& found) const {
  const TiltedTotals& at = found.totals;
  WorstCase worst;
  worst.radius = radius;
  worst.loss = at.loss;
  worst.lambda = at.lambda;
  worst.transport_cost = pass_.days().least_radius + at.excess;
  worst.dual = at.lambda * budget + at.hard;
  worst.entropic_dual = at.lambda * budget + at.soft;
  // loss - epsilon sum P log(P / a), since epsilon log(P / a) = l - lambda e - (soft maximum of the day).
  worst.entropic_primal = at.lambda * at.excess + at.soft - found.gap;
  worst.value_at_risk = threshold_.value_or(kUnknown);
  worst.is_binding = found.is_binding;
  const Status not_found = are_sums_spent_ ? Status::sums_limit : Status::iteration_limit;
  worst.status = found.is_found ? Status::converged : not_found;
  return worst;
}

WorstCase WorstCases::at(double radius, double tolerance) {
  return solve(radius, tolerance, std::min(tolerance, kGap));
}

WorstCase WorstCases::near(double radius) { return solve(radius, kGap, tails_ ? kGap : kNearGap); }

WorstCase WorstCases::solve(double radius, double tolerance, double gap) {
  const std::int64_t before = pass_.passes();
  const double budget = budget_of(radius);
  const Multiplier found = find({budget, tolerance, gap, most_passes_});
  WorstCase worst = worst_case(radius, budget, found);
  tilt_ = found.tilt;
  const bool is_whole = budget > 0 || leaves_sums_for_the_end([&] {
                          // Every lambda from some value on leaves all days at their nearest scenario.
                          const double lambda = least_multiplier();
                          worst.dual = pass_.totals({lambda}, losses_).hard;
                          worst.lambda = lambda;
                          worst.is_binding = lambda > 0;
                        });
  if (!is_whole) worst.status = Status::sums_limit;
  worst.passes = pass_.passes() - before;
  return worst;
}

TiltedPlan WorstCases::plan() {
  pass_.form_plans(true);
  (void)pass_.totals(tilt_, losses_);
  pass_.form_plans(false);
  return pass_.last_plan(threshold_.value_or(kUnknown));
}

TiltedTotals WorstCases::free_plan() { return multipliers_.free_plan(losses_); }

/// max_ij (l_j - nearest loss of i) / e_ij, rounded up to a power of two.
double WorstCases::least_multiplier() const {
  const Days& days = pass_.days();
  double steepest = 0;
  if (days.costs) {
    DayCosts reader(*days.costs);
    for (std::size_t i = 0; i < days.own(); ++i) {
      const double* costs = reader.at(i, 1)[0];
      double nearest = days.may_stay ? losses_.of_days[i] : -std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < days.scenarios(); ++j) {
        if (costs[j] == days.least[i]) nearest = std::max(nearest, losses_.of_scenarios[j]);
      }
      for (std::size_t j = 0; j < days.scenarios(); ++j) {
        if (costs[j] > days.least[i]) {
          steepest = std::max(steepest, (losses_.of_scenarios[j] - nearest) / (costs[j] - days.least[i]));
        }
      }
    }
  }
  constexpr double most = 1e290;  // costs that tie up to rounding have no slope between them
  steepest = std::min(most, greatest_of_all(pass_.clients(), steepest));
  return steepest > 0 ? std::exp2(std::ceil(std::log2(steepest))) : 0;
}

std::vector<WorstCase> WorstCases::visited() const {
  std::vector<WorstCase> worst;
  if (tails_) return worst;
  for (const TiltedTotals& at : multipliers_.visited()) {
    worst.push_back(
        worst_case(pass_.days().least_radius + at.excess, at.excess, {{at.lambda}, at, at.lambda > 0, true, 0}));
  }
  std::ranges::sort(worst, {}, &WorstCase::radius);
  return worst;
}

}  // namespace fedsinkhorn
