// Costs computed from points.
#pragma once

#include <memory>

#include "cost/cost_source.hpp"

namespace fedsinkhorn {

[[nodiscard]] std::unique_ptr<CostSource> make_points_cost(const CostBlock& block, const cpu::Simd& simd);

}  // namespace fedsinkhorn
