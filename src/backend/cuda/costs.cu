#include "backend/cuda/costs.hpp"

#include <cuda_bf16.h>

#include <algorithm>

#include "backend/cuda/with_costs.cuh"

namespace fedsinkhorn::cuda {
namespace {

/// Entries of a line summed by one block; the sums of the chunks are added up in order.
constexpr std::size_t kChunk = 4096;

std::size_t chunks_of(std::size_t summands) { return (summands + kChunk - 1) / kChunk; }
unsigned tiles_of(std::size_t lines) { return static_cast<unsigned>((lines + kTile - 1) / kTile); }

// ---------------------------------------------------------------------------------------------------------------------

template <class Costs, class S>
__global__ void __launch_bounds__(kTileThreads)
    fill_kernel_tiles(Costs costs, CostShape shape, Range rows, const double* phi, const double* psi,
                      double inverse_epsilon, S* to, std::size_t stride) {
  for_entries(costs, shape, rows, [&](std::size_t i, std::size_t j, double cost) {
    to[(i - rows.first) * stride + j] = static_cast<S>(exp((phi[i] + psi[j] - cost) * inverse_epsilon));
  });
}

// ---------------------------------------------------------------------------------------------------------------------

/// The largest term, and the sum of all terms relative to it.
struct LogSum {
  double largest;
  double sum;
};

__device__ LogSum no_terms() { return {-tile_infinity(), 0}; }

__device__ LogSum joined(LogSum x, LogSum y) {
  const double largest = fmax(x.largest, y.largest);
  if (!(largest > -tile_infinity())) return no_terms();
  return {largest, x.sum * exp(x.largest - largest) + y.sum * exp(y.largest - largest)};
}

/// Lines are rows (summed along their columns) or columns. t = (other_potential - C) / epsilon + log_weight.
/// parts: chunks x lines.
template <bool kRows, class Costs>
__global__ void __launch_bounds__(kTileThreads)
    log_sum_parts(Costs costs, CostShape shape, const double* potentials, const double* log_weights,
                  double inverse_epsilon, LogSum* parts) {
  __shared__ typename Costs::Shared shared;
  __shared__ LogSum of_threads[kTile][kTileSide];
  const std::size_t line0 = std::size_t{blockIdx.x} * kTile;
  const std::size_t lines = kRows ? shape.rows : shape.columns;
  const std::size_t summands = kRows ? shape.columns : shape.rows;
  const std::size_t first = std::size_t{blockIdx.y} * kChunk;
  const std::size_t last = min(summands, first + kChunk);

  LogSum sums[kEach];
  for (LogSum& sum : sums) sum = no_terms();
  for (std::size_t s0 = first; s0 < last; s0 += kTile) {
    double cost[kEach][kEach];
    costs.load(shape, kRows ? line0 : s0, kRows ? s0 : line0, shared, cost);
    double potential[kEach];
    double log_weight[kEach];
    for (int b = 0; b < kEach; ++b) {
      const std::size_t s = kRows ? tile_column(s0, b) : tile_row(s0, b);
      potential[b] = s < summands ? potentials[s] : -tile_infinity();
      log_weight[b] = s < summands && log_weights != nullptr ? log_weights[s] : 0.0;
    }
    for (int a = 0; a < kEach; ++a) {
      double terms[kEach];
      double largest = sums[a].largest;
      for (int b = 0; b < kEach; ++b) {
        terms[b] = (potential[b] - (kRows ? cost[a][b] : cost[b][a])) * inverse_epsilon + log_weight[b];
        largest = fmax(largest, terms[b]);
      }
      if (!(largest > -tile_infinity())) continue;
      double sum = sums[a].sum * exp(sums[a].largest - largest);
      for (int b = 0; b < kEach; ++b) sum += exp(terms[b] - largest);
      sums[a] = {largest, sum};
    }
  }
  const int tx = static_cast<int>(threadIdx.x) % kTileSide;
  const int ty = static_cast<int>(threadIdx.x) / kTileSide;
  for (int a = 0; a < kEach; ++a) of_threads[(kRows ? ty : tx) + kTileSide * a][kRows ? tx : ty] = sums[a];
  __syncthreads();
  const std::size_t line = line0 + threadIdx.x;
  if (threadIdx.x >= kTile || line >= lines) return;
  LogSum all = no_terms();
  for (int t = 0; t < kTileSide; ++t) all = joined(all, of_threads[threadIdx.x][t]);
  parts[blockIdx.y * lines + line] = all;
}

__global__ void join_log_sums(const LogSum* parts, std::size_t chunks, std::size_t lines, double* sums) {
  const std::size_t line = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  LogSum all = no_terms();
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) all = joined(all, parts[chunk * lines + line]);
  sums[line] = all.sum > 0 ? all.largest + log(all.sum) : -tile_infinity();
}

// ---------------------------------------------------------------------------------------------------------------------

constexpr int kPlanTargets = static_cast<int>(DeviceCosts::kPlanTargets);

/// K t - K + 1 for K = e^t, by its series if t is small, as on the CPU.
__device__ double divergence_of(double kernel, double t) {
  if (!(fabs(t) < 0.25)) return kernel > 0 ? kernel * t - kernel + 1 : 1.0;
  constexpr double coefficients[] = {11.0 / 479001600.0,
                                     10.0 / 39916800.0,
                                     9.0 / 3628800.0,
                                     8.0 / 362880.0,
                                     7.0 / 40320.0,
                                     6.0 / 5040.0,
                                     5.0 / 720.0,
                                     4.0 / 120.0,
                                     3.0 / 24.0,
                                     2.0 / 6.0,
                                     0.5};
  double series = 12.0 / 6227020800.0;
#pragma unroll
  for (const double coefficient : coefficients) series = series * t + coefficient;
  return series * t * t;
}

/// sum K w for up to kPlanTargets weights (targets x summands); if kRows also the other kPlanSums. parts: for each of
/// these sums in turn, chunks x targets x lines.
template <bool kRows, class Costs>
__global__ void __launch_bounds__(kTileThreads)
    plan_parts(Costs costs, CostShape shape, const double* phi, const double* psi, double inverse_epsilon, int targets,
               const double* weights, double* parts) {
  __shared__ typename Costs::Shared shared;
  __shared__ double of_threads[kTile][kTileSide + 1];
  const std::size_t line0 = std::size_t{blockIdx.x} * kTile;
  const std::size_t lines = kRows ? shape.rows : shape.columns;
  const std::size_t summands = kRows ? shape.columns : shape.rows;
  const std::size_t first = std::size_t{blockIdx.y} * kChunk;
  const std::size_t last = min(summands, first + kChunk);

  double sums[kEach][kPlanTargets] = {};
  double log_sums[kEach][kPlanTargets] = {};
  double cost_sums[kEach][kPlanTargets] = {};
  double divergences[kEach][kPlanTargets] = {};
  for (std::size_t s0 = first; s0 < last; s0 += kTile) {
    const std::size_t i0 = kRows ? line0 : s0;
    const std::size_t j0 = kRows ? s0 : line0;
    double cost[kEach][kEach];
    costs.load(shape, i0, j0, shared, cost);
    for (int b = 0; b < kEach; ++b) {
      const std::size_t s = kRows ? tile_column(s0, b) : tile_row(s0, b);
      if (s >= summands) continue;
      double weight[kPlanTargets];
      for (int k = 0; k < kPlanTargets; ++k) weight[k] = k < targets ? weights[k * summands + s] : 0.0;
      for (int a = 0; a < kEach; ++a) {
        const std::size_t line = kRows ? tile_row(line0, a) : tile_column(line0, a);
        if (line >= lines) continue;
        const double potential = kRows ? phi[line] + psi[s] : phi[s] + psi[line];
        const double of_pair = kRows ? cost[a][b] : cost[b][a];
        const double t = (potential - of_pair) * inverse_epsilon;
        const double value = exp(t);
        if constexpr (kRows) {
          const double divergence = divergence_of(value, t);
          for (int k = 0; k < kPlanTargets; ++k) divergences[a][k] += divergence * weight[k];
        }
        if (!(value > 0)) continue;
        for (int k = 0; k < kPlanTargets; ++k) {
          sums[a][k] += value * weight[k];
          if constexpr (kRows) log_sums[a][k] += value * t * weight[k];
          if constexpr (kRows) cost_sums[a][k] += value * of_pair * weight[k];
        }
      }
    }
  }
  const int tx = static_cast<int>(threadIdx.x) % kTileSide;
  const int ty = static_cast<int>(threadIdx.x) / kTileSide;
  const std::size_t line = line0 + threadIdx.x;
  const auto write = [&](const double(&of_thread)[kEach][kPlanTargets], int k, double* to) {
    __syncthreads();
    for (int a = 0; a < kEach; ++a) of_threads[(kRows ? ty : tx) + kTileSide * a][kRows ? tx : ty] = of_thread[a][k];
    __syncthreads();
    if (threadIdx.x >= kTile || line >= lines) return;
    double sum = 0;
    for (int t = 0; t < kTileSide; ++t) sum += of_threads[threadIdx.x][t];
    to[(blockIdx.y * targets + k) * lines + line] = sum;
  };
#pragma unroll
  for (int k = 0; k < kPlanTargets; ++k) {
    if (k >= targets) break;
    write(sums, k, parts);
    if constexpr (kRows) {
      const std::size_t size = std::size_t{gridDim.y} * targets * lines;
      write(log_sums, k, parts + size);
      write(cost_sums, k, parts + 2 * size);
      write(divergences, k, parts + 3 * size);
    }
  }
}

/// Adds up the chunks, in order.
__global__ void add_chunks(const double* parts, std::size_t chunks, std::size_t size, double* sums) {
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k >= size) return;
  double sum = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) sum += parts[chunk * size + k];
  sums[k] = sum;
}

