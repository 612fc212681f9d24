#include "kernel/cost_source.hpp"

#include "kernel/matrix_cost.hpp"
#include "kernel/points_cost.hpp"

namespace fedsinkhorn {

std::unique_ptr<CostSource> make_cost_source(const CheckedProblem& problem, const cpu::Simd& simd) {
  if (const auto* points = std::get_if<PointClouds>(&problem.input->cost)) {
    return make_points_cost(*points, problem, simd);
  }
  return make_matrix_cost(std::get<CostMatrix>(problem.input->cost), problem);
}

}  // namespace fedsinkhorn
