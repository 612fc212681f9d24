// Matrix products with a kernel stored as bfloat16, to the accuracy of float32, on the bfloat16 tensor cores.
//
// x = x1 + x2 + x3 with three bfloat16 terms of 8 bits each, hence to 24 bits; products of bfloat16 are exact in
// float32. The tensor cores do not round their sums to nearest, so these are kept short and then added to a total that
// is.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>

#include "backend/cuda/tile_schedule.cuh"

namespace fedsinkhorn::cuda {

inline constexpr int split_terms = 3;

struct SplitPlan {
  ProductPlan product;                   ///< its x is not read
  const __nv_bfloat16* terms = nullptr;  ///< terms x targets x stride
  std::size_t stride = 0;                ///< the length and zeros, up to a multiple of 64
};

/// x, targets x length, into its terms. Block (., t): target t.
__global__ void split_into_terms(const double* x, int length, __nv_bfloat16* terms, std::size_t stride) {
  const std::size_t k = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= stride) return;
  const std::size_t target = blockIdx.y;
  double rest = k < static_cast<std::size_t>(length) ? x[target * static_cast<std::size_t>(length) + k] : 0;
  for (std::size_t term = 0; term < split_terms; ++term) {
    const __nv_bfloat16 leading = __float2bfloat16_rn(static_cast<float>(rest));
    terms[(term * gridDim.y + target) * stride + k] = leading;
    rest -= static_cast<double>(__bfloat162float(leading));
  }
}

/// A block's tile: tile_targets x 128 outputs, in steps of 64 along the sum. Eight warps of 32 targets each. The kernel
/// is the tensor core's first operand (16 outputs), x the second (8 targets). Operands lie in shared memory in 16-byte
/// chunks, those of row i in the order chunk ^ (i % 8), so that eight rows' chunks of one column meet no bank twice.
template <bool transposed, int tile_targets>
struct BfloatTile {
  static constexpr int threads = 256;
  static constexpr int outputs = 128;
  static constexpr int depth = 64;
  static constexpr int warps_of_targets = tile_targets / 32;
  static constexpr int warps_of_outputs = 8 / warps_of_targets;
  static constexpr int warp_outputs = outputs / warps_of_outputs;
  static constexpr int output_blocks = warp_outputs / 16;
  static constexpr int target_blocks = 4;
  static constexpr int sums = output_blocks * target_blocks * 4;  ///< per thread

  static constexpr int x_row_bytes = depth * 2;
  static constexpr int x_term_bytes = tile_targets * x_row_bytes;
  static constexpr int x_bytes = split_terms * x_term_bytes;
  static constexpr int k_row_bytes = 2 * (transposed ? outputs : depth);
  static constexpr int k_rows = transposed ? depth : outputs;
  static constexpr int stage_bytes = x_bytes + k_rows * k_row_bytes;
  static constexpr int stages = std::min(6, 220 * 1024 / stage_bytes);
  static constexpr int shared_bytes = stages * stage_bytes;
  static_assert(stages >= 3);
};

/// Copies the operands of one step after the other into shared memory.
template <bool transposed, int tile_targets>
class BfloatLoader {
 public:
  using Tile = BfloatTile<transposed, tile_targets>;

