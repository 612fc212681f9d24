// One client's part in a solve, over any transport.
#pragma once

#include "comm/communicator.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Called by every client. Throws the same on all of them (see fedsinkhorn/solve.hpp).
[[nodiscard]] Result solve_as_client(const Problem& problem, const Options& options, Communicator& communicator,
                                     GivenBy given_by = GivenBy::one_caller);

}  // namespace fedsinkhorn
