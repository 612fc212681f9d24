// Worst-case risk done slowly and plainly: long double, all costs in memory, bisection. What the engine answers to.
#pragma once

#include <cstddef>
#include <vector>

#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn::testing {

/// Owns what a RiskProblem refers to.
struct RiskInstance {
  std::size_t n = 0;
  std::size_t m = 0;
  std::size_t d = 0;  ///< 0: costs are given
  std::vector<double> returns;
  std::vector<double> scenarios;
  std::vector<double> covariance;
  std::vector<double> costs;
  std::vector<double> weights;
  std::vector<double> scenario_losses;
  std::vector<double> return_losses;
  std::vector<double> a;
  RiskProblem settings;  ///< cost, are_gains, radius, epsilon, cvar_level, may_stay

  /// The whole, or the days [first, last) as a part.
  [[nodiscard]] RiskProblem view() const;
  [[nodiscard]] RiskProblem part(std::size_t first, std::size_t last) const;
};

/// One thread, a tolerance of 1e-12.
[[nodiscard]] RiskOptions precise();
/// Points on about the unit scale, masses uniform, loss w.x.
[[nodiscard]] RiskInstance random_points(std::size_t n, std::size_t m, std::size_t d, unsigned seed);
/// Costs and losses in [0, 1); a share of the moves is forbidden, but none of the first scenario.
[[nodiscard]] RiskInstance random_costs(std::size_t n, std::size_t m, double forbidden, unsigned seed);
/// Random masses, about a fifth of them 0, unless there is only one.
void draw_masses(RiskInstance& instance, unsigned seed);

using Wide = long double;

struct WideProblem {
  std::size_t n = 0;
  std::size_t m = 0;         ///< with may_stay, one more than there are scenarios
  std::vector<Wide> a;       ///< total 1
  std::vector<Wide> costs;   ///< n x m
  std::vector<Wide> losses;  ///< n x m, as a day that stays has its own
  Wide epsilon = 0;
  Wide radius = 0;
  Wide level = 0;
};

/// Costs by their definitions.
[[nodiscard]] WideProblem widened(const RiskInstance& instance);

struct WidePlan {
  Wide lambda = 0;
  Wide transport_cost = 0;
  Wide loss = 0;
  Wide dual = 0;
  Wide entropic = 0;  ///< what is maximised
  Wide threshold = 0;
  bool is_binding = false;
  std::vector<Wide> plan;     ///< n x m
  std::vector<Wide> columns;  ///< m
};

[[nodiscard]] WidePlan plan_at(const WideProblem& problem, Wide lambda);
/// Also of CVaR, if there is a level.
[[nodiscard]] WidePlan reference_worst_case(const WideProblem& problem);
[[nodiscard]] Wide least_radius(const WideProblem& problem);

}  // namespace fedsinkhorn::testing
