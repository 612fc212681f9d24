#include "kernel/cost_source.hpp"

#include "kernel/matrix_cost.hpp"
#include "kernel/points_cost.hpp"

namespace fedsinkhorn {

std::unique_ptr<CostSource> make_cost_source(const CostBlock& block, const cpu::Simd& simd) {
  if (std::holds_alternative<PointClouds>(block.input->cost)) return make_points_cost(block, simd);
  return make_matrix_cost(block);
}

}  // namespace fedsinkhorn
