#include "backend/cuda/online_fragments.cuh"

#include "device/runtime.hpp"

namespace fedsinkhorn::cuda::online {
namespace {

constexpr unsigned kThreads = 256;
constexpr double kCoarse = 4096;  ///< unit of the coarsest piece of a shift

unsigned blocks(std::size_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

/// Position of number k of a slice of a point, counted in numbers from the start: as a fragment, and in a block.
__device__ std::size_t fragment_place(std::size_t point, std::size_t slices, std::size_t slice, std::size_t k) {
  const std::size_t lane = point % 8 * 4 + k % 8 / 2;
  const std::size_t number = point % 16 / 8 * 4 + k / 8 * 2 + k % 2;
  return ((point / 16 * slices + slice) * 32 + lane) * 8 + number;
}
__device__ std::size_t block_place(std::size_t point, std::size_t slices, std::size_t slice, std::size_t k) {
  return (((point / 8 * slices + slice) * 2 + k / 8) * 8 + point % 8) * 8 + k % 8;
}

struct Halves {
  __half hi;
  __half lo;
};

__device__ Halves halves(double x) {
  const __half hi = __double2half(x);
  const double rest = x - static_cast<double>(__half2float(hi));
  return {hi, isfinite(rest) ? __double2half(rest) : __half{0.0f}};
}

/// One thread per coordinate of each padded point.
__global__ void pack(bool split, const double* points, std::size_t count, std::size_t dimension, double root,
                     std::size_t slices, std::size_t total, __half* left, __half* right) {
  const std::size_t coordinates = (split ? slices / 2 : slices) * 16;
  const std::size_t k = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (k >= total * coordinates) return;
  const std::size_t point = k / coordinates;
  const std::size_t c = k % coordinates;
  const bool there = point < count && c < dimension;
  const Halves x = halves(there ? root * points[point * dimension + c] : 0.0);
  const std::size_t slice = split ? c / 16 * 2 : c / 16;
  const auto put = [&](std::size_t s, __half number) {
    left[fragment_place(point, slices, s, c % 16)] = number;
    if (right != nullptr) right[block_place(point, slices, s, c % 16)] = number;
  };
  put(slice, x.hi);
  if (split) put(slice + 1, x.lo);
}

/// One thread per padded point.
__global__ void pack_small(const double* points, std::size_t count, std::size_t dimension, double root,
                           const float* shift, std::size_t total, __half* left, __half* right) {
  const std::size_t point = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (point >= total) return;
  const auto put = [&](std::size_t k, __half of_left, __half of_right) {
    left[fragment_place(point, 1, 0, k)] = of_left;
    right[block_place(point, 1, 0, k)] = of_right;
  };
  for (std::size_t c = 0; c < dimension; ++c) {
    const Halves x = halves(point < count ? root * points[point * dimension + c] : 0.0);
    put(c, x.hi, x.hi);
    put(dimension + c, x.hi, x.lo);
    put(2 * dimension + c, x.lo, x.hi);
  }
  const __half coarse = __double2half(shift[point] / kCoarse);
  const double rest = shift[point] - kCoarse * static_cast<double>(__half2float(coarse));
  const Halves fine = halves(isfinite(rest) ? rest : 0.0);
  const __half unit = __double2half(kCoarse);
  const __half one = __half{1.0f};
  std::size_t k = 3 * dimension;
  put(k++, coarse, unit);
  put(k++, fine.hi, one);
  put(k++, fine.lo, one);
  put(k++, unit, coarse);
  put(k++, one, fine.hi);
  put(k++, one, fine.lo);
  while (k < 16) put(k++, __half{0.0f}, __half{0.0f});
}

/// One warp per point.
__global__ void norms_as_rounded(bool split, const double* points, std::size_t count, std::size_t dimension,
                                 double root, double* norms) {
  const std::size_t point = (std::size_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (point >= count) return;
  double sum = 0;
  for (std::size_t c = threadIdx.x % 32; c < dimension; c += 32) {
    const Halves x = halves(root * points[point * dimension + c]);
    const auto hi = static_cast<double>(__half2float(x.hi));
    const auto lo = static_cast<double>(__half2float(x.lo));
    sum += split ? hi * (hi + 2 * lo) : hi * hi;
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) norms[point] = sum;
}

}  // namespace

void pack_points(Form form, const double* points, std::size_t count, std::size_t dimension, double root,
                 std::size_t slices, const float* shift, __half* left, __half* right, cudaStream_t stream) {
  const std::size_t total = padded(count);
  if (form == Form::packed) {
    pack_small<<<blocks(total), kThreads, 0, stream>>>(points, count, dimension, root, shift, total, left, right);
  } else {
    const bool split = form == Form::split;
    const std::size_t coordinates = (split ? slices / 2 : slices) * 16;
    pack<<<blocks(total * coordinates), kThreads, 0, stream>>>(split, points, count, dimension, root, slices, total,
                                                               left, right);
  }
  check(cudaGetLastError(), "packing points");
}

void rounded_norms(Form form, const double* points, std::size_t count, std::size_t dimension, double root,
                   double* norms, cudaStream_t stream) {
  norms_as_rounded<<<blocks(count * 32), kThreads, 0, stream>>>(form != Form::single, points, count, dimension, root,
                                                                norms);
  check(cudaGetLastError(), "computing lengths of points");
}

}  // namespace fedsinkhorn::cuda::online
