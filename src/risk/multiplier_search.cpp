#include "risk/multiplier_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fedsinkhorn {
namespace {

/// Below lambda_largest times this, lambda is 0 for every purpose.
constexpr double kWidestBracket = 1e-30;
/// If the search has gone so far below its start, the radius may be more than can be spent.
constexpr double kFarBelow = 0.02;
/// A lambda at which every day is where its excess is 0.
constexpr double kNearest = 1e250;
/// A step is good if it leaves at most this share of the distance to the budget, in logs.
constexpr double kFast = 0.7;
/// log of an excess that has vanished.
constexpr double kVanished = -700;

/// The slope of log(excess) in log(lambda); not 0, so that a Newton step exists.
double log_slope(const TiltedTotals& at, double epsilon) {
  const double slope = -at.lambda * at.variance / (epsilon * at.excess);
  return std::isfinite(slope) && slope < 0 ? slope : -1;
}

double log_excess(const TiltedTotals& at) { return at.excess > 0 ? std::log(at.excess) : kVanished; }

/// Chooses lambdas within a bracket that closes.
class NextLambda {
 public:
  explicit NextLambda(double guess) : guess_(guess) {}

  /// The last lambda looked at has this plan.
  void learn(const TiltedTotals& at, double budget, double epsilon) {
    const double distance = log_excess(at) - std::log(budget);
    is_fast_ = std::abs(distance) <= kFast * distance_;
    distance_ = std::abs(distance);
    guess_ = at.lambda * std::exp(-distance / log_slope(at, epsilon));
  }

  /// None if nothing lies between low and high. over, under: the plans there, if known.
  [[nodiscard]] std::optional<double> within(double low, double high, const TiltedTotals* over,
                                             const TiltedTotals* under) {
    const auto is_inside = [&](double lambda) { return low < lambda && lambda < high; };
    if (is_fast_ && is_inside(guess_)) return guess_;
    if (over != nullptr && under != nullptr && !was_chord_) {
      // Where the tangents of the dual meet: where it has its least value if the excess is constant on both sides.
      const double chord = (over->soft + over->lambda * over->excess - under->soft - under->lambda * under->excess) /
                           (over->excess - under->excess);
      was_chord_ = is_inside(chord);
      if (was_chord_) return chord;
    }
    was_chord_ = false;
    const double middle = std::sqrt(low) * std::sqrt(high);
    return is_inside(middle) ? std::optional(middle) : std::nullopt;
  }

 private:
  double guess_;
  double distance_ = std::numeric_limits<double>::infinity();
  bool is_fast_ = true;
  bool was_chord_ = false;
};

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
  visited_.push_back(pass_.totals({lambda}, losses));
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
    const auto [least, largest] = std::minmax(left.lambda, right->lambda);  // on a plateau in either order
    log_lambda = std::clamp(cubic(x), std::log(least), std::log(largest));
  }
  const double lambda = std::exp(log_lambda);
  return std::isfinite(lambda) && lambda > 0 ? std::optional(lambda) : std::nullopt;
}

/// Where to start if nothing is known but the plan at lambda = 0: exact if the gain grows with the root of the budget,
/// as that of a linear loss with squared distances does.
double MultiplierSearch::first_guess(const TiltedTotals& free, const Losses& losses, double budget) const {
  const double gain = free.soft - free.hard + pass_.days().most_gain * losses.stretch;
  return gain / (2 * std::sqrt(free.excess) * std::sqrt(budget));
}

TiltedTotals MultiplierSearch::free_plan(const Losses& losses) {
  const auto known = std::ranges::find(visited_, 0.0, &TiltedTotals::lambda);
  if (known != visited_.end()) return *known;
  return visit(0, losses);
}

