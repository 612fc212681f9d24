// Matrix products on the float64 tensor cores of sm_90, with a kernel stored as float64 or float32.
#pragma once

#include <algorithm>

#include "backend/cuda/tile_schedule.cuh"

namespace fedsinkhorn::cuda {

inline constexpr int product_threads = 256;

/// A block's tile: tile_targets x 128 outputs, in steps of 32 along the sum, each of two panels of 16. Eight warps. The
/// kernel is the tensor core's first operand (16 outputs), x the second (8 targets).
template <class Stored, bool transposed, int tile_targets>
struct DoubleTile {
  static constexpr int outputs = 128;
  static constexpr int depth = 32;
  static constexpr int panel = 16;
  static constexpr int warps_of_targets = tile_targets / 32;
  static constexpr int warps_of_outputs = 8 / warps_of_targets;
  static constexpr int warp_outputs = outputs / warps_of_outputs;
  static constexpr int output_blocks = warp_outputs / 16;
  static constexpr int target_blocks = 4;
  static constexpr int sums = output_blocks * target_blocks * 4;  ///< per thread

  static constexpr int x_panel_bytes = tile_targets * panel * 8;
  static constexpr int x_bytes = x_panel_bytes * depth / panel;
  /// Of one row of the kernel's tile in shared memory: a panel's worth of a kernel row, or the tile's width of it.
  static constexpr int k_row_bytes = static_cast<int>(sizeof(Stored)) * (transposed ? outputs : panel);
  static constexpr int k_panel_bytes = k_row_bytes * (transposed ? panel : outputs);
  static constexpr int k_bytes = k_panel_bytes * depth / panel;
  static constexpr int stage_bytes = x_bytes + k_bytes;
  static constexpr int stages = std::min(6, 220 * 1024 / stage_bytes);
  static constexpr int shared_bytes = stages * stage_bytes;
  static_assert(stages >= 3);

  // Operands lie in shared memory in 16-byte chunks, each row's in an order of its own (chunk ^ swap), so that the
  // loads of a fragment meet no bank twice.
  static __device__ int x_swap(int row) { return transposed ? row & 1 : (row & 3) * 2; }
  static __device__ int k_swap(int row) {
    if constexpr (transposed) return ((row >> 2) & 3) * 2;
    return sizeof(Stored) == 8 ? (row & 3) * 2 : (row >> 1) & 3;
  }
};

/// Copies the operands of one step after the other into shared memory.
template <class Stored, bool transposed, int tile_targets>
class Loader {
 public:
  using Tile = DoubleTile<Stored, transposed, tile_targets>;

  __device__ Loader(const ProductPlan& plan, const Share& share)
      : plan_(plan), share_(share), wide_(plan.length % 2 == 0 && reinterpret_cast<std::uintptr_t>(plan.x) % 16 == 0) {
    const int x_row = thread() / 16;
    const int x_chunk = thread() % 16;
    x_to_ = static_cast<std::uint32_t>(x_chunk / 8 * Tile::x_panel_bytes + x_row * 128 +
                                       ((x_chunk % 8) ^ Tile::x_swap(x_row)) * 16);
    const int row = thread() / chunks;
    const int chunk = thread() % chunks;
    constexpr int panel_chunks = transposed ? chunks : Tile::k_row_bytes / 16;
    k_to_ = static_cast<std::uint32_t>(Tile::x_bytes + chunk / panel_chunks * Tile::k_panel_bytes +
                                       row * Tile::k_row_bytes + ((chunk % panel_chunks) ^ Tile::k_swap(row)) * 16);
    enter();
  }

  /// The next step, if there is one, into that stage.
  __device__ void load(std::uint32_t stage) {
    if (index_ < share_.parts()) {
      load_x(stage + x_to_);
      load_k(stage + k_to_);
      advance();
    }
    close_copies();
  }

 private:
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(Stored));
  static constexpr int chunks = (transposed ? Tile::outputs : Tile::depth) / per_chunk;  ///< of one kernel row
  static constexpr int rows_at_once = product_threads / chunks;
  static constexpr int row_turns = (transposed ? Tile::depth : Tile::outputs) / rows_at_once;
  static_assert(transposed || rows_at_once % 8 == 0, "the swap is the same for all rows of a thread");

  static __device__ int thread() { return static_cast<int>(threadIdx.x); }

  __device__ void enter() {
    const TilePart part = share_.part(plan_, index_);
    steps_left_ = part.end - part.begin;
    const int k0 = (part.segment * plan_.steps + part.begin) * Tile::depth;
    const int target = part.target_tile * tile_targets + thread() / 16;
    const int k = k0 + thread() % 16 * 2;
    targets_left_ = plan_.targets - target;
    length_left_ = plan_.length - k;
    x_from_ = plan_.x + static_cast<std::ptrdiff_t>(target) * plan_.length + k;
    const int output0 = part.output_tile * Tile::outputs;
    const int row = (transposed ? k0 : output0) + thread() / chunks;
    const int entry = (transposed ? output0 : k0) + thread() % chunks * per_chunk;
    rows_left_ = (transposed ? plan_.length : plan_.outputs) - row;
    entries_left_ = static_cast<int>(plan_.stride) - entry;
    k_from_ = static_cast<const Stored*>(plan_.kernel) + static_cast<std::size_t>(row) * plan_.stride + entry;
  }

