// The constant that can be moved from f to g without changing the plan.
#pragma once

#include <vector>

#include "comm/collectives.hpp"
#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Chooses it for every target such that <f, a> = <g, b>. In plain Sinkhorn it depends on the start and the path taken;
/// the result must not. Collective. The bits do not depend on the number of clients.
void fix_gauge(const Collectives& clients, const CheckedProblem& problem, std::vector<Outcome>& outcomes);

}  // namespace fedsinkhorn
