// The kernel of a plan on the host.
#pragma once

#include <memory>
#include <span>

#include "cost/cost_source.hpp"
#include "kernel/plan_kernel.hpp"

namespace fedsinkhorn {

/// The source must outlive it.
[[nodiscard]] std::unique_ptr<PlanKernel> make_cpu_plan_kernel(const CostSource& cost, const cpu::Simd& simd,
                                                               int threads, double epsilon, std::span<const double> phi,
                                                               std::span<const double> psi);

}  // namespace fedsinkhorn
