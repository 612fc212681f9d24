// A matrix product by tiles: operands flow through stages of shared memory, sums stay in registers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cuda/tile_schedule.cuh"

namespace fedsinkhorn::cuda {

/// A block's tile: tile_targets x 128 outputs, in steps of step_depth along the sum. Eight warps, each with 32 targets.
/// The kernel is the tensor core's first operand (16 outputs), x the second (8 targets). A panel is the part of a step
/// that one row of shared memory holds along the sum.
template <class StoredAs, bool is_transposed, int tile_targets, int step_depth, int panel_depth, int x_entry_bytes>
struct TileShape {
  using Stored = StoredAs;
  static constexpr bool transposed = is_transposed;
  static constexpr int threads = 256;
  static constexpr int targets = tile_targets;
  static constexpr int outputs = 128;
  static constexpr int depth = step_depth;
  static constexpr int panel = panel_depth;
  static constexpr int warps_of_targets = targets / 32;
  static constexpr int warp_outputs = outputs / (8 / warps_of_targets);
  static constexpr int output_blocks = warp_outputs / 16;
  static constexpr int target_blocks = 4;
  static constexpr int sums = output_blocks * target_blocks * 4;  ///< per thread

  static constexpr int x_bytes = targets * depth * x_entry_bytes;
  /// Per row of the kernel's tile: a panel's worth of a kernel row, or the tile's width of it.
  static constexpr int k_row_bytes = static_cast<int>(sizeof(Stored)) * (transposed ? outputs : panel);
  static constexpr int k_panel_bytes = k_row_bytes * (transposed ? panel : outputs);
  static constexpr int stage_bytes = x_bytes + k_panel_bytes * (depth / panel);
  static constexpr int stages = std::min(6, 220 * 1024 / stage_bytes);
  static constexpr int shared_bytes = stages * stage_bytes;
  static_assert(stages >= 3);
};

/// Copies `bytes` (0..size) from global to shared memory and pads with zeros.
template <int size>
__device__ inline void copy_async(std::uint32_t shared, const void* global, int bytes) {
  if constexpr (size == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared), "l"(global), "r"(bytes), "n"(size)
                 : "memory");
  }
}

__device__ inline void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most `open` of this thread's closed groups of copies are in flight.
template <int open>
__device__ inline void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(open) : "memory");
}

/// Copies the kernel's part, one step after the other, in 16-byte chunks. Row i of the tile has them in the order chunk
/// ^ Tile::k_swap(i), so that the loads of a fragment have no bank conflicts.
template <class Tile>
class KernelLoader {
 public:
  __device__ explicit KernelLoader(const ProductPlan& plan) : plan_(plan) {
    constexpr int panel_chunks = Tile::k_row_bytes / 16;
    const int chunk = chunk_of_thread();
    to_ = static_cast<std::uint32_t>(Tile::x_bytes + chunk / panel_chunks * Tile::k_panel_bytes +
                                     row_of_thread() * Tile::k_row_bytes +
                                     ((chunk % panel_chunks) ^ Tile::k_swap(row_of_thread())) * 16);
  }

  __device__ void enter(const TilePart& part) {
    const int k0 = (part.segment * plan_.steps + part.begin) * Tile::depth;
    const int output0 = part.output_tile * Tile::outputs;
    const int row = (Tile::transposed ? k0 : output0) + row_of_thread();
    const int entry = (Tile::transposed ? output0 : k0) + chunk_of_thread() * per_chunk;
    rows_left_ = (Tile::transposed ? plan_.length : plan_.outputs) - row;
    entries_left_ = static_cast<int>(plan_.stride) - entry;
    from_ = static_cast<const Stored*>(plan_.kernel) + static_cast<std::size_t>(row) * plan_.stride + entry;
  }
  __device__ void end() { rows_left_ = 0; }

  __device__ void load(std::uint32_t stage) {
    const std::uint32_t to = stage + to_;
    const int bytes = entries_left_ > 0 ? 16 : 0;
    const Stored* from = from_;
#pragma unroll
    for (int row = 0; row < rows; row += rows_at_once, from += plan_.stride * rows_at_once) {
      const int swap = Tile::k_swap(row_of_thread()) ^ Tile::k_swap(row_of_thread() + row);
      copy_async<16>((to ^ static_cast<std::uint32_t>(swap * 16)) + static_cast<std::uint32_t>(row * Tile::k_row_bytes),
                     from, row < rows_left_ ? bytes : 0);
    }
    if constexpr (Tile::transposed) {
      from_ += Tile::depth * plan_.stride;
      rows_left_ -= Tile::depth;
    } else {
      from_ += Tile::depth;
      entries_left_ -= Tile::depth;
    }
  }

