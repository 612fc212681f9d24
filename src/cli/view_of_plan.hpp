// A plan made small enough to look at.
#pragma once

#include <optional>

#include "cli/plan_flow.hpp"
#include "fedsinkhorn/solve.hpp"
#include "report/plan_view.hpp"

namespace fedsinkhorn {

/// result: with all of f. Of several targets, the first is shown. Every entry of the plan is computed, unless there are
/// very many: then every k-th row, as the view's note says. images: whose pixels the points are, if they are; all rows
/// are computed then, which takes about as long as an iteration.
[[nodiscard]] report::PlanView view_of_plan(const Problem& problem, const Result& result, int threads,
                                            const std::optional<ImageShapes>& images = {});

}  // namespace fedsinkhorn
