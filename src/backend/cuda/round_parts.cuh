// A block's part of a round's errors and range.
#pragma once

#include <cuda_runtime.h>

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn::cuda {

struct RoundPart {
  double error = 0;
  double least = __builtin_huge_val();
  double greatest = -__builtin_huge_val();

  /// Adds a residual and the product it comes from.
  __device__ void meet(Norm norm, double residual, double product) {
    add_error(norm, norm == Norm::l2 ? residual * residual : fabs(residual));
    widen(product, product);
  }
  __device__ void join(Norm norm, const RoundPart& other) {
    add_error(norm, other.error);
    widen(other.least, other.greatest);
  }
  /// Joins the whole warp; valid in every lane.
  __device__ void join_warp(Norm norm) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      RoundPart other;
      other.error = __shfl_xor_sync(~0U, error, distance);
      other.least = __shfl_xor_sync(~0U, least, distance);
      other.greatest = __shfl_xor_sync(~0U, greatest, distance);
      join(norm, other);
    }
  }

 private:
  __device__ void add_error(Norm norm, double more) {
    error = norm == Norm::linf ? (more > error || isnan(more) ? more : error) : error + more;
  }
  /// NaN stays.
  __device__ void widen(double low, double high) {
    if (low < least || isnan(low)) least = low;
    if (high > greatest || isnan(high)) greatest = high;
  }
};

}  // namespace fedsinkhorn::cuda
