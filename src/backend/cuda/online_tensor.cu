#include "backend/cuda/online_tensor.cuh"

#include "backend/cuda/online_tensor_parts.cuh"

namespace fedsinkhorn::cuda::online {
namespace {

constexpr int kStages = 4;
/// How many tiles ahead copies are queued; a stage is refilled kStages - kAhead tiles after it was last read.
constexpr int kAhead = 2;

/// Columns of a tile.
template <int Slices>
constexpr int kTileColumns = Slices <= 4 ? 128 : 64;

/// A tile of columns in shared memory.
template <int Slices, int Targets>
struct Tile {
  static constexpr int kColumns = kTileColumns<Slices>;
  uint4 points[kColumns / 8][Slices][2][8];
  float shift[kColumns];
  float weights[Targets][kColumns];
};

/// Whether a column's exponentials are computed by the polynomial: that many of every eight.
__device__ constexpr bool by_polynomial(int eighths, int column) {
  constexpr unsigned kChosen[] = {0x00, 0x80, 0x88, 0x92, 0xAA};
  return kChosen[eighths] >> (column % 8) & 1;
}

/// Block (x, s): some rows, split s of the columns. Each warp keeps 16 rows in registers and each warpgroup multiplies
/// 64 with all columns of the split, Batch at a time, from tiles that bulk copies bring; while one waits for its
/// products others compute exponentials. Packed: the shifts come out of the product.
template <int Slices, Form PointForm, int Targets, int Eighths, int Batch, int Warps, int Blocks>
__global__ void __launch_bounds__(Warps * 32, Blocks) sum_by_products(Job<float> job) {
  using TileOfColumns = Tile<Slices, Targets>;
  constexpr int kColumns = TileOfColumns::kColumns;
  static_assert(kColumnTile % kColumns == 0 && kColumns % Batch == 0 && kPadding % (Warps * 16) == 0);
  constexpr bool kPacked = PointForm == Form::packed;
  constexpr bool kSplit = PointForm == Form::split;
  extern __shared__ __align__(128) unsigned char storage[];
  auto* stages = reinterpret_cast<TileOfColumns*>(storage);
  __shared__ Barrier full[kStages];
  __shared__ Barrier empty[kStages];

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const LanePlace place = lane_place(lane);
  const std::size_t begin = blockIdx.y * job.split_columns;
  const std::size_t end = min(begin + job.split_columns, round_up(job.columns, kColumns));
  const int tiles = static_cast<int>((end - begin) / kColumns);
  const std::size_t first_row = std::size_t{blockIdx.x} * (Warps * 16) + static_cast<std::size_t>(warp * 16);

  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      full[s].init(1);
      empty[s].init(Warps);
    }
    fence_barriers();
  }
  __syncthreads();

  const auto queue = [&](int tile) {
    TileOfColumns& to = stages[tile % kStages];
    Barrier& done = full[tile % kStages];
    if (tile >= kStages) empty[tile % kStages].wait((tile / kStages - 1) % 2);
    const std::size_t column = begin + static_cast<std::size_t>(tile) * kColumns;
    done.arrive_expecting(sizeof(to.points) + (kPacked ? 0 : sizeof(to.shift)) + sizeof(to.weights));
    bulk_copy(to.points, job.right + column * Slices * 2, sizeof(to.points), done);
    if constexpr (!kPacked) bulk_copy(to.shift, job.column_shift + column, sizeof(to.shift), done);
    for (int k = 0; k < Targets; ++k) {
      bulk_copy(to.weights[k], job.weights + k * padded(job.columns) + column, sizeof(to.weights[k]), done);
    }
  };
  if (threadIdx.x == 0) {
    for (int tile = 0; tile < min(kAhead, tiles); ++tile) queue(tile);
  }
  __syncwarp();

  uint4 rows[Slices];
  float row_shift[2];
  for (int s = 0; s < Slices; ++s) rows[s] = job.left[(first_row / 16 * Slices + s) * 32 + lane];
  for (int half = 0; half < 2; ++half) row_shift[half] = job.row_shift[first_row + half * 8 + place.row];
  RowSums<1, Targets> sums;
  double* out = job.partial + blockIdx.y * Targets * padded(job.rows) + first_row;

