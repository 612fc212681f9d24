// Sinkhorn's iteration in the log domain throughout: the slow, obvious reference.
#pragma once

#include <vector>

#include "problem/checked_problem.hpp"
#include "solve/outcome.hpp"
#include "solve/stopping.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

/// f = epsilon (log a - log sum_j exp((g - C) / epsilon)), then g likewise, target by target.
[[nodiscard]] std::vector<Outcome> log_sinkhorn(const CheckedProblem& problem, Topology& topology, Monitor& monitor);

}  // namespace fedsinkhorn
