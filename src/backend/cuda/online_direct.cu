#include "backend/cuda/online_direct.cuh"

#include "backend/cuda/online_exp2.cuh"
#include "backend/cuda/runtime.hpp"

namespace fedsinkhorn::cuda::online {
namespace {

constexpr int kSide = 64;   ///< rows and columns of a tile
constexpr int kLanes = 16;  ///< threads along either side
constexpr int kEach = kSide / kLanes;
constexpr int kDepth = 16;  ///< coordinates held at a time
constexpr int kThreads = kLanes * kLanes;
static_assert(kColumnTile % kSide == 0 && kPadding % kSide == 0 && kDepth >= kDirectDimensions);

/// Below this share of the norms a squared distance formed from them is computed again (see cpu::kCancelled).
constexpr double kCancelled = 1.0 / 256;

/// kDepth coordinates of kSide points, coordinate by coordinate; zeros beyond the last point and coordinate.
template <class Real>
using Panel = Real[kDepth][kSide + 1];

template <class Real>
__device__ void load(Panel<Real>& panel, const double* points, std::size_t count, std::size_t dimension,
                     std::size_t first_point, std::size_t first_coordinate) {
  for (int k = static_cast<int>(threadIdx.x); k < kSide * kDepth; k += kThreads) {
    const std::size_t point = first_point + static_cast<std::size_t>(k / kDepth);
    const std::size_t coordinate = first_coordinate + static_cast<std::size_t>(k % kDepth);
    const bool there = point < count && coordinate < dimension;
    panel[k % kDepth][k / kDepth] = there ? static_cast<Real>(points[point * dimension + coordinate]) : Real{0};
  }
}

__device__ __noinline__ double sum_of_squared_differences(const double* x, const double* y, std::size_t dimension) {
  double sum = 0;
  for (std::size_t c = 0; c < dimension; ++c) sum += (x[c] - y[c]) * (x[c] - y[c]);
  return sum;
}

/// C_ij from what was summed over the coordinates: squared differences if direct, products otherwise.
template <class Real>
__device__ Real cost(const Job<Real>& job, bool direct, Real sum, std::size_t row, std::size_t column) {
  if (job.metric == Metric::cosine) return 1 - sum;
  if constexpr (sizeof(Real) == sizeof(double)) {
    if (!direct && row < job.rows && column < job.columns) {
      const double norms = job.row_norms[row] + job.column_norms[column];
      sum = norms - 2 * sum;
      if (sum < kCancelled * norms) {
        sum = sum_of_squared_differences(job.x + row * job.dimension, job.y + column * job.dimension, job.dimension);
      }
    }
  }
  return job.metric == Metric::euclidean ? square_root(sum) : sum;
}

/// Block (x, s): kSide rows, split s of the columns. A thread sums over every 16th column for four rows.
template <class Real, int Targets>
__global__ void __launch_bounds__(kThreads) sum_directly(Job<Real> job) {
  __shared__ Panel<Real> x;
  __shared__ Panel<Real> y;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int first = static_cast<int>(threadIdx.x) / kLanes * kEach;
  const std::size_t block_row = std::size_t{blockIdx.x} * kSide;
  const std::size_t begin = blockIdx.y * job.split_columns;
  const std::size_t end = min(begin + job.split_columns, job.columns);
  const bool direct = job.metric != Metric::cosine && job.dimension <= kDirectDimensions;
  const bool fits = job.dimension <= kDepth;
  const Real scale = static_cast<Real>(job.scale);

  Real row_shift[kEach];
  for (int r = 0; r < kEach; ++r) row_shift[r] = job.row_shift[block_row + first + r];
  double sums[kEach][Targets] = {};
  if (fits) load(x, job.x, job.rows, job.dimension, block_row, 0);

  for (std::size_t tile = begin; tile < end; tile += kSide) {
    Real terms[kEach][kEach] = {};
    for (std::size_t depth = 0; depth < job.dimension; depth += kDepth) {
      __syncthreads();
      if (!fits) load(x, job.x, job.rows, job.dimension, block_row, depth);
      load(y, job.y, job.columns, job.dimension, tile, depth);
      __syncthreads();
      const int held = static_cast<int>(min(std::size_t{kDepth}, job.dimension - depth));
      for (int c = 0; c < held; ++c) {
#pragma unroll
        for (int r = 0; r < kEach; ++r) {
#pragma unroll
          for (int s = 0; s < kEach; ++s) {
            const Real left = x[c][first + r];
            const Real right = y[c][lane + s * kLanes];
            terms[r][s] += direct ? (left - right) * (left - right) : left * right;
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      Real few[Targets] = {};
#pragma unroll
      for (int s = 0; s < kEach; ++s) {
        const std::size_t column = tile + static_cast<std::size_t>(lane + s * kLanes);
        const Real c = cost(job, direct, terms[r][s], block_row + first + r, column);
        const Real k_ij = power_of_two(row_shift[r] + job.column_shift[column] - scale * c);
#pragma unroll
        for (int k = 0; k < Targets; ++k) few[k] += k_ij * job.weights[k * padded(job.columns) + column];
      }
#pragma unroll
      for (int k = 0; k < Targets; ++k) sums[r][k] += few[k];
    }
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
#pragma unroll
    for (int k = 0; k < Targets; ++k) {
      double sum = sums[r][k];
      for (int step = kLanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      if (lane == 0) job.partial[(blockIdx.y * Targets + k) * padded(job.rows) + block_row + first + r] = sum;
    }
  }
}

template <class Real, int Targets>
void launch(const Job<Real>& job, std::size_t splits, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((job.rows + kSide - 1) / kSide), static_cast<unsigned>(splits));
  sum_directly<Real, Targets><<<grid, kThreads, 0, stream>>>(job);
  check(cudaGetLastError(), "summing over points");
}

}  // namespace

template <class Real>
void direct_sums(const Job<Real>& job, std::size_t targets, std::size_t splits, cudaStream_t stream) {
  if (targets == 1) {
    launch<Real, 1>(job, splits, stream);
  } else {
    launch<Real, kDirectTargets>(job, splits, stream);
  }
}

template void direct_sums(const Job<float>&, std::size_t, std::size_t, cudaStream_t);
template void direct_sums(const Job<double>&, std::size_t, std::size_t, cudaStream_t);

}  // namespace fedsinkhorn::cuda::online
