// Reads the numbers of a stored kernel, sixteen bytes at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/dense_pass.hpp"

namespace fedsinkhorn::cuda {

/// Compute: type of the products. per_group: numbers in 16 bytes. scale: multiplies v and u before they meet K, and the
/// sums afterwards.
template <Storage storage>
struct Numbers;

template <>
struct Numbers<Storage::float64> {
  using Compute = double;
  static constexpr int per_group = 2;
  static constexpr double scale = 1;

  __device__ static void unpack(const uint4& group, double (&x)[per_group]) {
    x[0] = __hiloint2double(static_cast<int>(group.y), static_cast<int>(group.x));
    x[1] = __hiloint2double(static_cast<int>(group.w), static_cast<int>(group.z));
  }
};

template <>
struct Numbers<Storage::float32> {
  using Compute = float;
  static constexpr int per_group = 4;
  static constexpr double scale = 1;

  __device__ static void unpack(const uint4& group, float (&x)[per_group]) {
    x[0] = __uint_as_float(group.x);
    x[1] = __uint_as_float(group.y);
    x[2] = __uint_as_float(group.z);
    x[3] = __uint_as_float(group.w);
  }
};

/// Conversions to float64 are slow. The bits of a finite float32 x >= 0, placed at the exponent and fraction of a
/// float64, are x 2^-896, including zeros and denormals: two shifts. Half of the 2^896 goes into v and u, half into the
/// sums, so that nothing leaves the range of float64 while v and u are within 1e+-130.
template <>
struct Numbers<Storage::mixed> {
  using Compute = double;
  static constexpr int per_group = 4;
  static constexpr double scale = 0x1p448;

  __device__ static void unpack(const uint4& group, double (&x)[per_group]) {
    x[0] = widen(group.x);
    x[1] = widen(group.y);
    x[2] = widen(group.z);
    x[3] = widen(group.w);
  }
  __device__ static double widen(unsigned bits) {
    return __hiloint2double(static_cast<int>(bits >> 3), static_cast<int>(bits << 29));
  }
};

template <>
struct Numbers<Storage::bfloat16> {
  using Compute = float;
  static constexpr int per_group = 8;
  static constexpr double scale = 1;

  __device__ static void unpack(const uint4& group, float (&x)[per_group]) {
    const unsigned words[4] = {group.x, group.y, group.z, group.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[2 * i] = __uint_as_float(words[i] << 16);
      x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000U);
    }
  }
};

}  // namespace fedsinkhorn::cuda
