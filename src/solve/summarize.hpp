// Combines the outcomes of all targets into one result.
#pragma once

#include <span>

#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"
#include "solve/evaluate.hpp"

namespace fedsinkhorn {

/// All but the potentials. One evaluation per outcome.
[[nodiscard]] Result summarize(const CheckedProblem& problem, const Options& options, std::span<const Outcome> outcomes,
                               std::span<const Evaluation> evaluations);

/// Where costs come from: dimension and metric. Other clients may know what this one has not got.
void describe_points(const CheckedProblem& problem, Result& result);

/// NaN, if a client was lost before costs were evaluated.
[[nodiscard]] std::vector<Evaluation> unknown_evaluations(std::size_t count);

}  // namespace fedsinkhorn
