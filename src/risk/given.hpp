// What a client is given: checks that need no other client, and that what clients share is the same at all of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "comm/collectives.hpp"
#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn {

/// Whether costs are computed from returns and scenarios (else they are given).
[[nodiscard]] inline bool has_points(const RiskProblem& problem) { return columns_of(problem.costs) == 0; }
/// Days given here.
[[nodiscard]] inline std::size_t rows_given(const RiskProblem& problem) {
  return rows_of(has_points(problem) ? problem.returns : problem.costs);
}
[[nodiscard]] inline std::size_t scenarios_given(const RiskProblem& problem) {
  return has_points(problem) ? rows_of(problem.scenarios) : columns_of(problem.costs);
}

/// The cost between whitened points (see whitening.hpp), or as named.
[[nodiscard]] Metric metric_of(RiskCost cost);

/// Throw InputError naming the culprit.
void check_radius(double radius);
void check_given(const RiskProblem& problem);
/// Throws InputError on all clients if one has other scenarios, weights, losses, radii or settings than client 0. Only
/// digests are sent.
void require_common(const RiskProblem& problem, std::span<const double> radii, const Collectives& clients);

/// The same for numbers given apart from the problem.
void require_common(const std::string& name, std::span<const double> values, const Collectives& clients);

}  // namespace fedsinkhorn
