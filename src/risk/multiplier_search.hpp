// The multiplier lambda at which the plan spends the whole radius: sum_ij P_ij e_ij = radius - least radius.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "risk/tilted_pass.hpp"

namespace fedsinkhorn {

struct MultiplierGoal {
  double budget = 0;     ///< radius - least radius; at 0, every day goes to its nearest scenario
  double tolerance = 0;  ///< of the excess of a plan at one lambda, relative to the budget
  double gap = 0;        ///< of a mixture (see Multiplier), relative to lambda * budget
  std::int64_t most_passes = 200;
};

struct Multiplier {
  Tilt tilt;            ///< a mixture spends the whole budget
  TiltedTotals totals;  ///< of that plan
  bool is_binding = true;
  bool is_found = false;  ///< to the tolerance
  double gap = 0;         ///< what is maximised, with entropy, is less than its dual at lambda by so much at most
};

/// Newton's method on log(excess / budget) in log(lambda), within a bracket: where the excess is a power of lambda, as
/// for squared distances, one step is enough. For small epsilon the excess jumps: each day leaves one scenario for
/// another at some lambda, and no float64 may give an excess near the budget. The plans on both sides of the jump are
/// then mixed. Every pass is also kept: excess, loss and slope at some lambda, a point of the curve of worst cases.
class MultiplierSearch {
 public:
  explicit MultiplierSearch(TiltedPass& pass) : pass_(pass) {}

  /// guess: a lambda to start from; none: from scratch. Collective.
  [[nodiscard]] Multiplier find(const Losses& losses, const MultiplierGoal& goal, std::optional<double> guess);

  /// The plan at lambda = 0, which costs do not hold back. Visited once.
  [[nodiscard]] TiltedTotals free_plan(const Losses& losses);

  /// The best plan by what was visited: a mixture of two that spends the budget, or the one that is nearest to it.
  [[nodiscard]] Multiplier best(double budget) const;
  /// The passes for the losses of the last call, any order.
  [[nodiscard]] const std::vector<TiltedTotals>& visited() const { return visited_; }
  /// Other losses make what was visited worthless.
  void forget() { visited_.clear(); }

  /// The lambda at which that much would be spent, by the passes visited around it; none if there are none.
  [[nodiscard]] std::optional<double> predicted(double budget) const;

 private:
  /// The visited plans next to the budget, by lambda; null if there is none on that side.
  struct Sides {
    const TiltedTotals* over = nullptr;   // spends more
    const TiltedTotals* under = nullptr;  // does not
  };
  [[nodiscard]] Sides sides(double budget) const;
  TiltedTotals visit(double lambda, const Losses& losses);
  [[nodiscard]] double first_guess(const TiltedTotals& free, const Losses& losses, double budget) const;

  TiltedPass& pass_;
  std::vector<TiltedTotals> visited_;
};

}  // namespace fedsinkhorn
