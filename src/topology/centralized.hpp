// One client that holds everything.
#pragma once

#include <memory>

#include "core/checked_problem.hpp"
#include "kernel/kernel.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

/// No messages, no bytes. The problem, the source and the table must outlive the object.
[[nodiscard]] std::unique_ptr<Topology> make_centralized(const CheckedProblem& problem, const Options& options,
                                                         int threads, const CostSource& cost, const cpu::Simd& simd);

}  // namespace fedsinkhorn
