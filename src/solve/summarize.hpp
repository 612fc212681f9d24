// From what happened to each target to what is said about all of them.
#pragma once

#include <span>

#include "problem/checked_problem.hpp"
#include "solve/evaluate.hpp"
#include "solve/outcome.hpp"

namespace fedsinkhorn {

/// All but the potentials. One evaluation for each outcome.
[[nodiscard]] Result summarize(const CheckedProblem& problem, const Options& options, std::span<const Outcome> outcomes,
                               std::span<const Evaluation> evaluations);

/// What this client can say by itself when others are lost: potentials as it last heard them, no costs. None if it does
/// not know all slices of all targets.
[[nodiscard]] std::optional<Result> summarize_alone(const CheckedProblem& problem, const Options& options,
                                                    std::span<const Outcome> outcomes);

}  // namespace fedsinkhorn