  __device__ void advance() {
    if (--steps_left_ == 0) {
      if (++index_ < share_.parts()) enter();
      return;
    }
    x_from_ += Tile::depth;
    length_left_ -= Tile::depth;
    if constexpr (transposed) {
      k_from_ += Tile::depth * plan_.stride;
      rows_left_ -= Tile::depth;
    } else {
      k_from_ += Tile::depth;
      entries_left_ -= Tile::depth;
    }
  }

  __device__ void load_x(std::uint32_t to) const {
    const double* from = x_from_;
    const std::ptrdiff_t turn = static_cast<std::ptrdiff_t>(plan_.length) * 16;
    const int first = length_left_ > 0 ? 8 : 0;
    const int second = length_left_ > 1 ? 8 : 0;
#pragma unroll
    for (int i = 0; i < tile_targets / 16; ++i, from += turn, to += 16 * 128) {
      const bool there = i * 16 < targets_left_;
      if (wide_) {
        copy_async<16>(to, from, there ? first + second : 0);
      } else {
        copy_async<8>(to, from, there ? first : 0);
        copy_async<8>(to + 8, from + 1, there ? second : 0);
      }
    }
  }

  __device__ void load_k(std::uint32_t to) const {
    const Stored* from = k_from_;
    const std::size_t turn = plan_.stride * rows_at_once;
    const int bytes = entries_left_ > 0 ? 16 : 0;
    const int swapped = Tile::k_swap(thread() / chunks) * 16;
#pragma unroll
    for (int i = 0; i < row_turns; ++i, from += turn) {
      // Rows of a thread are 8 apart or more, or else lie along the sum, where the swap changes from row to row.
      const int swap = transposed ? Tile::k_swap(thread() / chunks + i * rows_at_once) * 16 : swapped;
      const std::uint32_t row = static_cast<std::uint32_t>(i * rows_at_once * Tile::k_row_bytes);
      copy_async<16>(((to ^ static_cast<std::uint32_t>(swapped)) ^ static_cast<std::uint32_t>(swap)) + row, from,
                     i * rows_at_once < rows_left_ ? bytes : 0);
    }
  }

  const ProductPlan& plan_;
  const Share& share_;
  const bool wide_;  ///< x can be copied two entries at once
  std::uint32_t x_to_, k_to_;
  int index_ = 0;
  int steps_left_ = 0;
  int targets_left_ = 0, length_left_ = 0;  ///< of x from here on
  int rows_left_ = 0, entries_left_ = 0;    ///< of the stored kernel
  const double* x_from_ = nullptr;
  const Stored* k_from_ = nullptr;
};

__device__ inline double widen(double x) { return x; }
__device__ inline double widen(float x) { return static_cast<double>(x); }

template <class T>
struct alignas(sizeof(T) * 2) Two {
  T x[2];
};

template <class T>
__device__ inline T read(const std::byte* shared) {
  return *reinterpret_cast<const T*>(shared);
}

/// c += A B for 16 x 8 times 8 x 8.
__device__ inline void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

/// Adds the products of half a panel (8 of the sum) to the warp's sums. Thread 4 group + quarter holds, for the two k
/// of the tensor core that are its own, two outputs and one target of each block. Which entries of the panel those k
/// are is free, as long as both operands agree: what lies best in shared memory and in neighbouring registers.
template <class Stored, bool transposed, int tile_targets, class Sums>
__device__ inline void multiply_half(Sums& sums, const std::byte* x_panel, const std::byte* k_panel, int target0,
                                     int output0, int half) {
  using Tile = DoubleTile<Stored, transposed, tile_targets>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int group = lane / 4;
  const int quarter = lane % 4;
  double b[Tile::target_blocks][2];
#pragma unroll
  for (int j = 0; j < Tile::target_blocks; ++j) {
    const int row = target0 + j * 8 + group;
    if constexpr (transposed) {  // entries 4 quarter + 2 half and the next one
      const auto two = read<Two<double>>(x_panel + row * 128 + ((quarter * 2 + half) ^ Tile::x_swap(group)) * 16);
      b[j][0] = two.x[0];
      b[j][1] = two.x[1];
    } else {  // entries quarter + 8 half and quarter + 8 half + 4
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        b[j][e] = read<double>(x_panel + row * 128 + (((half * 2 + e) * 2) ^ Tile::x_swap(group)) * 16 + quarter * 8);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < Tile::output_blocks; ++i) {
    double a[4];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if constexpr (transposed) {  // outputs 2 group and the next one
        const int byte = (output0 + i * 16 + group * 2) * static_cast<int>(sizeof(Stored));
        const auto two =
            read<Two<Stored>>(k_panel + (quarter * 4 + half * 2 + e) * Tile::k_row_bytes + (byte ^ quarter * 32));
        a[e * 2] = widen(two.x[0]);
        a[e * 2 + 1] = widen(two.x[1]);
      } else {  // outputs group and group + 8
        const int byte = (half * 2 + e) * 4 * static_cast<int>(sizeof(Stored));
        const int place = (byte ^ Tile::k_swap(group) * 16) + quarter * static_cast<int>(sizeof(Stored));
        a[e * 2] = widen(read<Stored>(k_panel + (output0 + i * 16 + group) * Tile::k_row_bytes + place));
        a[e * 2 + 1] = widen(read<Stored>(k_panel + (output0 + i * 16 + 8 + group) * Tile::k_row_bytes + place));
      }
    }
#pragma unroll
    for (int j = 0; j < Tile::target_blocks; ++j) multiply(sums[i][j], a, b[j]);
  }
}

