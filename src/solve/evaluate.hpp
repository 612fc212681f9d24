// Costs and marginals of finished plans, from the costs as given and in float64.
#pragma once

#include <span>
#include <vector>

#include "problem/checked_problem.hpp"
#include "solve/outcome.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

/// In the units of the masses given.
struct Evaluation {
  Costs cost;
  MarginalErrors error;
};

/// One for each outcome, in order. Targets whose potentials are close share a pass over the costs.
[[nodiscard]] std::vector<Evaluation> evaluate(const CheckedProblem& problem, Topology& topology, Norm norm,
                                               std::span<const Outcome> outcomes);

}  // namespace fedsinkhorn