  __device__ BfloatLoader(const SplitPlan& plan, const Share& share) : plan_(plan), share_(share) {
    const int x_row = thread() / x_chunks;
    x_to_ = static_cast<std::uint32_t>(x_row * Tile::x_row_bytes + ((thread() % x_chunks) ^ (x_row % 8)) * 16);
    const int row = thread() / k_chunks;
    k_to_ =
        static_cast<std::uint32_t>(Tile::x_bytes + row * Tile::k_row_bytes + ((thread() % k_chunks) ^ (row % 8)) * 16);
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
  static constexpr int x_chunks = Tile::x_row_bytes / 16;
  static constexpr int x_rows_at_once = Tile::threads / x_chunks;
  static constexpr int k_chunks = Tile::k_row_bytes / 16;
  static constexpr int k_rows_at_once = Tile::threads / k_chunks;
  static_assert(x_rows_at_once % 8 == 0 && k_rows_at_once % 8 == 0, "a thread's chunks keep their place in the row");
  static_assert(tile_targets % x_rows_at_once == 0);

  static __device__ int thread() { return static_cast<int>(threadIdx.x); }

  __device__ void enter() {
    const ProductPlan& product = plan_.product;
    const TilePart part = share_.part(product, index_);
    steps_left_ = part.end - part.begin;
    const int k0 = (part.segment * product.steps + part.begin) * Tile::depth;
    const int target = part.target_tile * tile_targets + thread() / x_chunks;
    const int k = k0 + thread() % x_chunks * 8;
    targets_left_ = product.targets - target;
    length_left_ = static_cast<int>(plan_.stride) - k;
    x_from_ = plan_.terms + static_cast<std::size_t>(target) * plan_.stride + k;
    const int output0 = part.output_tile * Tile::outputs;
    const int row = (transposed ? k0 : output0) + thread() / k_chunks;
    const int entry = (transposed ? output0 : k0) + thread() % k_chunks * 8;
    rows_left_ = (transposed ? product.length : product.outputs) - row;
    entries_left_ = static_cast<int>(product.stride) - entry;
    k_from_ =
        static_cast<const __nv_bfloat16*>(product.kernel) + static_cast<std::size_t>(row) * product.stride + entry;
  }

  __device__ void advance() {
    if (--steps_left_ == 0) {
      if (++index_ < share_.parts()) enter();
      return;
    }
    x_from_ += Tile::depth;
    length_left_ -= Tile::depth;
    if constexpr (transposed) {
      k_from_ += Tile::depth * plan_.product.stride;
      rows_left_ -= Tile::depth;
    } else {
      k_from_ += Tile::depth;
      entries_left_ -= Tile::depth;
    }
  }

  __device__ void load_x(std::uint32_t to) const {
    const int bytes = length_left_ > 0 ? 16 : 0;
    const __nv_bfloat16* term_from = x_from_;
#pragma unroll
    for (int term = 0; term < split_terms; ++term) {
      const __nv_bfloat16* from = term_from;
#pragma unroll
      for (int row = 0; row < tile_targets; row += x_rows_at_once) {
        copy_async<16>(to, from, row < targets_left_ ? bytes : 0);
        from += plan_.stride * x_rows_at_once;
        to += x_rows_at_once * Tile::x_row_bytes;
      }
      term_from += plan_.stride * static_cast<std::size_t>(plan_.product.targets);
    }
  }

  __device__ void load_k(std::uint32_t to) const {
    const int bytes = entries_left_ > 0 ? 16 : 0;
    const __nv_bfloat16* from = k_from_;
#pragma unroll
    for (int row = 0; row < Tile::k_rows; row += k_rows_at_once) {
      copy_async<16>(to, from, row < rows_left_ ? bytes : 0);
      from += plan_.product.stride * k_rows_at_once;
      to += k_rows_at_once * Tile::k_row_bytes;
    }
  }

  const SplitPlan& plan_;
  const Share& share_;
  std::uint32_t x_to_, k_to_;
  int index_ = 0;
  int steps_left_ = 0;
  int targets_left_ = 0, length_left_ = 0;  ///< of x from here on
  int rows_left_ = 0, entries_left_ = 0;    ///< of the stored kernel
  const __nv_bfloat16* x_from_ = nullptr;
  const __nv_bfloat16* k_from_ = nullptr;
};

/// Four 8 x 8 matrices, the rows of matrix i at the addresses of threads 8 i to 8 i + 7.
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
__device__ inline void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Adds the products of entries 16 `slice` to 16 `slice` + 15 of the step to the warp's sums.
template <bool transposed, int tile_targets, class Sums>
__device__ inline void multiply_slice(Sums& sums, std::uint32_t stage, int target0, int output0, int slice) {
  using Tile = BfloatTile<transposed, tile_targets>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = lane % 8;
  const int second = lane / 8 % 2;  // of the matrices that this thread's address is for
  const int third = lane / 16;
  const auto at = [&](std::uint32_t base, int line, int line_bytes, int chunk) {
    return base + static_cast<std::uint32_t>(line * line_bytes + (chunk ^ row) * 16);
  };
  std::uint32_t a[Tile::output_blocks][4];  // (output, k), (output + 8, k), (output, k + 8), (output + 8, k + 8)
#pragma unroll
  for (int i = 0; i < Tile::output_blocks; ++i) {
    const int output = output0 + i * 16;
    const std::uint32_t base = stage + Tile::x_bytes;
    load_matrices<transposed>(a[i], transposed
                                        ? at(base, slice * 16 + third * 8 + row, Tile::k_row_bytes, output / 8 + second)
                                        : at(base, output + second * 8 + row, Tile::k_row_bytes, slice * 2 + third));
  }
#pragma unroll
  for (int term = split_terms - 1; term >= 0; --term) {
#pragma unroll
    for (int pair = 0; pair < Tile::target_blocks / 2; ++pair) {
      std::uint32_t b[4];  // (target, k), (target, k + 8), (target + 8, k), (target + 8, k + 8)
      load_matrices<false>(b, at(stage + static_cast<std::uint32_t>(term * Tile::x_term_bytes),
                                 target0 + pair * 16 + third * 8 + row, Tile::x_row_bytes, slice * 2 + second));
#pragma unroll
      for (int i = 0; i < Tile::output_blocks; ++i) {
        multiply(sums[i][pair * 2], a[i], b[0], b[1]);
        multiply(sums[i][pair * 2 + 1], a[i], b[2], b[3]);
      }
    }
  }
}

template <bool transposed, int tile_targets>
__global__ void __launch_bounds__(256, 1) bfloat16_product(const __grid_constant__ SplitPlan plan) {
  using Tile = BfloatTile<transposed, tile_targets>;
  extern __shared__ __align__(128) std::byte shared[];
  const auto shared_address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const ProductPlan& product = plan.product;
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int target0 = warp % Tile::warps_of_targets * 32;
  const int output0 = warp / Tile::warps_of_targets * Tile::warp_outputs;
  constexpr int begun_sums = Tile::threads * Tile::sums;
  float* begun = static_cast<float*>(product.begun);

  const Share share(product);
  BfloatLoader<transposed, tile_targets> loader(plan, share);
  const auto load = [&](int stage) {
    loader.load(shared_address + static_cast<std::uint32_t>(stage * Tile::stage_bytes));
  };
  for (int stage = 0; stage < Tile::stages - 1; ++stage) load(stage);

  float totals[Tile::output_blocks][Tile::target_blocks][4];
  float sums[Tile::output_blocks][Tile::target_blocks][4];
  const auto each = [&](auto&& action) {
#pragma unroll
    for (int i = 0; i < Tile::output_blocks; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::target_blocks; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) action(i, j, e);
      }
    }
  };
  const auto place = [&](int i, int j, int e) {
    return ((i * Tile::target_blocks + j) * 4 + e) * Tile::threads + thread;
  };

  int stage = 0;
  for (int index = 0; index < share.parts(); ++index) {
    const TilePart part = share.part(product, index);
    if (part.begin > 0) {
      take_over(product.ready);
      const float* from = begun + static_cast<std::size_t>(blockIdx.x - 1) * begun_sums;
      each([&](int i, int j, int e) { totals[i][j][e] = __ldcg(from + place(i, j, e)); });
    } else {
      each([&](int i, int j, int e) { totals[i][j][e] = 0; });
    }
    for (int step = part.begin; step < part.end; ++step) {
      await_copies<Tile::stages - 2>();
      __syncthreads();  // everyone's copies of this stage are there, and everyone is done with the one before
      each([&](int i, int j, int e) { sums[i][j][e] = 0; });
      const std::uint32_t base = shared_address + static_cast<std::uint32_t>(stage * Tile::stage_bytes);
#pragma unroll
      for (int slice = 0; slice < Tile::depth / 16; ++slice) {
        multiply_slice<transposed, tile_targets>(sums, base, target0, output0, slice);
        // Not at the start: the tensor cores are to have work meanwhile.
        if (slice == 0) load(stage == 0 ? Tile::stages - 1 : stage - 1);
      }
      each([&](int i, int j, int e) { totals[i][j][e] += sums[i][j][e]; });
      stage = stage + 1 == Tile::stages ? 0 : stage + 1;
    }
    if (part.end == product.steps) {
      const int group = thread % 32 / 4;
      const int quarter = thread % 4;
      const auto outputs = static_cast<std::size_t>(product.outputs);
      double* y = product.y + static_cast<std::size_t>(part.segment) * product.targets * outputs;
      each([&](int i, int j, int e) {
        const int target = part.target_tile * tile_targets + target0 + j * 8 + quarter * 2 + e % 2;
        const int output = part.output_tile * Tile::outputs + output0 + i * 16 + group + e / 2 * 8;
        if (target < product.targets && output < product.outputs) {
          y[target * outputs + output] = static_cast<double>(totals[i][j][e]);
        }
      });
    } else {
      float* to = begun + static_cast<std::size_t>(blockIdx.x) * begun_sums;
      each([&](int i, int j, int e) { __stcg(to + place(i, j, e), totals[i][j][e]); });
      hand_over(product.ready);
    }
  }
  await_copies<0>();
}

}  // namespace fedsinkhorn::cuda
