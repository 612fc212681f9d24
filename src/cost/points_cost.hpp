// Costs computed from points.
#pragma once

#include <memory>

#include "cost/block_points.hpp"
#include "cost/cost_source.hpp"

namespace fedsinkhorn {

[[nodiscard]] std::unique_ptr<CostSource> make_points_cost(BlockPoints points, const cpu::Simd& simd);

}  // namespace fedsinkhorn
