// Stored kernels to test and measure with, and their products done the slow, obvious way.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/dense_pass.hpp"
#include "device/runtime.hpp"

namespace fedsinkhorn::cuda::testing {

inline const char* name_of(Storage storage) {
  switch (storage) {
    case Storage::float64: return "float64";
    case Storage::float32: return "float32";
    case Storage::mixed: return "mixed";
    case Storage::bfloat16: return "bfloat16";
  }
  return "";
}

/// A number in [0, 1) that depends on seed and index alone.
__host__ __device__ inline double random_number(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ULL + seed * 0xD1B54A32D192ED03ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

__device__ inline void store(Storage storage, void* data, std::size_t at, double x) {
  if (storage == Storage::float64) {
    static_cast<double*>(data)[at] = x;
  } else if (storage == Storage::bfloat16) {
    static_cast<__nv_bfloat16*>(data)[at] = __float2bfloat16(static_cast<float>(x));
  } else {
    static_cast<float*>(data)[at] = static_cast<float>(x);
  }
}

__device__ inline double load(Storage storage, const void* data, std::size_t at) {
  if (storage == Storage::float64) return static_cast<const double*>(data)[at];
  if (storage == Storage::bfloat16) {
    return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(data)[at]));
  }
  return static_cast<double>(static_cast<const float*>(data)[at]);
}

/// exp(-6 x), x uniform; 3 in 100 are 0 and 1 in 100 tiny, but in every row and column something is not. Entry (i, j)
/// depends on (i + row, j + column) alone.
static __global__ void fill_kernel(StoredKernel kernel, std::size_t row, std::size_t column, std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x, size = kernel.rows * kernel.stride;
  for (std::size_t at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; at < size; at += step) {
    const std::size_t i = at / kernel.stride + row, j = at % kernel.stride + column;
    const std::uint64_t index = (static_cast<std::uint64_t>(i) << 32) + j;
    const double kind = random_number(seed + 1, index);
    double x = exp(-6 * random_number(seed, index));
    if (i % 64 != j % 64 && kind < 0.03) x = 0;
    if (i % 64 != j % 64 && kind > 0.99) x = 1e-39;
    store(kernel.storage, const_cast<void*>(kernel.data), at, at % kernel.stride < kernel.columns ? x : 0.0);
  }
}

static __global__ void set_entry_kernel(StoredKernel kernel, std::size_t at, double x) {
  store(kernel.storage, const_cast<void*>(kernel.data), at, x);
}

/// Owner of a random kernel: of the block of a larger one that begins at (row, column).
class RandomKernel {
 public:
  RandomKernel(Storage storage, std::size_t rows, std::size_t columns, std::uint64_t seed, std::size_t row = 0,
               std::size_t column = 0) {
    kernel_.storage = storage;
    kernel_.rows = rows;
    kernel_.columns = columns;
    kernel_.stride = dense_stride(storage, columns);
    bytes_ = DeviceBuffer<unsigned char>(rows * kernel_.stride * bytes_of(storage));
    kernel_.data = bytes_.data();
    fill_kernel<<<2048, 256>>>(kernel_, row, column, seed);
    check(cudaGetLastError(), "filling a kernel");
    check(cudaDeviceSynchronize(), "filling a kernel");
  }
  [[nodiscard]] const StoredKernel& get() const { return kernel_; }
  [[nodiscard]] std::size_t size_in_bytes() const { return bytes_.size(); }
  void set(std::size_t i, std::size_t j, double x) {
    set_entry_kernel<<<1, 1>>>(kernel_, i * kernel_.stride + j, x);
    check(cudaDeviceSynchronize(), "setting an entry");
  }

 private:
  StoredKernel kernel_;
  DeviceBuffer<unsigned char> bytes_;
};

/// One warp a row.
static __global__ void slow_apply_kernel(StoredKernel kernel, const double* v, double* q) {
  const std::size_t i = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) / 32;
  if (i >= kernel.rows) return;
  double sum = 0;
  for (std::size_t j = threadIdx.x % 32; j < kernel.columns; j += 32) {
    sum += load(kernel.storage, kernel.data, i * kernel.stride + j) * v[j];
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0U, sum, distance);
  if (threadIdx.x % 32 == 0) q[i] = sum;
}

/// One thread a column.
static __global__ void slow_transposed_kernel(StoredKernel kernel, const double* u, double* r) {
  const std::size_t j = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (j >= kernel.columns) return;
  double sum = 0;
  for (std::size_t i = 0; i < kernel.rows; ++i) sum += load(kernel.storage, kernel.data, i * kernel.stride + j) * u[i];
  r[j] = sum;
}

inline void slow_apply(const StoredKernel& kernel, const double* v, double* q) {
  slow_apply_kernel<<<static_cast<unsigned>((kernel.rows * 32 + 255) / 256), 256>>>(kernel, v, q);
  check(cudaGetLastError(), "slow q = K v");
}
inline void slow_transposed(const StoredKernel& kernel, const double* u, double* r) {
  slow_transposed_kernel<<<static_cast<unsigned>((kernel.columns + 255) / 256), 256>>>(kernel, u, r);
  check(cudaGetLastError(), "slow r = K' u");
}

}  // namespace fedsinkhorn::cuda::testing