  constexpr int kFlushTiles = static_cast<int>(kFloatColumns) / kColumns;
  for (int tile = 0; tile < tiles; ++tile) {
    if (threadIdx.x == 0 && tile + kAhead < tiles) queue(tile + kAhead);
    __syncwarp();
    full[tile % kStages].wait(tile / kStages % 2);
    const TileOfColumns& columns = stages[tile % kStages];
#pragma unroll 1
    for (int first = 0; first < kColumns; first += Batch) {
      // t = row_shift + column_shift + x'.y'
      float t[Batch / 2];
      if constexpr (!kPacked) {
#pragma unroll
        for (int k = 0; k < Batch / 8; ++k) {
          const float2 shift = pair_at(&columns.shift[first + k * 8 + place.column]);
          t[k * 4] = row_shift[0] + shift.x;
          t[k * 4 + 1] = row_shift[0] + shift.y;
          t[k * 4 + 2] = row_shift[1] + shift.x;
          t[k * 4 + 3] = row_shift[1] + shift.y;
        }
      }
      const std::uint64_t points = describe_columns(&columns.points[first / 8], Slices * 256);
      constexpr std::uint64_t kSlice = 256 >> 4;
      begin_products();
#pragma unroll
      for (int s = 0; s < Slices; ++s) {
        multiply_add<!kPacked>(t, rows[s], points + kSlice * (kSplit ? s - s % 2 : s));
        if constexpr (kSplit) {
          if (s % 2 == 0) multiply_add<true>(t, rows[s], points + kSlice * (s + 1));
        }
      }
      commit_products();
      wait_for_products<0>();
      settle(t);
#pragma unroll
      for (int k = 0; k < Batch / 8; ++k) {
        float terms[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const bool polynomial = by_polynomial(Eighths, k % 4 * 2 + e % 2);
          terms[e] = polynomial ? power_of_two_by_polynomial(t[k * 4 + e]) : power_of_two(t[k * 4 + e]);
        }
#pragma unroll
        for (int target = 0; target < Targets; ++target) {
          sums.add(0, target, terms, pair_at(&columns.weights[target][first + k * 8 + place.column]));
        }
      }
    }
    __syncwarp();
    if (lane == 0) empty[tile % kStages].arrive();
    if (tile % kFlushTiles == kFlushTiles - 1 || tile == tiles - 1) {
      sums.flush(out, padded(job.rows), lane, tile < kFlushTiles);
    }
  }
}

template <int Slices, Form PointForm, int Targets>
void launch(const Job<float>& job, std::size_t splits, cudaStream_t stream) {
  // With long points more rows share a tile of columns, as the second-level cache gives only so much.
  constexpr int kWarps = Slices <= 2 ? 8 : 16;
  constexpr int kBlocks = Slices == 1 && Targets == 1 ? 3 : 16 / kWarps;
  constexpr int kBatch = Slices <= 8 ? 64 : 32;
  constexpr int kEighths = Slices == 1 && Targets == 1 ? 2 : 0;
  constexpr std::size_t kRows = kWarps * 16;
  constexpr auto kernel = sum_by_products<Slices, PointForm, Targets, kEighths, kBatch, kWarps, kBlocks>;
  constexpr int kBytes = kStages * static_cast<int>(sizeof(Tile<Slices, Targets>));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes), "asking for shared memory");
  const dim3 grid(static_cast<unsigned>((job.rows + kRows - 1) / kRows), static_cast<unsigned>(splits));
  kernel<<<grid, kWarps * 32, kBytes, stream>>>(job);
  check(cudaGetLastError(), "summing over points");
}

template <int Slices, Form PointForm>
void launch(const Job<float>& job, std::size_t targets, std::size_t splits, cudaStream_t stream) {
  if (targets == 1) {
    launch<Slices, PointForm, 1>(job, splits, stream);
  } else {
    launch<Slices, PointForm, static_cast<int>(kTensorTargets)>(job, splits, stream);
  }
}

/// Slices in the registers that the kernel has instances for.
constexpr std::size_t kInRegisters[] = {2, 4, 8, 16};
/// Slices the deep kernel takes at a time.
constexpr std::size_t kDeepSlices = 4;

}  // namespace

TensorPlan tensor_plan(bool exact, Metric metric, std::size_t dimension) {
  const bool in_registers = metric != Metric::euclidean;
  if (in_registers && dimension <= kPackedDimensions) return {Form::packed, 1, false, 1};
  // Up to 16 coordinates the products of a split point take less time than the exponentials.
  const bool split = exact || dimension <= 16;
  const std::size_t needed = (dimension + 15) / 16 * (split ? 2 : 1);
  const Form form = split ? Form::split : Form::single;
  if (in_registers) {
    for (const std::size_t slices : kInRegisters) {
      if (needed <= slices) return {form, slices, false, 1};
    }
  }
  return {form, round_up(needed, kDeepSlices), true, 2};
}

void tensor_sums(const TensorPlan& plan, const Job<float>& job, std::size_t targets, std::size_t splits,
                 cudaStream_t stream) {
  if (plan.deep) return deep_sums(plan, job, targets, splits, stream);
  if (plan.form == Form::packed) return launch<1, Form::packed>(job, targets, splits, stream);
  const bool split = plan.form == Form::split;
  if (plan.slices == 2) {
    return split ? launch<2, Form::split>(job, targets, splits, stream)
                 : launch<2, Form::single>(job, targets, splits, stream);
  }
  if (plan.slices == 4) {
    return split ? launch<4, Form::split>(job, targets, splits, stream)
                 : launch<4, Form::single>(job, targets, splits, stream);
  }
  if (plan.slices == 8) {
    return split ? launch<8, Form::split>(job, targets, splits, stream)
                 : launch<8, Form::single>(job, targets, splits, stream);
  }
  return split ? launch<16, Form::split>(job, targets, splits, stream)
               : launch<16, Form::single>(job, targets, splits, stream);
}

}  // namespace fedsinkhorn::cuda::online
