// From what happened to each target to what is said about all of them.
#pragma once

#include <span>

#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"
#include "solve/evaluate.hpp"

namespace fedsinkhorn {

/// All but the potentials. One evaluation for each outcome.
[[nodiscard]] Result summarize(const CheckedProblem& problem, const Options& options, std::span<const Outcome> outcomes,
                               std::span<const Evaluation> evaluations);

/// Where a client was lost before costs were evaluated: NaN.
[[nodiscard]] std::vector<Evaluation> unknown_evaluations(std::size_t count);

}  // namespace fedsinkhorn
