// Tiles for the bfloat16 tensor cores, with a kernel stored as bfloat16 and sums to float32 accuracy.
//
// x = x1 + x2 + x3 with three bfloat16 terms of 8 bits each, so to 24 bits; products of bfloat16 are exact in float32.
// The tensor cores do not round their sums to nearest, so these are kept short and then added to a total that is.
#pragma once

#include <cuda_bf16.h>

#include "backend/cuda/tile_product.cuh"

namespace fedsinkhorn::cuda {

inline constexpr int kSplitTerms = 3;

/// Copies the terms of x, one step after the other.
template <class Tile>
class TermsLoader {
 public:
  __device__ explicit TermsLoader(const ProductPlan& plan) : plan_(plan) {
    to_ = static_cast<std::uint32_t>(row_of_thread() * Tile::x_row_bytes +
                                     (chunk_of_thread() ^ Tile::swap(row_of_thread())) * 16);
  }

  __device__ void enter(const TilePart& part) {
    const int target = part.target_tile * Tile::targets + row_of_thread();
    const int k = (part.segment * plan_.steps + part.begin) * Tile::depth + chunk_of_thread() * 8;
    targets_left_ = plan_.targets - target;
    length_left_ = static_cast<int>(plan_.x_stride) - k;
    from_ = static_cast<const __nv_bfloat16*>(plan_.x) + static_cast<std::size_t>(target) * plan_.x_stride + k;
  }
  __device__ void end() { targets_left_ = 0; }

  __device__ void load(std::uint32_t stage) {
    std::uint32_t to = stage + to_;
    const int bytes = length_left_ > 0 ? 16 : 0;
    const __nv_bfloat16* term_from = from_;
#pragma unroll
    for (int term = 0; term < kSplitTerms; ++term) {
      const __nv_bfloat16* from = term_from;
#pragma unroll
      for (int row = 0; row < Tile::targets; row += rows_at_once) {
        copy_async<16>(to, from, row < targets_left_ ? bytes : 0);
        from += plan_.x_stride * rows_at_once;
        to += rows_at_once * Tile::x_row_bytes;
      }
      term_from += plan_.x_stride * static_cast<std::size_t>(plan_.targets);
    }
    from_ += Tile::depth;
    length_left_ -= Tile::depth;
  }

 private:
  static constexpr int chunks = Tile::x_row_bytes / 16;
  static constexpr int rows_at_once = Tile::threads / chunks;
  static_assert(rows_at_once % 8 == 0, "the swap is the same for all rows of a thread");
  static_assert(Tile::targets % rows_at_once == 0);

  static __device__ int row_of_thread() { return static_cast<int>(threadIdx.x) / chunks; }
  static __device__ int chunk_of_thread() { return static_cast<int>(threadIdx.x) % chunks; }

  const ProductPlan& plan_;
  std::uint32_t to_;
  int targets_left_ = 0, length_left_ = 0;  ///< from here on
  const __nv_bfloat16* from_ = nullptr;
};

/// Four 8 x 8 matrices; threads 8 i to 8 i + 7 have the row addresses of matrix i.
template <bool transposed>
__device__ inline void load_matrices(std::uint32_t (&to)[4], std::uint32_t address) {
  if constexpr (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
  }
}

/// c += A B for 16 x 16 times 16 x 8.
__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <bool is_transposed, int tile_targets>
struct Bfloat16Tile : TileShape<__nv_bfloat16, is_transposed, tile_targets, 64, 64, 2 * kSplitTerms> {
  using Shape = TileShape<__nv_bfloat16, is_transposed, tile_targets, 64, 64, 2 * kSplitTerms>;
  using Number = float;
  using XLoader = TermsLoader<Bfloat16Tile>;
  using Shape::k_row_bytes, Shape::output_blocks, Shape::target_blocks, Shape::transposed;
  static constexpr int x_row_bytes = Shape::depth * 2;
  static constexpr int x_term_bytes = Shape::targets * x_row_bytes;

  /// The chunks of one column in eight rows are in different banks.
  static __device__ int swap(int row) { return row % 8; }
  static __device__ int k_swap(int row) { return swap(row); }
  /// Output of a block of 16 that thread group `group` has in its first or second pair of sums.
  static __device__ int output_of(int group, int second) { return group + second * 8; }

  template <class Sums, class Meanwhile>
  static __device__ void multiply(Sums& totals, const std::byte* stage, int target0, int output0,
                                  Meanwhile&& meanwhile) {
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(stage));
    float sums[output_blocks][target_blocks][4] = {};
#pragma unroll
    for (int slice = 0; slice < Shape::depth / 16; ++slice) {
      multiply_slice(sums, address, target0, output0, slice);
      if (slice == 0) meanwhile();
    }
#pragma unroll
    for (int i = 0; i < output_blocks; ++i) {
#pragma unroll
      for (int j = 0; j < target_blocks; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) totals[i][j][e] += sums[i][j][e];
      }
    }
  }

 private:
  /// Entries 16 `slice` to 16 `slice` + 15 of the step; smallest term first.
  template <class Sums>
  static __device__ void multiply_slice(Sums& sums, std::uint32_t stage, int target0, int output0, int slice) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row = lane % 8;
    const int odd = lane / 8 % 2;  // this thread's address belongs to matrix 1 or 3
    const int late = lane / 16;    // to matrix 2 or 3
    const auto at = [&](std::uint32_t base, int line, int line_bytes, int chunk) {
      return base + static_cast<std::uint32_t>(line * line_bytes + (chunk ^ swap(row)) * 16);
    };
    const std::uint32_t kernel = stage + Shape::x_bytes;
    std::uint32_t a[output_blocks][4];  // (output, k), (output + 8, k), (output, k + 8), (output + 8, k + 8)
#pragma unroll
    for (int i = 0; i < output_blocks; ++i) {
      const int output = output0 + i * 16;
      load_matrices<transposed>(a[i], transposed
                                          ? at(kernel, slice * 16 + late * 8 + row, k_row_bytes, output / 8 + odd)
                                          : at(kernel, output + odd * 8 + row, k_row_bytes, slice * 2 + late));
    }
#pragma unroll
    for (int term = kSplitTerms - 1; term >= 0; --term) {
#pragma unroll
      for (int pair = 0; pair < target_blocks / 2; ++pair) {
        std::uint32_t b[4];  // (target, k), (target, k + 8), (target + 8, k), (target + 8, k + 8)
        load_matrices<false>(b, at(stage + static_cast<std::uint32_t>(term * x_term_bytes),
                                   target0 + pair * 16 + late * 8 + row, x_row_bytes, slice * 2 + odd));
#pragma unroll
        for (int i = 0; i < output_blocks; ++i) {
          multiply_add(sums[i][pair * 2], a[i], b[0], b[1]);
          multiply_add(sums[i][pair * 2 + 1], a[i], b[2], b[3]);
        }
      }
    }
  }
};

}  // namespace fedsinkhorn::cuda
