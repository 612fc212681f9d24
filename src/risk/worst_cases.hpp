// The worst case at one radius after another.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "risk/multiplier_search.hpp"
#include "risk/tail_search.hpp"
#include "risk/tilted_pass.hpp"

namespace fedsinkhorn {

class WorstCases {
 public:
  /// pass must outlive it. cvar_level: 0 for the expected loss; else threshold is where to start from, if known.
  /// most_sums: numbers that sums may show in all, including those of the end; 0: no limit.
  WorstCases(TiltedPass& pass, double cvar_level, std::optional<double> threshold, std::int64_t most_passes,
             std::uint64_t most_sums);

  /// Throws InputError if no plan over the scenarios is within the radius. All verbs are collective.
  [[nodiscard]] WorstCase at(double radius, double tolerance);
  /// The plan of the last worst case, and which day goes where.
  [[nodiscard]] TiltedPlan plan();
  /// Like at(), for one radius among many: to a looser tolerance.
  [[nodiscard]] WorstCase near(double radius);

  /// Whether all sums that may be shown have been shown. No radius can be solved for then; a plan can be formed.
  [[nodiscard]] bool are_sums_spent() const { return are_sums_spent_; }

  /// The plan that costs do not hold back: its cost is the largest radius that matters. Not for CVaR.
  [[nodiscard]] TiltedTotals free_plan();
  /// Each pass so far as a worst case, ascending by radius. Empty for CVaR.
  [[nodiscard]] std::vector<WorstCase> visited() const;

 private:
  [[nodiscard]] double budget_of(double radius) const;
  [[nodiscard]] WorstCase solve(double radius, double tolerance, double gap);
  /// Calls the body, which may not show the sums that the end needs: false if it was about to, and was left.
  template <class Body>
  [[nodiscard]] bool leaves_sums_for_the_end(const Body& body);
  [[nodiscard]] Multiplier find(const MultiplierGoal& goal);
  [[nodiscard]] Multiplier search(const MultiplierGoal& goal);
  [[nodiscard]] Multiplier best_so_far(const MultiplierGoal& goal);
  [[nodiscard]] WorstCase worst_case(double radius, double budget, const Multiplier& found) const;
  [[nodiscard]] double least_multiplier() const;

  TiltedPass& pass_;
  double level_;
  std::int64_t most_passes_;
  std::uint64_t most_sums_;
  bool are_sums_spent_ = false;
  MultiplierSearch multipliers_;
  std::optional<TailSearch> tails_;
  Losses losses_;  // of the last worst case
  std::optional<double> threshold_;
  Tilt tilt_;
};

}  // namespace fedsinkhorn
