// A plan made small enough to look at.
#pragma once

#include "fedsinkhorn/solve.hpp"
#include "report/plan_view.hpp"

namespace fedsinkhorn {

/// result: with all of f. Of several targets, the first is shown. Every entry of the plan is computed, unless there are
/// very many: then every k-th row, as the view's note says.
[[nodiscard]] report::PlanView view_of_plan(const Problem& problem, const Result& result, int threads);

}  // namespace fedsinkhorn
