// What the kernels on the tensor cores share.
#pragma once

#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/online_exp2.cuh"
#include "backend/cuda/online_job.cuh"
#include "backend/cuda/online_ptx.cuh"
#include "device/runtime.hpp"

namespace fedsinkhorn::cuda::online {

/// Where a lane's part of a 16 x 8 result lies: rows `row` and row + 8, columns `column` and column + 1.
struct LanePlace {
  int row;
  int column;
};
__device__ inline LanePlace lane_place(int lane) { return {lane / 4, lane % 4 * 2}; }

/// Terms a lane has summed in float32 for tiles of 16 rows: [tile][row or row + 8][target][even or odd columns]. With
/// one target the columns have sums of their own, so that fewer additions wait for one another.
template <int Tiles, int Targets>
struct RowSums {
  static constexpr int kChains = Targets == 1 ? 2 : 1;
  float value[Tiles][2][Targets][kChains] = {};

  /// The lane's four terms of a 16 x 8 result, with the weights of its two columns.
  __device__ void add(int tile, int target, const float* terms, float2 weights) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float& sum = value[tile][e / 2][target][e % kChains];
      sum = fmaf(terms[e], e % 2 == 0 ? weights.x : weights.y, sum);
    }
  }

  /// Joins the sums of the four lanes that share a row, and adds them in float64 to out[target * stride + row], or
  /// sets it the first time. Starts again from zero.
  __device__ void flush(double* out, std::size_t stride, int lane, bool first) {
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int k = 0; k < Targets; ++k) {
          double sum = 0;
#pragma unroll
          for (float& chain : value[tile][half][k]) {
            sum += chain;
            chain = 0;
          }
          sum += __shfl_xor_sync(~0u, sum, 1);
          sum += __shfl_xor_sync(~0u, sum, 2);
          double& place = out[static_cast<std::size_t>(k) * stride + tile * 16 + half * 8 + lane_place(lane).row];
          if (lane % 4 == 0) place = first ? sum : place + sum;
        }
      }
    }
  }
};

/// For a ring of stages that one thread has filled and all warps empty. All threads of the block.
template <int Warps, int Stages>
__device__ __forceinline__ void make_barriers(Barrier (&full)[Stages], Barrier (&empty)[Stages]) {
  if (threadIdx.x == 0) {
    for (int s = 0; s < Stages; ++s) {
      init(&full[s], 1);
      init(&empty[s], Warps * kArrivalsOfWarp);
    }
    publish_barriers();
  }
  __syncthreads();
}

/// Two neighbouring numbers, the first at an even place.
__device__ inline float2 pair_at(const float* numbers) { return *reinterpret_cast<const float2*>(numbers); }

}  // namespace fedsinkhorn::cuda::online
