// Costs and marginals of finished plans, computed in float64 from the given costs.
#pragma once

#include <span>
#include <vector>

#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

struct Evaluation {
  Costs cost;            ///< in the units of the given masses
  MarginalErrors error;  ///< in those of CheckedProblem, as in Outcome
};

/// One per outcome, in order. Targets whose potentials are close share a pass over the costs.
[[nodiscard]] std::vector<Evaluation> evaluate(const CheckedProblem& problem, Topology& topology, Norm norm,
                                               std::span<const Outcome> outcomes);

}  // namespace fedsinkhorn
