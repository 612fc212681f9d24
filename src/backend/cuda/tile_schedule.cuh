// Which block multiplies which part of a product.
#pragma once

#include <cstddef>

namespace fedsinkhorn::cuda {

/// y = x K' or x K in tiles of targets x outputs. The sum over `length` is cut into `segments`, each of `steps` steps
/// of the tile's depth. Each segment is summed from its first to its last step whichever blocks do it, so the order of
/// summation depends only on segments and length, not on the number of multiprocessors.
struct ProductPlan {
  const void* x = nullptr;       ///< row by row, in the tile's format
  std::size_t x_stride = 0;      ///< elements from one target to the next
  const void* kernel = nullptr;  ///< stored row by row
  std::size_t stride = 0;        ///< of the stored kernel; a multiple of 16 bytes
  double* y = nullptr;           ///< segments x targets x outputs
  int targets = 0;
  int outputs = 0;
  int length = 0;
  int target_tiles = 0;
  int output_tiles = 0;
  int segments = 1;
  int steps = 0;
  void* begun = nullptr;  ///< a tile of sums per block, for the next block to continue
  int* ready = nullptr;   ///< per block: 1 if that tile is available; 0 between launches
};

/// Part of a tile: steps begin..end of a segment.
struct TilePart {
  int target_tile, output_tile, segment;
  int begin, end;
};

/// The parts of one block: an equal share of all steps of all tiles, so that no multiprocessor idles. A share begins
/// and ends inside tiles. Its last tile comes first: the sums begun there are ready long before the next block, which
/// finishes them, needs them. Shares are at least a tile long, so at most two blocks meet in a tile.
class Share {
 public:
  __device__ explicit Share(const ProductPlan& plan) {
    const long long tiles = static_cast<long long>(plan.target_tiles) * plan.output_tiles * plan.segments;
    const long long total = tiles * plan.steps;
    const long long first = total * blockIdx.x / gridDim.x;
    const long long last = total * (blockIdx.x + 1) / gridDim.x - 1;
    first_tile_ = static_cast<int>(first / plan.steps);
    last_tile_ = static_cast<int>(last / plan.steps);
    first_step_ = static_cast<int>(first % plan.steps);
    last_step_ = static_cast<int>(last % plan.steps);
  }

  [[nodiscard]] __device__ int parts() const { return last_tile_ - first_tile_ + 1; }
  [[nodiscard]] __device__ TilePart part(const ProductPlan& plan, int index) const {
    const int tile = last_tile_ - index;
    return {tile % plan.target_tiles, tile / plan.target_tiles % plan.output_tiles,
            tile / plan.target_tiles / plan.output_tiles, tile == first_tile_ ? first_step_ : 0,
            tile == last_tile_ ? last_step_ + 1 : plan.steps};
  }

 private:
  int first_tile_, last_tile_, first_step_, last_step_;
};

/// The whole block has written the sums it began; the next block may use them.
__device__ inline void hand_over(int* ready) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(ready + blockIdx.x) : "memory");
}

/// Waits for the previous block. Resets the flag to 0 for the next launch.
__device__ inline void take_over(int* ready) {
  if (threadIdx.x == 0) {
    int* flag = ready + blockIdx.x - 1;
    int there = 0;
    while (there == 0) asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(there) : "l"(flag) : "memory");
    *flag = 0;
  }
  __syncthreads();
}

}  // namespace fedsinkhorn::cuda
