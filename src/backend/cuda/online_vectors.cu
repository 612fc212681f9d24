#include "backend/cuda/online_vectors.cuh"

#include <limits>

#include "device/runtime.hpp"

namespace fedsinkhorn::cuda::online {
namespace {

constexpr unsigned kThreads = 128;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

unsigned blocks(std::size_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

__device__ std::size_t thread() { return std::size_t{blockIdx.x} * kThreads + threadIdx.x; }

__global__ void shifts(std::size_t count, const double* potential, double scale, double offset, const double* norms,
                       double part, double* shift, float* rounded, double* rest) {
  const std::size_t i = thread();
  if (i >= padded(count)) return;
  double value = -kInfinity;
  if (i < count) value = scale * potential[i] - offset - (norms != nullptr ? part * norms[i] : 0.0);
  shift[i] = value;
  rounded[i] = static_cast<float>(value);
  const double lost = value - static_cast<double>(rounded[i]);
  rest[i] = isfinite(lost) ? exp2(lost) : 1.0;
}

template <class Real>
__global__ void weigh(std::size_t count, std::size_t targets, const double* values, const double* rest, Real* weights) {
  const std::size_t j = thread();
  const std::size_t k = blockIdx.y;
  if (j >= padded(count)) return;
  double weight = 0;
  if (j < count && k < targets) weight = values[k * count + j] * (rest != nullptr ? rest[j] : 1.0);
  weights[k * padded(count) + j] = static_cast<Real>(weight);
}

__global__ void join(std::size_t rows, std::size_t kernel_targets, std::size_t slots, const double* partial,
                     const double* rest, double* out) {
  const std::size_t i = thread();
  const std::size_t k = blockIdx.y;
  if (i >= rows) return;
  double sum = 0;
#pragma unroll 8
  for (std::size_t s = 0; s < slots; ++s) sum += partial[(s * kernel_targets + k) * padded(rows) + i];
  out[k * rows + i] = rest != nullptr ? sum * rest[i] : sum;
}

/// One warp per point.
__global__ void norms_of(const double* points, std::size_t count, std::size_t dimension, double* norms) {
  const std::size_t point = thread() / 32;
  if (point >= count) return;
  double sum = 0;
  for (std::size_t c = threadIdx.x % 32; c < dimension; c += 32) {
    const double x = points[point * dimension + c];
    sum += x * x;
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) norms[point] = sum;
}

dim3 grid(std::size_t points, std::size_t targets) { return {blocks(points), static_cast<unsigned>(targets)}; }

}  // namespace

void make_shifts(std::size_t count, const double* potential, double scale, double offset, const double* norms,
                 double part, double* shift, float* rounded, double* rest, cudaStream_t stream) {
  shifts<<<blocks(padded(count)), kThreads, 0, stream>>>(count, potential, scale, offset, norms, part, shift, rounded,
                                                         rest);
  check(cudaGetLastError(), "absorbing potentials");
}

template <class Real>
void make_weights(std::size_t count, std::size_t targets, std::size_t kernel_targets, const double* values,
                  const double* rest, Real* weights, cudaStream_t stream) {
  weigh<<<grid(padded(count), kernel_targets), kThreads, 0, stream>>>(count, targets, values, rest, weights);
  check(cudaGetLastError(), "making weights");
}

template void make_weights(std::size_t, std::size_t, std::size_t, const double*, const double*, float*, cudaStream_t);
template void make_weights(std::size_t, std::size_t, std::size_t, const double*, const double*, double*, cudaStream_t);

void join_partial(std::size_t rows, std::size_t targets, std::size_t kernel_targets, std::size_t slots,
                  const double* partial, const double* rest, double* out, cudaStream_t stream) {
  join<<<grid(rows, targets), kThreads, 0, stream>>>(rows, kernel_targets, slots, partial, rest, out);
  check(cudaGetLastError(), "joining sums");
}

void squared_norms(const double* points, std::size_t count, std::size_t dimension, double* norms, cudaStream_t stream) {
  norms_of<<<blocks(count * 32), kThreads, 0, stream>>>(points, count, dimension, norms);
  check(cudaGetLastError(), "computing lengths of points");
}

}  // namespace fedsinkhorn::cuda::online
