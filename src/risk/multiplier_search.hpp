// The multiplier lambda at which the plan spends the whole radius: sum_ij P_ij e_ij = radius - least radius.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "risk/tilted_pass.hpp"

namespace fedsinkhorn {

struct MultiplierGoal {
  double budget = 0;     ///< radius - least radius; at 0, every day goes to its nearest scenario
  double tolerance = 0;  ///< of the excess, relative to the budget
  std::int64_t most_passes = 200;
};

struct Multiplier {
  TiltedTotals totals;  ///< at lambda
  bool is_binding = true;
  bool is_found = false;  ///< to the tolerance, or to rounding
};

/// Newton's method on log(excess / budget) in log(lambda), within a bracket (Boost.Math): where the excess is a power
/// of lambda, as for squared distances, one step is enough. Every pass is also kept: excess, loss and slope at some
/// lambda, a point of the curve of worst cases.
class MultiplierSearch {
 public:
  explicit MultiplierSearch(TiltedPass& pass) : pass_(pass) {}

  /// guess: a lambda to start from; none: from scratch. Collective.
  [[nodiscard]] Multiplier find(const Losses& losses, const MultiplierGoal& goal, std::optional<double> guess);

  /// The plan at lambda = 0, which costs do not hold back. Visited once.
  [[nodiscard]] TiltedTotals free_plan(const Losses& losses);

  /// Of those visited, the plan that spends most of the budget without exceeding it; the last one if all do.
  [[nodiscard]] const TiltedTotals& nearest(double budget) const;
  /// The passes for the losses of the last call, any order.
  [[nodiscard]] const std::vector<TiltedTotals>& visited() const { return visited_; }
  /// Other losses make what was visited worthless.
  void forget() { visited_.clear(); }

  /// The lambda at which that much would be spent, by the passes visited around it; none if there are none.
  [[nodiscard]] std::optional<double> predicted(double budget) const;

 private:
  TiltedTotals visit(double lambda, const Losses& losses);
  [[nodiscard]] double first_guess(const TiltedTotals& free, double budget) const;

  TiltedPass& pass_;
  std::vector<TiltedTotals> visited_;
};

}  // namespace fedsinkhorn