unsigned blocks_for(std::size_t size) { return static_cast<unsigned>((size + kTileThreads - 1) / kTileThreads); }

}  // namespace

std::size_t DeviceCosts::scratch_size(std::size_t rows, std::size_t columns) {
  const std::size_t along_rows = chunks_of(columns) * rows;
  const std::size_t along_columns = chunks_of(rows) * columns;
  return kPlanSums * kPlanTargets * std::max(along_rows, along_columns);
}

void DeviceCosts::fill_kernel(Range rows, const double* phi, const double* psi, double epsilon, Storage storage,
                              void* to, std::size_t stride, cudaStream_t stream) const {
  if (rows.empty() || columns_ == 0) return;
  const CostShape shape{rows_, columns_};
  const dim3 grid = grid_of_entries(shape, rows);
  with_costs(*this, [&](const auto& costs) {
    const auto fill = [&](auto* values) {
      fill_kernel_tiles<<<grid, kTileThreads, 0, stream>>>(costs, shape, rows, phi, psi, 1 / epsilon, values, stride);
    };
    switch (storage) {
      case Storage::float64: return fill(static_cast<double*>(to));
      case Storage::float32:
      case Storage::mixed: return fill(static_cast<float*>(to));
      case Storage::bfloat16: return fill(static_cast<__nv_bfloat16*>(to));
    }
  });
  check(cudaGetLastError(), "building the kernel");
}

