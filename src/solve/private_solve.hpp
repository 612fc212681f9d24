// A solve with policy private, as one client makes it.
#pragma once

#include <optional>
#include <span>

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

/// Of experiments with seeded noise, whose clients share a process: puts the error of the rows into the trace of the
/// result. results: of all clients.
void add_up_errors(std::span<const std::optional<Result>> results, Result& result);

}  // namespace fedsinkhorn
