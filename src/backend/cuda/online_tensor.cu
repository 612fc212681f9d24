#include "backend/cuda/online_tensor.cuh"

#include <type_traits>
#include <utility>

#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/online_tensor_parts.cuh"

namespace fedsinkhorn::cuda::online {
namespace {

constexpr int kStages = 4;
/// How many tiles ahead copies are queued; a stage is refilled kStages - kAhead tiles after it was last read.
constexpr int kAhead = 2;

/// A tile of columns in shared memory.
template <int Slices, int Columns, int Targets>
struct Tile {
  uint4 points[Columns / 8][Slices][2][8];
  float shift[Columns];
  float weights[Targets][Columns];
};

/// body(std::integral_constant<int, k>) for k < Count.
template <int Count, class Body>
__device__ void unrolled(const Body& body) {
  [&]<int... k>(std::integer_sequence<int, k...>) { (body(std::integral_constant<int, k>{}), ...); }
  (std::make_integer_sequence<int, Count>{});
}

/// Whether a column's exponentials are computed by the polynomial: that many of every eight.
__device__ constexpr bool by_polynomial(int eighths, int column) {
  constexpr unsigned kChosen[] = {0x00, 0x80, 0x88, 0x92, 0xAA};
  return kChosen[eighths] >> (column % 8) & 1;
}

/// Asks for the tile that begins with that column.
template <bool Packed, int Slices, int Columns, int Targets>
__device__ __forceinline__ void copy_tile(const Job<float>& job, std::size_t column, Tile<Slices, Columns, Targets>& to,
                                          Barrier* done) {
  arrive_expecting(done, sizeof(to.points) + (Packed ? 0 : sizeof(to.shift)) + sizeof(to.weights));
  copy_to_shared(to.points, job.right + column * Slices * 2, sizeof(to.points), done);
  if constexpr (!Packed) copy_to_shared(to.shift, job.column_shift + column, sizeof(to.shift), done);
  for (int k = 0; k < Targets; ++k) {
    copy_to_shared(to.weights[k], job.weights + k * padded(job.columns) + column, sizeof(to.weights[k]), done);
  }
}

/// The exponents of a warp's 16 rows and a part of a tile's columns, row_shift + column_shift + x'.y', InFlight batches
/// of them. Packed: the shifts come out of the product.
template <int Slices, Form PointForm, int Batch, int InFlight>
struct Exponents {
  static constexpr int kColumns = Batch * InFlight;
  static constexpr bool kPacked = PointForm == Form::packed;
  static constexpr bool kSplit = PointForm == Form::split;
  float t[InFlight][Batch / 2];

  template <class TileOfColumns>
  __device__ __forceinline__ void begin(const TileOfColumns& columns, int part, const uint4 (&rows)[Slices],
                                        const float (&row_shift)[2], const LanePlace& place) {
    if constexpr (!kPacked) {
#pragma unroll
      for (int k = 0; k < kColumns / 8; ++k) {
        const float2 shift = pair_at(&columns.shift[part + k * 8 + place.column]);
        float* four = &t[k * 8 / Batch][k * 8 % Batch / 2];
        four[0] = row_shift[0] + shift.x;
        four[1] = row_shift[0] + shift.y;
        four[2] = row_shift[1] + shift.x;
        four[3] = row_shift[1] + shift.y;
      }
    }
    constexpr std::uint64_t kSlice = 256 >> 4;
    begin_products();
#pragma unroll
    for (int batch = 0; batch < InFlight; ++batch) {
      const std::uint64_t points = describe_columns(&columns.points[(part + batch * Batch) / 8], Slices * 256);
#pragma unroll
      for (int s = 0; s < Slices; ++s) {
        multiply_add<!kPacked>(t[batch], rows[s], points + kSlice * (kSplit ? s - s % 2 : s));
        if constexpr (kSplit) {
          if (s % 2 == 0) multiply_add<true>(t[batch], rows[s], points + kSlice * (s + 1));
        }
      }
      commit_products();
    }
  }

