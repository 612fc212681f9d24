// What the kernels on the tensor cores share.
#pragma once

#include "backend/cuda/online_exp2.cuh"
#include "backend/cuda/online_job.cuh"
#include "backend/cuda/online_ptx.cuh"
#include "backend/cuda/runtime.hpp"

namespace fedsinkhorn::cuda::online {

/// Where a lane's part of a 16 x 8 result lies: rows `row` and row + 8, columns `column` and column + 1.
struct LanePlace {
  int row;
  int column;
};
__device__ inline LanePlace lane_place(int lane) { return {lane / 4, lane % 4 * 2}; }

/// Terms a lane has summed in float32 for two tiles of 16 rows: [tile][row or row + 8][target].
template <int Targets>
struct RowSums {
  float value[2][2][Targets] = {};

  /// The terms of two 16 x 8 results, one below the other. weights: of the lane's two columns.
  __device__ void add(int target, const float (&upper)[4], const float (&lower)[4], const float* weights) {
    const float2 w = *reinterpret_cast<const float2*>(weights);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float& above = value[0][e / 2][target];
      float& below = value[1][e / 2][target];
      above = fmaf(upper[e], e % 2 == 0 ? w.x : w.y, above);
      below = fmaf(lower[e], e % 2 == 0 ? w.x : w.y, below);
    }
  }

  /// Joins the sums of the four lanes that share a row, and adds them in float64 to out[target * stride + row], or
  /// sets it the first time. Starts again from zero.
  __device__ void flush(double* out, std::size_t stride, int lane, bool first) {
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int k = 0; k < Targets; ++k) {
          double sum = value[tile][half][k];
          sum += __shfl_xor_sync(~0u, sum, 1);
          sum += __shfl_xor_sync(~0u, sum, 2);
          double& place = out[static_cast<std::size_t>(k) * stride + tile * 16 + half * 8 + lane_place(lane).row];
          if (lane % 4 == 0) place = first ? sum : place + sum;
          value[tile][half][k] = 0;
        }
      }
    }
  }
};

/// Products of a tile of 16 rows with one of 16 columns over one slice: results for columns 0 to 7 and 8 to 15.
__device__ inline void multiply_add(float (&d)[2][4], const uint4& a, const uint4& b) {
  multiply_add(d[0], a, b.x, b.y, d[0]);
  multiply_add(d[1], a, b.z, b.w, d[1]);
}

/// Over slices [0, Slices) of both sides. Split: hi.hi + hi.lo + lo.hi (see online_fragments.cuh).
template <int Slices, bool Split>
__device__ void multiply_add(float (&d)[2][4], const uint4 (&a)[Slices], const uint4 (&b)[Slices]) {
#pragma unroll
  for (int s = 0; s < Slices; ++s) {
    multiply_add(d, a[s], b[s - (Split ? s % 2 : 0)]);
    if constexpr (Split) {
      if (s % 2 == 0) multiply_add(d, a[s], b[s + 1]);
    }
  }
}

}  // namespace fedsinkhorn::cuda::online
