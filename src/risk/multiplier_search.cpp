#include "risk/multiplier_search.hpp"

#include <algorithm>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>
#include <tuple>

namespace fedsinkhorn {
namespace {

/// A bracket in log(lambda) that is closed to rounding has found what there is to find, if it is at least this near.
constexpr double kNearEnough = 1e-6;
/// Below lambda_largest * 2^-100, lambda is 0 for every purpose.
constexpr double kWidestBracket = 70;
/// If the search has gone so far below its start, in logs, the radius may be more than can be spent.
constexpr double kFarBelow = 4;
/// A lambda at which every day is where its excess is 0.
constexpr double kNearest = 1e250;
/// log of an excess that has vanished.
constexpr double kVanished = -700;

/// The slope of log(excess) in log(lambda); not 0, so that a Newton step exists.
double log_slope(const TiltedTotals& at, double epsilon) {
  const double slope = -at.lambda * at.variance / (epsilon * at.excess);
  return std::isfinite(slope) && slope < 0 ? slope : -1;
}

double log_excess(const TiltedTotals& at) { return at.excess > 0 ? std::log(at.excess) : kVanished; }

/// The cubic through two points with given slopes.
struct Hermite {
  double x0, y0, slope0, x1, y1, slope1;

  [[nodiscard]] double operator()(double x) const {
    const double h = x1 - x0;
    const double t = (x - x0) / h;
    const double s = 1 - t;
    return s * s * (1 + 2 * t) * y0 + t * t * (1 + 2 * s) * y1 + t * s * h * (s * slope0 - t * slope1);
  }
};

}  // namespace

TiltedTotals MultiplierSearch::visit(double lambda, const Losses& losses) {
  visited_.push_back(pass_.totals(lambda, losses));
  return visited_.back();
}

std::optional<double> MultiplierSearch::predicted(double budget) const {
  std::vector<TiltedTotals> known;
  for (const TiltedTotals& at : visited_) {
    if (at.lambda > 0 && at.excess > 0 && at.variance > 0) known.push_back(at);
  }
  if (known.empty()) return std::nullopt;
  std::ranges::sort(known, {}, &TiltedTotals::excess);
  const double x = std::log(budget);
  const auto right = std::ranges::find_if(known, [&](const TiltedTotals& at) { return at.excess >= budget; });
  const auto linear = [&](const TiltedTotals& at) {
    return std::log(at.lambda) + (x - log_excess(at)) / log_slope(at, pass_.epsilon());
  };
  double log_lambda = 0;
  if (right == known.begin()) {
    log_lambda = linear(known.front());
  } else if (right == known.end()) {
    log_lambda = linear(known.back());
  } else {
    const TiltedTotals& left = *(right - 1);
    const double epsilon = pass_.epsilon();
    const Hermite cubic{log_excess(left),   std::log(left.lambda),   1 / log_slope(left, epsilon),
                        log_excess(*right), std::log(right->lambda), 1 / log_slope(*right, epsilon)};
    // Between two points of a falling curve; where the cubic leaves them, so much for it.
    log_lambda = std::clamp(cubic(x), std::log(right->lambda), std::log(left.lambda));
  }
  const double lambda = std::exp(log_lambda);
  return std::isfinite(lambda) && lambda > 0 ? std::optional(lambda) : std::nullopt;
}

/// Where to start if nothing is known but the plan at lambda = 0, near which the excess is excess_0 / (1 + k lambda).
double MultiplierSearch::first_guess(const TiltedTotals& free, double budget) const {
  const double k = free.variance / (pass_.epsilon() * free.excess);
  return (free.excess / budget - 1) / k;
}

TiltedTotals MultiplierSearch::free_plan(const Losses& losses) {
  const auto known = std::ranges::find(visited_, 0.0, &TiltedTotals::lambda);
  if (known != visited_.end()) return *known;
  return visit(0, losses);
}

Multiplier MultiplierSearch::find(const Losses& losses, const MultiplierGoal& goal, std::optional<double> guess) {
  const auto is_near = [&](const TiltedTotals& at, double tolerance) {
    return std::abs(at.excess - goal.budget) <= tolerance * goal.budget;
  };
  pass_.look_for(goal.budget);
  if (goal.budget <= 0) return {pass_.totals(kNearest, losses), true, true};
  const bool is_free_known = std::ranges::find(visited_, 0.0, &TiltedTotals::lambda) != visited_.end();
  if (!guess || is_free_known) {
    const TiltedTotals free = free_plan(losses);
    if (free.excess <= goal.budget) return {free, false, true};
    if (!guess) guess = first_guess(free, goal.budget);
  }
  // The worst case is concave in the budget with slope lambda, so lambda * budget is less than all there is to gain.
  const double room = pass_.epsilon() * std::log(static_cast<double>(pass_.days().scenarios()) + 1);
  double highest = std::log(2 * (pass_.days().most_gain * losses.stretch + room) / goal.budget);
  double lowest = highest - kWidestBracket;
  const double widest = highest;
  for (const TiltedTotals& at : visited_) {
    if (!(at.lambda > 0)) continue;
    double& end = at.excess > goal.budget ? lowest : highest;
    end = at.excess > goal.budget ? std::max(lowest, std::log(at.lambda)) : std::min(highest, std::log(at.lambda));
  }
  if (!(lowest < highest)) {  // visits on a plateau, out of order by rounding
    highest = widest;
    lowest = widest - kWidestBracket;
  }
  const double start = std::isfinite(*guess) && *guess > 0 ? std::log(*guess) : (lowest + highest) / 2;
  std::optional<Multiplier> found;
  const auto step = [&](double log_lambda) {
    const TiltedTotals at = visit(std::exp(log_lambda), losses);
    if (is_near(at, goal.tolerance)) {
      found = {at, true, true};
    } else if (at.excess < goal.budget && log_lambda < start - kFarBelow) {
      const TiltedTotals free = free_plan(losses);
      if (free.excess <= goal.budget) found = {free, false, true};
    }
    if (found) return std::make_tuple(0.0, -1.0);  // ends the search
    return std::make_tuple(log_excess(at) - std::log(goal.budget), log_slope(at, pass_.epsilon()));
  };
  auto most = static_cast<std::uintmax_t>(goal.most_passes);
  (void)boost::math::tools::newton_raphson_iterate(step, std::clamp(start, lowest, highest), lowest, highest,
                                                   std::numeric_limits<double>::digits, most);
  if (found) return *found;
  if (std::ranges::none_of(visited_, [&](const TiltedTotals& at) { return at.excess > goal.budget; })) {
    const TiltedTotals free = free_plan(losses);
    if (free.excess <= goal.budget) return {free, false, true};
  }
  const TiltedTotals& best = nearest(goal.budget);
  return {best, true, is_near(best, kNearEnough)};
}

const TiltedTotals& MultiplierSearch::nearest(double budget) const {
  const TiltedTotals* best = nullptr;
  for (const TiltedTotals& at : visited_) {
    if (at.excess <= budget && (best == nullptr || at.excess > best->excess)) best = &at;
  }
  return best == nullptr ? visited_.back() : *best;
}

}  // namespace fedsinkhorn