MultiplierSearch::Sides MultiplierSearch::sides(double budget) const {
  Sides known;
  for (const TiltedTotals& at : visited_) {
    if (at.excess > budget) {
      if (known.over == nullptr || at.lambda > known.over->lambda) known.over = &at;
    } else if (known.under == nullptr || at.lambda < known.under->lambda) {
      known.under = &at;
    }
  }
  return known;
}

// The row sums of a mixture are right, and with this share so is its excess. What is maximised is concave; its dual,
// lambda * budget + soft, is convex with slope budget - excess. So their difference at either end is less than the gap.
Multiplier MultiplierSearch::best(double budget) const {
  const auto [over, under] = sides(budget);
  if (over == nullptr || under == nullptr) {
    const TiltedTotals& only = over == nullptr ? *under : *over;
    return {{only.lambda}, only, only.lambda > 0, false, 0};
  }
  const double share = (budget - under->excess) / (over->excess - under->excess);  // of the one that spends more
  const bool is_mostly_over = share > 0.5 && over->lambda > 0;
  Multiplier mixed;
  mixed.totals = is_mostly_over ? *over : *under;
  mixed.tilt = {mixed.totals.lambda, is_mostly_over ? under->lambda : over->lambda, is_mostly_over ? 1 - share : share};
  mixed.gap = std::max(0.0, (under->lambda - over->lambda) * std::abs(budget - mixed.totals.excess));
  mixed.totals.excess = budget;
  mixed.totals.loss = (1 - share) * under->loss + share * over->loss;
  return mixed;
}

Multiplier MultiplierSearch::find(const Losses& losses, const MultiplierGoal& goal, std::optional<double> guess) {
  const double budget = goal.budget;
  pass_.look_for(budget);
  if (budget <= 0) return {{kNearest}, pass_.totals({kNearest}, losses), true, true, 0};
  const bool is_free_known = std::ranges::find(visited_, 0.0, &TiltedTotals::lambda) != visited_.end();
  if (!guess || is_free_known) {
    const TiltedTotals free = free_plan(losses);
    if (free.excess <= budget) return {{0}, free, false, true, 0};
    if (!guess) guess = first_guess(free, losses, budget);
  }
  // The worst case is concave in the budget with slope lambda, so lambda * budget is less than all there is to gain.
  const double room = pass_.epsilon() * std::log(static_cast<double>(pass_.days().scenarios()) + 1);
  const double highest = std::min(kNearest, 2 * (pass_.days().most_gain * losses.stretch + room) / budget);
  const double lowest = std::max(highest * kWidestBracket, std::numeric_limits<double>::min());
  NextLambda next(*guess);
  for (std::int64_t passes = 0;;) {
    const auto [over, under] = sides(budget);
    const bool is_bracketed = over != nullptr && under != nullptr;
    if (is_bracketed || passes >= goal.most_passes) {
      Multiplier mixed = best(budget);
      mixed.is_found = is_bracketed && mixed.gap <= goal.gap * mixed.totals.lambda * budget;
      if (mixed.is_found || passes >= goal.most_passes) return mixed;
    }
    const double low = over == nullptr ? lowest : std::max(lowest, over->lambda);
    const double high = under == nullptr ? std::max(highest, 2 * low) : under->lambda;
    const bool is_far = over == nullptr && under != nullptr && under->lambda < kFarBelow * *guess;
    const std::optional<double> lambda = is_far ? std::nullopt : next.within(low, high, over, under);
    if (!lambda && over == nullptr) {
      const TiltedTotals free = free_plan(losses);
      if (free.excess <= budget) return {{0}, free, false, true, 0};
      continue;
    }
    if (!lambda) {  // nothing lies between both sides
      Multiplier closest = best(budget);
      closest.is_found = is_bracketed;
      return closest;
    }
    const TiltedTotals at = visit(*lambda, losses);
    ++passes;
    if (std::abs(at.excess - budget) <= goal.tolerance * budget) return {{at.lambda}, at, true, true, 0};
    next.learn(at, budget, pass_.epsilon());
  }
}

}  // namespace fedsinkhorn
