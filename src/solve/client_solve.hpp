// One client's way through a solve, whatever transport connects it to the others.
#pragma once

#include "comm/communicator.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// Every client calls it. Throws alike on all of them (see fedsinkhorn/solve.hpp).
[[nodiscard]] Result solve_as_client(const Problem& problem, const Options& options, Communicator& communicator);

}  // namespace fedsinkhorn
