#include "backend/cuda/online_tensor.cuh"

#include "backend/cuda/online_tensor_parts.cuh"

namespace fedsinkhorn::cuda::online {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
constexpr int kWarpRows = 32;
constexpr int kBlockRows = kWarps * kWarpRows;
constexpr int kStages = 4;
/// How many tiles ahead copies are queued; a stage is refilled kStages - kAhead tiles after it was last read.
constexpr int kAhead = 2;
static_assert(kPadding % kBlockRows == 0);

/// Columns of a tile: enough that barriers are rare.
template <int Slices>
constexpr int kTileColumns = Slices <= 2 ? 128 : 64;

/// A tile of columns in shared memory.
template <int Slices, int Targets>
struct Tile {
  static constexpr int kColumns = kTileColumns<Slices>;
  uint4 points[kColumns / 16][Slices][32];
  float shift[kColumns];
  float weights[Targets][kColumns];
};

/// Whether a term's exponential is computed by the polynomial: by the column alone, as the sums' bits must not depend
/// on the row's place. A quarter of them, where multiply-adds are few enough to leave time for it.
template <int Slices, int Targets>
__device__ constexpr bool by_polynomial(int half, int element) {
  return Slices == 1 && Targets == 1 && half == 1 && element % 2 == 1;
}

/// Block (x, s): kBlockRows rows, split s of the columns. Each warp keeps 32 rows in registers and reads all columns of
/// the split from tiles that bulk copies bring. Packed: the column's shift comes out of the product.
template <int Slices, Form PointForm, int Targets>
__global__ void __launch_bounds__(kThreads, Targets == 1 ? 2 : 1) sum_by_products(Job<float> job) {
  using TileOfColumns = Tile<Slices, Targets>;
  constexpr int kColumns = TileOfColumns::kColumns;
  constexpr bool kPacked = PointForm == Form::packed;
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
  const std::size_t first_row = std::size_t{blockIdx.x} * kBlockRows + static_cast<std::size_t>(warp * kWarpRows);

  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      full[s].init(1);
      empty[s].init(kWarps);
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
    bulk_copy(to.points, job.right + column / 16 * Slices * 32, sizeof(to.points), done);
    if constexpr (!kPacked) bulk_copy(to.shift, job.column_shift + column, sizeof(to.shift), done);
    for (int k = 0; k < Targets; ++k) {
      bulk_copy(to.weights[k], job.weights + k * padded(job.columns) + column, sizeof(to.weights[k]), done);
    }
  };
  if (threadIdx.x == 0) {
    for (int tile = 0; tile < min(kAhead, tiles); ++tile) queue(tile);
  }

  uint4 rows[2][Slices];
  float row_shift[2][2];
#pragma unroll
  for (int t = 0; t < 2; ++t) {
    for (int s = 0; s < Slices; ++s) {
      rows[t][s] =
          job.left[((first_row / 16 + static_cast<std::size_t>(t)) * Slices + static_cast<std::size_t>(s)) * 32 +
                   static_cast<std::size_t>(lane)];
    }
    for (int half = 0; half < 2; ++half) {
      row_shift[t][half] = job.row_shift[first_row + static_cast<std::size_t>(t * 16 + half * 8 + place.row)];
    }
  }
  RowSums<Targets> sums;
  double* out = job.partial + blockIdx.y * Targets * padded(job.rows) + first_row;
  constexpr int kFlushTiles = static_cast<int>(kFloatColumns) / kColumns;

  for (int tile = 0; tile < tiles; ++tile) {
    if (threadIdx.x == 0 && tile + kAhead < tiles) queue(tile + kAhead);
    __syncwarp();
    full[tile % kStages].wait(tile / kStages % 2);
    const TileOfColumns& columns = stages[tile % kStages];
#pragma unroll 2
    for (int group = 0; group < kColumns / 16; ++group) {
      uint4 points[Slices];
      for (int s = 0; s < Slices; ++s) points[s] = columns.points[group][s][lane];
      float t[2][2][4];  // [tile of rows][half of the columns][element]
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int column = group * 16 + half * 8 + place.column + e % 2;
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            t[r][half][e] = kPacked ? row_shift[r][e / 2] : row_shift[r][e / 2] + columns.shift[column];
          }
        }
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) multiply_add<Slices, PointForm == Form::split>(t[r], rows[r], points);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            float& x = t[r][half][e];
            x = by_polynomial<Slices, Targets>(half, e) ? power_of_two_by_polynomial(x) : power_of_two(x);
          }
        }
#pragma unroll
        for (int k = 0; k < Targets; ++k) {
          sums.add(k, t[0][half], t[1][half], &columns.weights[k][group * 16 + half * 8 + place.column]);
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
  constexpr auto kernel = sum_by_products<Slices, PointForm, Targets>;
  constexpr int kBytes = kStages * static_cast<int>(sizeof(Tile<Slices, Targets>));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes), "asking for shared memory");
  const dim3 grid(static_cast<unsigned>((job.rows + kBlockRows - 1) / kBlockRows), static_cast<unsigned>(splits));
  kernel<<<grid, kThreads, kBytes, stream>>>(job);
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
constexpr std::size_t kSingleSlices[] = {4, 8};
constexpr std::size_t kSplitSlices[] = {2, 4, 8};
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
    if (split) {
      for (const std::size_t slices : kSplitSlices) {
        if (needed <= slices) return {form, slices, false, 1};
      }
    } else {
      for (const std::size_t slices : kSingleSlices) {
        if (needed <= slices) return {form, slices, false, 1};
      }
    }
  }
  return {form, round_up(needed, kDeepSlices), true, 2};
}

void tensor_sums(const TensorPlan& plan, const Job<float>& job, std::size_t targets, std::size_t splits,
                 cudaStream_t stream) {
  if (plan.deep) return deep_sums(plan, job, targets, splits, stream);
  if (plan.form == Form::packed) return launch<1, Form::packed>(job, targets, splits, stream);
  if (plan.form == Form::single) {
    if (plan.slices == 4) return launch<4, Form::single>(job, targets, splits, stream);
    return launch<8, Form::single>(job, targets, splits, stream);
  }
  if (plan.slices == 2) return launch<2, Form::split>(job, targets, splits, stream);
  if (plan.slices == 4) return launch<4, Form::split>(job, targets, splits, stream);
  return launch<8, Form::split>(job, targets, splits, stream);
}

}  // namespace fedsinkhorn::cuda::online