template <class Stored, bool transposed, int tile_targets>
__global__ void __launch_bounds__(product_threads, 1) double_product(const __grid_constant__ ProductPlan plan) {
  using Tile = DoubleTile<Stored, transposed, tile_targets>;
  extern __shared__ __align__(128) std::byte shared[];
  const auto shared_address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int target0 = warp % Tile::warps_of_targets * 32;
  const int output0 = warp / Tile::warps_of_targets * Tile::warp_outputs;
  constexpr int begun_sums = product_threads * Tile::sums;
  double* begun = static_cast<double*>(plan.begun);

  const Share share(plan);
  Loader<Stored, transposed, tile_targets> loader(plan, share);
  const auto load = [&](int stage) {
    loader.load(shared_address + static_cast<std::uint32_t>(stage * Tile::stage_bytes));
  };
  for (int stage = 0; stage < Tile::stages - 1; ++stage) load(stage);

  double sums[Tile::output_blocks][Tile::target_blocks][4];
  const auto each_sum = [&](auto&& action) {
#pragma unroll
    for (int i = 0; i < Tile::output_blocks; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::target_blocks; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) action(sums[i][j][e], i, j, e);
      }
    }
  };
  const auto place = [&](int i, int j, int e) {
    return ((i * Tile::target_blocks + j) * 4 + e) * product_threads + thread;
  };

  int stage = 0;
  for (int index = 0; index < share.parts(); ++index) {
    const TilePart part = share.part(plan, index);
    if (part.begin > 0) {
      take_over(plan.ready);
      const double* from = begun + static_cast<std::size_t>(blockIdx.x - 1) * begun_sums;
      each_sum([&](double& sum, int i, int j, int e) { sum = __ldcg(from + place(i, j, e)); });
    } else {
      each_sum([&](double& sum, int, int, int) { sum = 0; });
    }
    for (int step = part.begin; step < part.end; ++step) {
      await_copies<Tile::stages - 2>();
      __syncthreads();  // everyone's copies of this stage are there, and everyone is done with the one before
      const std::byte* base = shared + stage * Tile::stage_bytes;
#pragma unroll
      for (int panel = 0; panel < Tile::depth / Tile::panel; ++panel) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          multiply_half<Stored, transposed, tile_targets>(sums, base + panel * Tile::x_panel_bytes,
                                                          base + Tile::x_bytes + panel * Tile::k_panel_bytes, target0,
                                                          output0, half);
        }
        // Not at the start: the tensor cores are to have work meanwhile.
        if (panel == 0) load(stage == 0 ? Tile::stages - 1 : stage - 1);
      }
      stage = stage + 1 == Tile::stages ? 0 : stage + 1;
    }
    if (part.end == plan.steps) {
      const int group = thread % 32 / 4;
      const int quarter = thread % 4;
      const auto outputs = static_cast<std::size_t>(plan.outputs);
      double* y = plan.y + static_cast<std::size_t>(part.segment) * plan.targets * outputs;
      each_sum([&](double& sum, int i, int j, int e) {
        const int target = part.target_tile * tile_targets + target0 + j * 8 + quarter * 2 + e % 2;
        const int within = transposed ? group * 2 + e / 2 : group + e / 2 * 8;
        const int output = part.output_tile * Tile::outputs + output0 + i * 16 + within;
        if (target < plan.targets && output < plan.outputs) y[target * outputs + output] = sum;
      });
    } else {
      double* to = begun + static_cast<std::size_t>(blockIdx.x) * begun_sums;
      each_sum([&](double& sum, int i, int j, int e) { __stcg(to + place(i, j, e), sum); });
      hand_over(plan.ready);
    }
  }
  await_copies<0>();
}

}  // namespace fedsinkhorn::cuda
