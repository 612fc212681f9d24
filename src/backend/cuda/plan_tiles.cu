#include "backend/cuda/plan_tiles.hpp"

#include "backend/cuda/with_costs.cuh"

namespace fedsinkhorn::cuda {
namespace {

template <class Costs, class S>
__global__ void __launch_bounds__(kTileThreads)
    write_tiles(Costs costs, CostShape shape, PlanPotentials potentials, Range lines, PlanWriting writing, S* to) {
  const double inverse_epsilon = 1 / potentials.epsilon;
  for_entries(costs, shape, lines, [&](std::size_t i, std::size_t j, double cost) {
    const double kernel = exp((potentials.phi[i] + potentials.psi[j] - cost) * inverse_epsilon);
    const double value = scalbn(writing.u[i] * kernel * writing.v[j], writing.exponent);
    to[writing.row_places[i - lines.first] * writing.stride + writing.column_places[j]] = static_cast<S>(value);
  });
}

template <class Costs>
__global__ void __launch_bounds__(kTileThreads)
    divide_tiles(Costs costs, CostShape shape, Range lines, double* kernel, std::size_t stride) {
  for_entries(costs, shape, lines, [&](std::size_t i, std::size_t j, double cost) {
    double& entry = kernel[(i - lines.first) * stride + j];
    entry = cost == 0 ? 0 : entry / cost;
  });
}

}  // namespace

void write_plan(const DeviceCosts& costs, const PlanPotentials& potentials, Range lines, const PlanWriting& writing,
                cudaStream_t stream) {
  const CostShape shape{costs.rows(), costs.columns()};
  if (lines.empty() || shape.columns == 0) return;
  with_costs(costs, [&](const auto& source) {
    std::visit(
        [&](auto* to) {
          write_tiles<<<grid_of_entries(shape, lines), kTileThreads, 0, stream>>>(source, shape, potentials, lines,
                                                                                  writing, to);
        },
        writing.to);
  });
  check(cudaGetLastError(), "writing a plan");
}

void divide_by_costs(const DeviceCosts& costs, Range lines, double* kernel, std::size_t stride, cudaStream_t stream) {
  const CostShape shape{costs.rows(), costs.columns()};
  if (lines.empty() || shape.columns == 0) return;
  with_costs(costs, [&](const auto& source) {
    divide_tiles<<<grid_of_entries(shape, lines), kTileThreads, 0, stream>>>(source, shape, lines, kernel, stride);
  });
  check(cudaGetLastError(), "dividing by costs");
}

}  // namespace fedsinkhorn::cuda
