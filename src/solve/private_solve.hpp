// A solve with policy private, as one client makes it.
#pragma once

#include "comm/counting.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

/// The steps of a solve with a mechanism's loop. Nothing is gathered at the end: the result has this client's rows of
/// f, and the columns of g that it knows from releases. Errors and costs are NaN, but for those that were released.
[[nodiscard]] Result solve_privately(const Problem& problem, const Options& options, const TopologyEntry& topology,
                                     const Collectives& clients, CountingCommunicator& traffic, int threads);

}  // namespace fedsinkhorn