  /// The exponentials of one batch while the products of the next are formed.
  template <int Eighths, int Targets, class TileOfColumns>
  __device__ __forceinline__ void add_to(RowSums<1, Targets>& sums, const TileOfColumns& columns, int part,
                                         const LanePlace& place) {
    unrolled<InFlight>([&](auto index) {
      constexpr int kIndex = decltype(index)::value;
      wait_for_products<InFlight - 1 - kIndex>();
      settle(t[kIndex]);
#pragma unroll
      for (int k = 0; k < Batch / 8; ++k) {
        const float* four = &t[kIndex][k * 4];
        float terms[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const bool polynomial = by_polynomial(Eighths, k % 4 * 2 + e % 2);
          terms[e] = polynomial ? power_of_two_by_polynomial(four[e]) : power_of_two(four[e]);
        }
        const int column = part + kIndex * Batch + k * 8 + place.column;
#pragma unroll
        for (int target = 0; target < Targets; ++target) {
          sums.add(0, target, terms, pair_at(&columns.weights[target][column]));
        }
      }
    });
  }
};

/// Block (x, s): some rows, split s of the columns. Each warp keeps 16 rows in registers and each warpgroup multiplies
/// 64 with all columns of the split, Batch at a time, from tiles that bulk copies bring; while one waits for its
/// products others compute exponentials.
template <int Slices, Form PointForm, int Targets, int Eighths, int Columns, int Batch, int InFlight, int Warps,
          int Blocks>
__global__ void __launch_bounds__(Warps * 32, Blocks) sum_by_products(Job<float> job) {
  using TileOfColumns = Tile<Slices, Columns, Targets>;
  using Part = Exponents<Slices, PointForm, Batch, InFlight>;
  static_assert(kColumnTile % Columns == 0 && Columns % Part::kColumns == 0 && kPadding % (Warps * 16) == 0);
  extern __shared__ __align__(128) unsigned char storage[];
  auto* stages = reinterpret_cast<TileOfColumns*>(storage);
  __shared__ Barrier full[kStages];
  __shared__ Barrier empty[kStages];

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const LanePlace place = lane_place(lane);
  const std::size_t first_split = blockIdx.y * job.splits_a_block;
  const std::size_t begin = first_split * job.split_columns;
  const std::size_t end = min(begin + job.splits_a_block * job.split_columns, round_up(job.columns, Columns));
  const int tiles = static_cast<int>((end - begin) / Columns);
  const int split_tiles = static_cast<int>(job.split_columns) / Columns;
  const std::size_t first_row = std::size_t{blockIdx.x} * (Warps * 16) + static_cast<std::size_t>(warp * 16);
  make_barriers<Warps>(full, empty);

  const auto queue = [&](int tile) {
    if (tile >= kStages) wait(&empty[tile % kStages], (tile / kStages - 1) % 2);
    copy_tile<Part::kPacked>(job, begin + static_cast<std::size_t>(tile) * Columns, stages[tile % kStages],
                             &full[tile % kStages]);
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
  double* out = job.partial + first_split * Targets * padded(job.rows) + first_row;

  constexpr int kFlushTiles = static_cast<int>(kFloatColumns) / Columns;
  int tile_of_split = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    if (threadIdx.x == 0 && tile + kAhead < tiles) queue(tile + kAhead);
    __syncwarp();
    wait(&full[tile % kStages], tile / kStages % 2);
    const TileOfColumns& columns = stages[tile % kStages];
#pragma unroll 1
    for (int part = 0; part < Columns; part += Part::kColumns) {
      Part exponents;
      exponents.begin(columns, part, rows, row_shift, place);
      exponents.template add_to<Eighths>(sums, columns, part, place);
    }
    // All lanes have read the tile; one speaks for them.
    arrive_as_warp(&empty[tile % kStages]);
    const bool first_flush = tile_of_split < kFlushTiles;
    ++tile_of_split;
    const bool split_ends = tile_of_split == split_tiles || tile == tiles - 1;
    if (split_ends || tile_of_split % kFlushTiles == 0) sums.flush(out, padded(job.rows), lane, first_flush);
    if (split_ends) {
      out += Targets * padded(job.rows);
      tile_of_split = 0;
    }
  }
}

/// How many splits a block should take: few enough that all processors are busy to the end, many enough that what a
/// block does before its first tile, which takes as long as start_tiles, is little.
std::size_t splits_a_block(std::size_t row_blocks, std::size_t splits, std::size_t split_tiles, std::size_t start_tiles,
                           int blocks_at_once) {
  std::size_t best = 1;
  std::size_t least = ~std::size_t{0};
  for (std::size_t each = 1; each <= splits; ++each) {
    const std::size_t blocks = row_blocks * ((splits + each - 1) / each);
    const auto at_once = static_cast<std::size_t>(blocks_at_once);
    const std::size_t time = (blocks + at_once - 1) / at_once * (each * split_tiles + start_tiles);
    if (time >= least) continue;
    least = time;
    best = each;
  }
  return best;
}

int processors() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "asking for its processors");
  return count;
}

template <int Slices, Form PointForm, int Targets, int Eighths, int Columns, int Batch, int InFlight, int Warps,
          int Blocks>
void launch(Job<float> job, std::size_t splits, cudaStream_t stream) {
  constexpr auto kernel = sum_by_products<Slices, PointForm, Targets, Eighths, Columns, Batch, InFlight, Warps, Blocks>;
  constexpr int kBytes = kStages * static_cast<int>(sizeof(Tile<Slices, Columns, Targets>));
  constexpr std::size_t kRows = Warps * 16;
  // Where several blocks share a processor, one that starts leaves the others room.
  constexpr std::size_t kStartTiles = Blocks > 1 ? 0 : 2;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes), "asking for shared memory");
  const std::size_t row_blocks = (job.rows + kRows - 1) / kRows;
  job.splits_a_block =
      splits_a_block(row_blocks, splits, job.split_columns / Columns, kStartTiles, processors() * Blocks);
  const dim3 grid(static_cast<unsigned>(row_blocks),
                  static_cast<unsigned>((splits + job.splits_a_block - 1) / job.splits_a_block));
  kernel<<<grid, Warps * 32, kBytes, stream>>>(job);
  check(cudaGetLastError(), "summing over points");
}

template <int Slices, Form PointForm, int Targets>
void launch(const Job<float>& job, std::size_t splits, cudaStream_t stream) {
  // With long points more rows share a tile of columns, as the second-level cache gives only so much, and products take
  // long enough to be worth a second batch in flight. All of this was found by measuring.
  constexpr bool kLong = Slices > 2;
  constexpr bool kOne = Targets == 1;
  constexpr int kWarps = kLong ? 16 : 8;
  constexpr int kBlocks = kLong ? 1 : kOne ? 3 : 2;
  constexpr int kColumns = Slices <= 8 ? 128 : 64;
  constexpr int kBatch = Slices <= 8 ? 64 : 32;
  constexpr int kInFlight = kLong ? 2 : 1;
  constexpr int kEighths = Slices == 1 && kOne ? 2 : 0;
  launch<Slices, PointForm, Targets, kEighths, kColumns, kBatch, kInFlight, kWarps, kBlocks>(job, splits, stream);
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
