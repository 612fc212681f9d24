// The two products with a stored kernel, one at a time.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/dense_columns.cuh"

namespace fedsinkhorn::cuda::dense {

constexpr int kProductThreads = 256;
constexpr int kProductWarps = kProductThreads / 32;
/// Rows that a block multiplies with v at once.
constexpr int kRowsAtOnce = 4;
/// r is summed over chunks of rows first, then over the chunks: at least this many rows, at most this many chunks.
constexpr int kLeastChunk = 256;
constexpr int kMostChunks = 128;

[[nodiscard]] constexpr int chunk_of(int rows) {
  const int even = (rows + kMostChunks - 1) / kMostChunks;
  return even > kLeastChunk ? even : kLeastChunk;
}
[[nodiscard]] constexpr int chunks_of(int rows) { return (rows + chunk_of(rows) - 1) / chunk_of(rows); }

struct Matrix {
  const unsigned char* data = nullptr;
  std::size_t row_pitch = 0;  ///< bytes from row to row
  int rows = 0;
  int columns = 0;
};

template <Storage storage>
[[nodiscard]] __host__ __device__ constexpr int groups_of(int columns) {
  return (columns + Numbers<storage>::per_group - 1) / Numbers<storage>::per_group;
}

/// Converts v for the products; zero beyond the columns.
template <Storage storage>
__global__ void prepare_kernel(const double* v, int columns, typename Numbers<storage>::Compute* to) {
  using Compute = typename Numbers<storage>::Compute;
  const int j = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (j >= groups_of<storage>(columns) * Numbers<storage>::per_group) return;
  to[j] = j < columns ? static_cast<Compute>(v[j] * Numbers<storage>::scale) : Compute{0};
}

__device__ inline uint4 load_once(const unsigned char* from) { return __ldcs(reinterpret_cast<const uint4*>(from)); }

/// q = K v. Every row is summed by the same threads in the same order.
template <Storage storage>
__global__ void __launch_bounds__(kProductThreads, 4)
    apply_kernel(const Matrix matrix, const typename Numbers<storage>::Compute* __restrict__ v,
                 double* __restrict__ q) {
  using Compute = typename Numbers<storage>::Compute;
  constexpr int per_group = Numbers<storage>::per_group;
  constexpr int per_load = 16 / sizeof(Compute);
  __shared__ double of_warps[kRowsAtOnce][kProductWarps];
  const int first = static_cast<int>(blockIdx.x) * kRowsAtOnce;
  const unsigned char* row[kRowsAtOnce];
#pragma unroll
  for (int i = 0; i < kRowsAtOnce; ++i) row[i] = matrix.data + min(first + i, matrix.rows - 1) * matrix.row_pitch;
  Compute sums[kRowsAtOnce] = {};
  const int groups = groups_of<storage>(matrix.columns);
#pragma unroll 2
  for (int group = static_cast<int>(threadIdx.x); group < groups; group += kProductThreads) {
    uint4 stored[kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) stored[i] = load_once(row[i] + std::size_t{16} * group);
    Compute with[per_group];
#pragma unroll
    for (int e = 0; e < per_group; e += per_load) {
      unpacked(__ldg(reinterpret_cast<const float4*>(v + std::size_t{per_group} * group + e)), &with[e]);
    }
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      Compute x[per_group];
      Numbers<storage>::unpack(stored[i], x);
#pragma unroll
      for (int e = 0; e < per_group; ++e) sums[i] += x[e] * with[e];
    }
  }
#pragma unroll
  for (int i = 0; i < kRowsAtOnce; ++i) {
    double sum = static_cast<double>(sums[i]);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0U, sum, distance);
    if (threadIdx.x % 32 == 0) of_warps[i][threadIdx.x / 32] = sum;
  }
  __syncthreads();
  const int line = static_cast<int>(threadIdx.x);
  if (line >= kRowsAtOnce || first + line >= matrix.rows) return;
  double sum = 0;
  for (const double of_warp : of_warps[line]) sum += of_warp;
  q[first + line] = sum * Numbers<storage>::scale;
}

/// Parts of r = K' u, over blockIdx.y's chunk of rows. A warp has every eighth row, a lane 16 bytes of columns.
template <Storage storage>
__global__ void __launch_bounds__(kProductThreads, 4)
    transposed_kernel(const Matrix matrix, const double* __restrict__ u, int chunk, std::size_t pitch,
                      typename Numbers<storage>::Compute* __restrict__ parts) {
  using Compute = typename Numbers<storage>::Compute;
  constexpr int per_group = Numbers<storage>::per_group;
  constexpr int tile = 32 * per_group;
  constexpr int batch = 4;  // loads in flight
  __shared__ Compute of_warps[kProductWarps][tile];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int group = min(static_cast<int>(blockIdx.x) * 32 + lane, groups_of<storage>(matrix.columns) - 1);
  const int first = static_cast<int>(blockIdx.y) * chunk, end = min(first + chunk, matrix.rows);
  const unsigned char* column = matrix.data + std::size_t{16} * group;
  Compute sums[per_group] = {};
  for (int i = first + warp; i < end; i += batch * kProductWarps) {
    uint4 stored[batch];
    const auto row_of = [&](int k) { return i + k * kProductWarps; };
#pragma unroll
    for (int k = 0; k < batch; ++k) stored[k] = load_once(column + min(row_of(k), end - 1) * matrix.row_pitch);
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (row_of(k) >= end) break;
      const Compute with = static_cast<Compute>(__ldg(u + row_of(k)) * Numbers<storage>::scale);
      Compute x[per_group];
      Numbers<storage>::unpack(stored[k], x);
#pragma unroll
      for (int e = 0; e < per_group; ++e) sums[e] += x[e] * with;
    }
  }
#pragma unroll
  for (int e = 0; e < per_group; ++e) of_warps[warp][lane * per_group + e] = sums[e];
  __syncthreads();
  const int in_tile = static_cast<int>(threadIdx.x);
  const int j = static_cast<int>(blockIdx.x) * tile + in_tile;
  if (in_tile >= tile || j >= matrix.columns) return;
  Compute sum = 0;
  for (int i = 0; i < kProductWarps; ++i) sum += of_warps[i][in_tile];
  parts[blockIdx.y * pitch + j] = sum;
}

/// r from its parts: warp w of a block sums the chunks w, w + 8, ...
template <Storage storage>
__global__ void __launch_bounds__(kProductThreads)
    sum_chunks_kernel(const typename Numbers<storage>::Compute* __restrict__ parts, int chunks, std::size_t pitch,
                      int columns, double* __restrict__ r) {
  __shared__ double of_warps[kProductWarps][32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int column = static_cast<int>(blockIdx.x) * 32 + lane;
  double sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (int chunk = warp; chunk < chunks; chunk += kProductWarps) {
      sum += static_cast<double>(parts[chunk * pitch + column]);
    }
  }
  of_warps[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= columns) return;
  double r_here = 0;
  for (int i = 0; i < kProductWarps; ++i) r_here += of_warps[i][lane];
  r[column] = r_here * Numbers<storage>::scale;
}

}  // namespace fedsinkhorn::cuda::dense
