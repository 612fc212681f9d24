// The constant that can be moved from f to g without changing the plan.
#pragma once

#include <vector>

#include "comm/collectives.hpp"
#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Chooses it for every target such that <f, a> = <g, b>. Plain Sinkhorn leaves it where its start and its way have put
/// it; where the way is nobody's business, it had better not depend on that. Collective; the bits do not depend on the
/// number of clients.
void fix_gauge(const Collectives& clients, const CheckedProblem& problem, std::vector<Outcome>& outcomes);

}  // namespace fedsinkhorn
