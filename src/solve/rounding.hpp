// The effect of rounding on marginal errors.
#pragma once

#include <span>

#include "comm/collectives.hpp"
#include "fedsinkhorn/options.hpp"
#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"
#include "solve/evaluate.hpp"

namespace fedsinkhorn {

/// Unit roundoff of the arithmetic times what it acts on: about the smallest L1 error of the plan defined by f and g
/// with their rests. In the units of the given masses. Collective.
[[nodiscard]] double error_floor(const Collectives& clients, const CheckedProblem& problem, const Options& options,
                                 std::span<const Outcome> outcomes);

/// What has converged on the kernel as stored must have converged on the costs as given, to the tolerance and a few
/// times that floor; else its status becomes `diverged`. One evaluation per outcome.
void require_exact_errors(const CheckedProblem& problem, const Options& options, double floor,
                          std::span<const Evaluation> evaluations, std::span<Outcome> outcomes);

/// max |rest| / epsilon of f and of g, over all targets and this client's rows and columns.
struct RestSizes {
  double f = 0;
  double g = 0;
};
[[nodiscard]] RestSizes rest_sizes(const CheckedProblem& problem, std::span<const Outcome> outcomes);
/// The same over all clients. Collective.
[[nodiscard]] RestSizes rest_sizes_of_all(const Collectives& clients, const RestSizes& own);

/// A bound on the L1 error added by leaving out the rests: every entry of the plan changes by a factor of at most
/// exp(f + g). In the units of the given masses.
[[nodiscard]] double rounding_error(const CheckedProblem& problem, const RestSizes& sizes);

}  // namespace fedsinkhorn
