// Sinkhorn's iteration entirely in the log domain: the slow, obvious reference.
#pragma once

#include <vector>

#include "core/stop_request.hpp"
#include "iteration/outcome.hpp"
#include "iteration/stopping.hpp"
#include "problem/checked_problem.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

/// f = epsilon (log a - log sum_j exp((g - C) / epsilon)), then g likewise, target by target. Throws Interrupted if no
/// iteration was finished. After an interruption, ignores the stop if the plans can be evaluated in about a second.
[[nodiscard]] std::vector<Outcome> log_sinkhorn(const CheckedProblem& problem, Topology& topology, Monitor& monitor,
                                                StopRequest& stop);

}  // namespace fedsinkhorn
