#include "backend/cuda/online_direct.cuh"

#include "backend/cuda/online_exp2.cuh"
#include "device/runtime.hpp"

namespace fedsinkhorn::cuda::online {
namespace {

constexpr int kLanes = 16;       ///< threads along each side of a tile
constexpr int kRowsEach = 8;     ///< per thread, consecutive
constexpr int kColumnsEach = 4;  ///< per thread, every 16th
constexpr int kRows = kLanes * kRowsEach;
constexpr int kColumns = kLanes * kColumnsEach;
constexpr int kDepth = 16;  ///< coordinates held at a time
constexpr int kThreads = kLanes * kLanes;
static_assert(kColumnTile % kColumns == 0 && kPadding % kRows == 0 && kDepth >= kDirectDimensions);

/// Below this share of the norms, a squared distance formed from them is recomputed (see cpu::kCancelled).
constexpr double kCancelled = 1.0 / 256;
/// The same for 1 - x.y; see Cosine in cost/points_cost.cpp.
constexpr double kNearlyParallel = 1.0 / (1 << 14);

/// kDepth coordinates of some points, coordinate by coordinate; zeros beyond the last point and coordinate.
template <class Real, int Count>
struct Panel {
  Real at[kDepth][Count + 2];

  __device__ void load(const double* points, std::size_t count, std::size_t dimension, std::size_t first_point,
                       std::size_t first_coordinate) {
    for (int k = static_cast<int>(threadIdx.x); k < Count * kDepth; k += kThreads) {
      const std::size_t point = first_point + static_cast<std::size_t>(k / kDepth);
      const std::size_t coordinate = first_coordinate + static_cast<std::size_t>(k % kDepth);
      const bool there = point < count && coordinate < dimension;
      at[k % kDepth][k / kDepth] = there ? static_cast<Real>(points[point * dimension + coordinate]) : Real{0};
    }
  }
};

/// Adds products of coordinates, or squared differences, over the coordinates held.
template <bool Differences, class Real>
__device__ void add_coordinates(Real (&terms)[kRowsEach][kColumnsEach], const Panel<Real, kRows>& x,
                                const Panel<Real, kColumns>& y, int held, int first, int lane) {
  for (int c = 0; c < held; ++c) {
    Real left[kRowsEach];
    Real right[kColumnsEach];
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) left[r] = x.at[c][first + r];
#pragma unroll
    for (int s = 0; s < kColumnsEach; ++s) right[s] = y.at[c][lane + s * kLanes];
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
      for (int s = 0; s < kColumnsEach; ++s) {
        if constexpr (Differences) {
          const Real difference = left[r] - right[s];
          terms[r][s] += difference * difference;
        } else {
          terms[r][s] += left[r] * right[s];
        }
      }
    }
  }
}

__device__ __noinline__ double sum_of_squared_differences(const double* x, const double* y, std::size_t dimension) {
  double sum = 0;
  for (std::size_t c = 0; c < dimension; ++c) sum += (x[c] - y[c]) * (x[c] - y[c]);
  return sum;
}

/// C_ij from the sum over the coordinates: squared differences if direct, products otherwise.
template <class Real>
__device__ Real cost(const Job<Real>& job, bool direct, Real sum, std::size_t row, std::size_t column) {
  if (job.metric == Metric::cosine) {
    if (direct) return sum / 2;
    if constexpr (sizeof(Real) == sizeof(double)) {
      if (1 - sum < kNearlyParallel && row < job.rows && column < job.columns) {
        return sum_of_squared_differences(job.x + row * job.dimension, job.y + column * job.dimension, job.dimension) /
               2;
      }
    }
    return 1 - sum;
  }
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

/// Block (x, s): kRows rows, split s of the columns.
template <class Real, int Targets>
__global__ void __launch_bounds__(kThreads, Targets == 1 ? 2 : 1) sum_directly(Job<Real> job) {
  __shared__ Panel<Real, kRows> x;
  __shared__ Panel<Real, kColumns> y;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int first = static_cast<int>(threadIdx.x) / kLanes * kRowsEach;
  const std::size_t block_row = std::size_t{blockIdx.x} * kRows;
  const std::size_t first_row = block_row + static_cast<std::size_t>(first);
  const std::size_t begin = blockIdx.y * job.split_columns;
  const std::size_t end = min(begin + job.split_columns, job.columns);
  const bool direct = job.dimension <= kDirectDimensions;
  const bool fits = job.dimension <= kDepth;
  const Real scale = static_cast<Real>(job.scale);

  Real row_shift[kRowsEach];
  for (int r = 0; r < kRowsEach; ++r) row_shift[r] = job.row_shift[first_row + r];
  double sums[kRowsEach][Targets] = {};
  if (fits) x.load(job.x, job.rows, job.dimension, block_row, 0);

  for (std::size_t tile = begin; tile < end; tile += kColumns) {
    Real terms[kRowsEach][kColumnsEach] = {};
    for (std::size_t depth = 0; depth < job.dimension; depth += kDepth) {
      __syncthreads();
      if (!fits) x.load(job.x, job.rows, job.dimension, block_row, depth);
      y.load(job.y, job.columns, job.dimension, tile, depth);
      __syncthreads();
      const int held = static_cast<int>(min(std::size_t{kDepth}, job.dimension - depth));
      if (direct) {
        add_coordinates<true>(terms, x, y, held, first, lane);
      } else {
        add_coordinates<false>(terms, x, y, held, first, lane);
      }
    }
    Real few[kRowsEach][Targets] = {};
#pragma unroll
    for (int s = 0; s < kColumnsEach; ++s) {
      const std::size_t column = tile + static_cast<std::size_t>(lane + s * kLanes);
      const Real column_shift = job.column_shift[column];
      Real weights[Targets];
#pragma unroll
      for (int k = 0; k < Targets; ++k) weights[k] = job.weights[k * padded(job.columns) + column];
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) {
        const Real c = cost(job, direct, terms[r][s], first_row + static_cast<std::size_t>(r), column);
        const Real k_ij = power_of_two(row_shift[r] + column_shift - scale * c);
#pragma unroll
        for (int k = 0; k < Targets; ++k) few[r][k] += k_ij * weights[k];
      }
    }
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
      for (int k = 0; k < Targets; ++k) sums[r][k] += few[r][k];
    }
  }
#pragma unroll
  for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
    for (int k = 0; k < Targets; ++k) {
      double sum = sums[r][k];
      for (int step = kLanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      if (lane == 0) job.partial[(blockIdx.y * Targets + k) * padded(job.rows) + first_row + r] = sum;
    }
  }
}

template <class Real, int Targets>
void launch(const Job<Real>& job, std::size_t splits, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((job.rows + kRows - 1) / kRows), static_cast<unsigned>(splits));
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
