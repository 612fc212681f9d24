// Tiles for the float64 tensor cores of sm_90, with a kernel stored as float64 or float32 and sums in float64.
#pragma once

#include "backend/cuda/tile_product.cuh"

namespace fedsinkhorn::cuda {

/// Copies x as float64, one step after the other.
template <class Tile>
class DoubleXLoader {
 public:
  __device__ explicit DoubleXLoader(const ProductPlan& plan)
      : plan_(plan), wide_(plan.x_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(plan.x) % 16 == 0) {
    constexpr int panel_chunks = Tile::panel / 2;
    const int chunk = chunk_of_thread();
    to_ = static_cast<std::uint32_t>(chunk / panel_chunks * Tile::x_panel_bytes + row_of_thread() * Tile::x_row_bytes +
                                     ((chunk % panel_chunks) ^ Tile::x_swap(row_of_thread())) * 16);
  }

  __device__ void enter(const TilePart& part) {
    const int target = part.target_tile * Tile::targets + row_of_thread();
    const int k = (part.segment * plan_.steps + part.begin) * Tile::depth + chunk_of_thread() * 2;
    targets_left_ = plan_.targets - target;
    length_left_ = plan_.length - k;
    from_ = static_cast<const double*>(plan_.x) + static_cast<std::size_t>(target) * plan_.x_stride + k;
  }
  __device__ void end() { targets_left_ = 0; }

  __device__ void load(std::uint32_t stage) {
    std::uint32_t to = stage + to_;
    const double* from = from_;
    const int first = length_left_ > 0 ? 8 : 0;
    const int second = length_left_ > 1 ? 8 : 0;
#pragma unroll
    for (int row = 0; row < Tile::targets; row += rows_at_once) {
      const bool there = row < targets_left_;
      if (wide_) {
        copy_async<16>(to, from, there ? first + second : 0);
      } else {
        copy_async<8>(to, from, there ? first : 0);
        copy_async<8>(to + 8, from + 1, there ? second : 0);
      }
      from += plan_.x_stride * rows_at_once;
      to += rows_at_once * Tile::x_row_bytes;
    }
    from_ += Tile::depth;
    length_left_ -= Tile::depth;
  }

 private:
  static constexpr int chunks = Tile::depth / 2;
  static constexpr int rows_at_once = Tile::threads / chunks;
  static_assert(rows_at_once % 4 == 0, "x_swap is the same for all rows of a thread");

  static __device__ int row_of_thread() { return static_cast<int>(threadIdx.x) / chunks; }
  static __device__ int chunk_of_thread() { return static_cast<int>(threadIdx.x) % chunks; }

  const ProductPlan& plan_;
  const bool wide_;  ///< two entries can be copied at once
  std::uint32_t to_;
  int targets_left_ = 0, length_left_ = 0;  ///< from here on
  const double* from_ = nullptr;
};

/// c += A B for 16 x 8 times 8 x 8.
__device__ inline void multiply_add(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

template <class StoredAs, bool is_transposed, int tile_targets>
struct DoubleTile : TileShape<StoredAs, is_transposed, tile_targets, 32, 16, 8> {
  using Shape = TileShape<StoredAs, is_transposed, tile_targets, 32, 16, 8>;
  using Number = double;
  using Stored = StoredAs;
  using XLoader = DoubleXLoader<DoubleTile>;
  using Shape::k_panel_bytes, Shape::k_row_bytes, Shape::output_blocks, Shape::target_blocks, Shape::transposed;
  static constexpr int x_row_bytes = Shape::panel * 8;
  static constexpr int x_panel_bytes = Shape::targets * x_row_bytes;
  static constexpr int entry = static_cast<int>(sizeof(Stored));

  static __device__ int x_swap(int row) { return transposed ? row & 1 : (row & 3) * 2; }
  static __device__ int k_swap(int row) {
    if constexpr (transposed) return ((row >> 2) & 3) * 2;
    return sizeof(Stored) == 8 ? (row & 3) * 2 : (row >> 1) & 3;
  }
  /// Output of a block of 16 that thread group `group` has in its first or second pair of sums.
  static __device__ int output_of(int group, int second) {
    return transposed ? group * 2 + second : group + second * 8;
  }

  template <class Sums, class Meanwhile>
  static __device__ void multiply(Sums& sums, const std::byte* stage, int target0, int output0, Meanwhile&& meanwhile) {
#pragma unroll
    for (int half = 0; half < 2 * Shape::depth / Shape::panel; ++half) {
      multiply_half(sums, stage + half / 2 * x_panel_bytes, stage + Shape::x_bytes + half / 2 * k_panel_bytes, target0,
                    output0, half % 2);
      if (half == 0) meanwhile();
    }
  }

 private:
  template <class T>
  struct alignas(sizeof(T) * 2) Two {
    T x[2];
  };

  template <class T>
  static __device__ T read(const std::byte* shared) {
    return *reinterpret_cast<const T*>(shared);
  }

  /// Half a panel: 8 of the sum. Thread 4 group + quarter holds, for its own two k of the tensor core, two outputs and
  /// one target of each block. Which panel entries those k are is free, as long as both operands agree: chosen to suit
  /// shared memory and neighbouring registers.
  template <class Sums>
  static __device__ void multiply_half(Sums& sums, const std::byte* x_panel, const std::byte* k_panel, int target0,
                                       int output0, int half) {
    const int group = static_cast<int>(threadIdx.x) % 32 / 4;
    const int quarter = static_cast<int>(threadIdx.x) % 4;
    double b[target_blocks][2];
#pragma unroll
    for (int j = 0; j < target_blocks; ++j) {
      const std::byte* row = x_panel + (target0 + j * 8 + group) * x_row_bytes;
      if constexpr (transposed) {  // entries 4 quarter + 2 half and the next one
        const auto two = read<Two<double>>(row + ((quarter * 2 + half) ^ x_swap(group)) * 16);
        b[j][0] = two.x[0];
        b[j][1] = two.x[1];
      } else {  // entries quarter + 8 half and quarter + 8 half + 4
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          b[j][e] = read<double>(row + (((half * 2 + e) * 2) ^ x_swap(group)) * 16 + quarter * 8);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < output_blocks; ++i) {
      double a[4];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if constexpr (transposed) {  // outputs 2 group and the next one
          const int byte = (output0 + i * 16 + group * 2) * entry;
          const auto two =
              read<Two<Stored>>(k_panel + (quarter * 4 + half * 2 + e) * k_row_bytes + (byte ^ quarter * 32));
          a[e * 2] = static_cast<double>(two.x[0]);
          a[e * 2 + 1] = static_cast<double>(two.x[1]);
        } else {  // outputs group and group + 8
          const int place = ((half * 2 + e) * 4 * entry ^ k_swap(group) * 16) + quarter * entry;
          const std::byte* row = k_panel + (output0 + i * 16 + group) * k_row_bytes + place;
          a[e * 2] = static_cast<double>(read<Stored>(row));
          a[e * 2 + 1] = static_cast<double>(read<Stored>(row + 8 * k_row_bytes));
        }
      }
#pragma unroll
      for (int j = 0; j < target_blocks; ++j) multiply_add(sums[i][j], a, b[j]);
    }
  }
};

}  // namespace fedsinkhorn::cuda