 private:
  using Stored = typename Tile::Stored;
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(Stored));
  static constexpr int chunks = (Tile::transposed ? Tile::outputs : Tile::depth) / per_chunk;  ///< per kernel row
  static constexpr int rows = Tile::transposed ? Tile::depth : Tile::outputs;
  static constexpr int rows_at_once = Tile::threads / chunks;

  static __device__ int row_of_thread() { return static_cast<int>(threadIdx.x) / chunks; }
  static __device__ int chunk_of_thread() { return static_cast<int>(threadIdx.x) % chunks; }

  const ProductPlan& plan_;
  std::uint32_t to_;
  int rows_left_ = 0, entries_left_ = 0;  ///< of the stored kernel, from here on
  const Stored* from_ = nullptr;
};

/// Copies both operands, one step after the other, through all parts of a share.
template <class Tile>
class Loader {
 public:
  __device__ Loader(const ProductPlan& plan, const Share& share)
      : plan_(plan), share_(share), kernel_(plan), x_(plan) {}

  /// Number of steps that can be loaded before the next call; at least one.
  __device__ int steps_ahead() {
    if (steps_left_ == 0) enter();
    return steps_left_;
  }
  /// Loads the next step into that stage; zeros after the last one. No branches: they would make the warp wait for all
  /// pending work of its tensor core.
  __device__ void load(std::uint32_t stage) {
    x_.load(stage);
    kernel_.load(stage);
    close_copies();
    --steps_left_;
  }

 private:
  __device__ void enter() {
    if (index_ == share_.parts()) {
      x_.end();
      kernel_.end();
      steps_left_ = plan_.steps;
      return;
    }
    const TilePart part = share_.part(plan_, index_++);
    x_.enter(part);
    kernel_.enter(part);
    steps_left_ = part.end - part.begin;
  }

  const ProductPlan& plan_;
  const Share& share_;
  KernelLoader<Tile> kernel_;
  typename Tile::XLoader x_;
  int index_ = 0;
  int steps_left_ = 0;
};

/// The product. Tile::multiply adds the products of a step to the warp's sums and calls `meanwhile` early, once the
/// tensor cores have work.
template <class Tile>
__global__ void __launch_bounds__(Tile::threads, 1) tile_product(const __grid_constant__ ProductPlan plan) {
  using Number = typename Tile::Number;
  extern __shared__ __align__(128) std::byte shared[];
  const auto shared_address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int target0 = warp % Tile::warps_of_targets * 32;
  const int output0 = warp / Tile::warps_of_targets * Tile::warp_outputs;
  constexpr std::size_t begun_sums = Tile::threads * Tile::sums;
  Number* begun = static_cast<Number*>(plan.begun);

  const Share share(plan);
  Loader<Tile> loader(plan, share);
  const auto load = [&](int stage) {
    loader.load(shared_address + static_cast<std::uint32_t>(stage * Tile::stage_bytes));
  };
  for (int stage = 0; stage < Tile::stages - 1; ++stage) {
    loader.steps_ahead();
    load(stage);
  }

  Number sums[Tile::output_blocks][Tile::target_blocks][4];
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
    return ((i * Tile::target_blocks + j) * 4 + e) * Tile::threads + thread;
  };

  int stage = 0;
  for (int index = 0; index < share.parts(); ++index) {
    const TilePart part = share.part(plan, index);
    if (part.begin > 0) {
      take_over(plan.ready);
      const Number* from = begun + (blockIdx.x - 1) * begun_sums;
      each_sum([&](Number& sum, int i, int j, int e) { sum = __ldcg(from + place(i, j, e)); });
    } else {
      each_sum([&](Number& sum, int, int, int) { sum = 0; });
    }
    for (int step = part.begin; step < part.end;) {
      const int run = min(part.end - step, loader.steps_ahead());
      step += run;
      for (int i = 0; i < run; ++i) {
        await_copies<Tile::stages - 2>();
        __syncthreads();  // all copies of this stage have arrived, and all threads have finished with the previous one
        Tile::multiply(sums, shared + stage * Tile::stage_bytes, target0, output0,
                       [&] { load(stage == 0 ? Tile::stages - 1 : stage - 1); });
        stage = stage + 1 == Tile::stages ? 0 : stage + 1;
      }
    }
    if (part.end == plan.steps) {
      const int group = thread % 32 / 4;
      const int quarter = thread % 4;
      const auto outputs = static_cast<std::size_t>(plan.outputs);
      double* y = plan.y + static_cast<std::size_t>(part.segment) * plan.targets * outputs;
      each_sum([&](Number& sum, int i, int j, int e) {
        const int target = part.target_tile * Tile::targets + target0 + j * 8 + quarter * 2 + e % 2;
        const int output = part.output_tile * Tile::outputs + output0 + i * 16 + Tile::output_of(group, e / 2);
        if (target < plan.targets && output < plan.outputs) y[target * outputs + output] = static_cast<double>(sum);
      });
    } else {
      Number* to = begun + blockIdx.x * begun_sums;
      each_sum([&](Number& sum, int i, int j, int e) { __stcg(to + place(i, j, e), sum); });
      hand_over(plan.ready);
    }
  }
  await_copies<0>();
}

}  // namespace fedsinkhorn::cuda
