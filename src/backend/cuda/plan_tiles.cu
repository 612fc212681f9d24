#include "backend/cuda/plan_tiles.hpp"

#include <algorithm>

#include "backend/cuda/with_costs.cuh"

namespace fedsinkhorn::cuda {
namespace {

/// Calls use(i, j, C_ij) for the entries of these lines, each from one thread. One column of tiles for each blockIdx.x.
template <class Costs, class Use>
__device__ void for_entries(const Costs& costs, CostShape shape, Range lines, const Use& use) {
  __shared__ typename Costs::Shared shared;
  const std::size_t j0 = std::size_t{blockIdx.x} * kTile;
  for (std::size_t i0 = lines.first + std::size_t{blockIdx.y} * kTile; i0 < lines.last;
       i0 += std::size_t{gridDim.y} * kTile) {
    double cost[kEach][kEach];
    costs.load(shape, i0, j0, shared, cost);
    for (int a = 0; a < kEach; ++a) {
      const std::size_t i = tile_row(i0, a);
      for (int b = 0; b < kEach; ++b) {
        const std::size_t j = tile_column(j0, b);
        if (i < lines.last && j < shape.columns) use(i, j, cost[a][b]);
      }
    }
  }
}

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

dim3 grid_for(CostShape shape, Range lines) {
  constexpr std::size_t most = 65535;  // maximum blocks of a grid in its second dimension
  const auto tiles_of = [](std::size_t count) { return (count + kTile - 1) / kTile; };
  return {static_cast<unsigned>(tiles_of(shape.columns)),
          static_cast<unsigned>(std::min(tiles_of(lines.size()), most))};
}

}  // namespace

void write_plan(const DeviceCosts& costs, const PlanPotentials& potentials, Range lines, const PlanWriting& writing,
                cudaStream_t stream) {
  const CostShape shape{costs.rows(), costs.columns()};
  if (lines.empty() || shape.columns == 0) return;
  with_costs(costs, [&](const auto& source) {
    std::visit(
        [&](auto* to) {
          write_tiles<<<grid_for(shape, lines), kTileThreads, 0, stream>>>(source, shape, potentials, lines, writing,
                                                                           to);
        },
        writing.to);
  });
  check(cudaGetLastError(), "writing a plan");
}

void divide_by_costs(const DeviceCosts& costs, Range lines, double* kernel, std::size_t stride, cudaStream_t stream) {
  const CostShape shape{costs.rows(), costs.columns()};
  if (lines.empty() || shape.columns == 0) return;
  with_costs(costs, [&](const auto& source) {
    divide_tiles<<<grid_for(shape, lines), kTileThreads, 0, stream>>>(source, shape, lines, kernel, stride);
  });
  check(cudaGetLastError(), "dividing by costs");
}

}  // namespace fedsinkhorn::cuda
