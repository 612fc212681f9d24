// Costs computed from points: |x - y|^2, |x - y| or 1 - cos(x, y).
#pragma once

#include <memory>

#include "kernel/cost_source.hpp"

namespace fedsinkhorn {

/// Keeps packed float64 copies of the active points: (n + m) * d numbers.
[[nodiscard]] std::unique_ptr<CostSource> make_points_cost(const PointClouds& clouds, const CheckedProblem& problem,
                                                           const cpu::Simd& simd);

}  // namespace fedsinkhorn