void DeviceCosts::row_log_sums(const double* psi, double epsilon, double* scratch, double* sums,
                               cudaStream_t stream) const {
  if (rows_ == 0) return;
  const std::size_t chunks = chunks_of(columns_);
  auto* parts = reinterpret_cast<LogSum*>(scratch);
  with_costs(*this, [&](const auto& costs) {
    if (chunks == 0) return;
    const dim3 grid(tiles_of(rows_), static_cast<unsigned>(chunks));
    log_sum_parts<true><<<grid, kTileThreads, 0, stream>>>(costs, {rows_, columns_}, psi, nullptr, 1 / epsilon, parts);
  });
  join_log_sums<<<blocks_for(rows_), kTileThreads, 0, stream>>>(parts, chunks, rows_, sums);
  check(cudaGetLastError(), "summing rows in logs");
}

void DeviceCosts::column_log_sums(const double* phi, const double* log_weights, double epsilon, double* scratch,
                                  double* sums, cudaStream_t stream) const {
  if (columns_ == 0) return;
  const std::size_t chunks = chunks_of(rows_);
  auto* parts = reinterpret_cast<LogSum*>(scratch);
  with_costs(*this, [&](const auto& costs) {
    if (chunks == 0) return;
    const dim3 grid(tiles_of(columns_), static_cast<unsigned>(chunks));
    log_sum_parts<false>
        <<<grid, kTileThreads, 0, stream>>>(costs, {rows_, columns_}, phi, log_weights, 1 / epsilon, parts);
  });
  join_log_sums<<<blocks_for(columns_), kTileThreads, 0, stream>>>(parts, chunks, columns_, sums);
  check(cudaGetLastError(), "summing columns in logs");
}

void DeviceCosts::plan_row_sums(const double* phi, const double* psi, double epsilon, std::size_t targets,
                                const double* v, double* scratch, double* sums, cudaStream_t stream) const {
  if (rows_ == 0 || targets == 0) return;
  const std::size_t chunks = chunks_of(columns_);
  const std::size_t size = targets * rows_;
  with_costs(*this, [&](const auto& costs) {
    if (chunks == 0) return;
    const dim3 grid(tiles_of(rows_), static_cast<unsigned>(chunks));
    plan_parts<true><<<grid, kTileThreads, 0, stream>>>(costs, {rows_, columns_}, phi, psi, 1 / epsilon,
                                                        static_cast<int>(targets), v, scratch);
  });
  for (std::size_t which = 0; which < kPlanSums; ++which) {
    add_chunks<<<blocks_for(size), kTileThreads, 0, stream>>>(scratch + which * chunks * size, chunks, size,
                                                              sums + which * size);
  }
  check(cudaGetLastError(), "summing the rows of a plan");
}

void DeviceCosts::plan_column_sums(const double* phi, const double* psi, double epsilon, std::size_t targets,
                                   const double* u, double* scratch, double* sums, cudaStream_t stream) const {
  if (columns_ == 0 || targets == 0) return;
  const std::size_t chunks = chunks_of(rows_);
  const std::size_t size = targets * columns_;
  with_costs(*this, [&](const auto& costs) {
    if (chunks == 0) return;
    const dim3 grid(tiles_of(columns_), static_cast<unsigned>(chunks));
    plan_parts<false><<<grid, kTileThreads, 0, stream>>>(costs, {rows_, columns_}, phi, psi, 1 / epsilon,
                                                         static_cast<int>(targets), u, scratch);
  });
  add_chunks<<<blocks_for(size), kTileThreads, 0, stream>>>(scratch, chunks, size, sums);
  check(cudaGetLastError(), "summing the columns of a plan");
}

}  // namespace fedsinkhorn::cuda
