#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/online_tensor.cuh"
#include "backend/cuda/online_tensor_parts.cuh"

namespace fedsinkhorn::cuda::online {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
constexpr int kSide = 128;     ///< rows and columns of a tile
constexpr int kWarpRows = 32;  ///< of a warp: four along the rows, two along the columns
constexpr int kWarpColumns = 64;
constexpr int kRowWarps = kSide / kWarpRows;
constexpr int kGroups = kWarpColumns / 16;
constexpr int kDepth = 4;  ///< slices held at a time
constexpr int kStages = 3;
static_assert(kWarps == kRowWarps * (kSide / kWarpColumns) && kColumnTile % kSide == 0 && kPadding % kSide == 0);

/// Below this share of the norms a squared distance is computed again from the coordinates before its root is taken: a
/// root turns an error of 2^-22 of the squares into one of 2^-11.
constexpr float kCancelled = 1.0f / 32;

/// Products of a tile of 16 rows with one of 16 columns over one slice: results for columns 0 to 7 and 8 to 15.
__device__ void multiply_slice(float (&d)[2][4], const uint4& a, const uint4& b) {
  multiply_add(d[0], a, b.x, b.y, d[0]);
  multiply_add(d[1], a, b.z, b.w, d[1]);
}

/// Over slices [0, Slices) of both sides. Split: hi.hi + hi.lo + lo.hi (see online_fragments.cuh).
template <int Slices, bool Split>
__device__ void multiply_slices(float (&d)[2][4], const uint4 (&a)[Slices], const uint4 (&b)[Slices]) {
#pragma unroll
  for (int s = 0; s < Slices; ++s) {
    multiply_slice(d, a[s], b[s - (Split ? s % 2 : 0)]);
    if constexpr (Split) {
      if (s % 2 == 0) multiply_slice(d, a[s], b[s + 1]);
    }
  }
}

struct Stage {
  uint4 rows[kSide / 16][kDepth][32];
  uint4 columns[kSide / 16][kDepth][32];
};

__device__ __noinline__ float squared_distance(const double* x, const double* y, std::size_t dimension) {
  double sum = 0;
  for (std::size_t c = 0; c < dimension; ++c) sum += (x[c] - y[c]) * (x[c] - y[c]);
  return static_cast<float>(sum);
}

/// scale |x - y| of a pair whose coordinates, multiplied by scale, have that product.
__device__ float scaled_distance(const Job<float>& job, std::size_t row, std::size_t column, float row_norm,
                                 float column_norm, float product) {
  const float norms = row_norm + column_norm;
  float square = norms - 2 * product;
  if (square < kCancelled * norms && row < job.rows && column < job.columns) {
    const double* x = job.x + row * job.dimension;
    const double* y = job.y + column * job.dimension;
    const auto scale = static_cast<float>(job.scale);
    square = scale * scale * squared_distance(x, y, job.dimension);
  }
  return square_root(fmaxf(square, 0.0f));
}

/// Asks for kDepth slices of kSide rows and of kSide columns.
__device__ __forceinline__ void copy_stage(const Job<float>& job, std::size_t row, std::size_t column,
                                           std::size_t slice, Stage& to, Barrier* done) {
  arrive_expecting(done, sizeof(Stage));
  for (std::size_t k = 0; k < kSide / 16; ++k) {
    copy_to_shared(to.rows[k], job.left + ((row / 16 + k) * job.slices + slice) * 32, sizeof(to.rows[k]), done);
    copy_to_shared(to.columns[k], job.right + ((column / 16 + k) * job.slices + slice) * 32, sizeof(to.columns[k]),
                   done);
  }
}

/// What a lane knows of its rows: [tile of 16 rows][row or row + 8].
template <bool Euclidean>
struct LaneRows {
  std::size_t first;
  float shift[2][2];
  float norm[2][2];

  __device__ __forceinline__ LaneRows(const Job<float>& job, std::size_t first_row) : first(first_row) {
    for (int k = 0; k < 4; ++k) {
      const std::size_t row = first + static_cast<std::size_t>(k * 8);
      shift[k / 2][k % 2] = job.row_shift[row];
      if constexpr (Euclidean) norm[k / 2][k % 2] = static_cast<float>(job.row_norms[row]);
    }
  }
};

/// The exponents of a warp's rows and columns; until all slices are in, what they are made of.
template <bool Split, bool Euclidean>
struct Exponents {
  float t[2][kGroups][2][4];  // [tile of rows][group of 16 columns][half of it][element]

  __device__ __forceinline__ void begin(const Job<float>& job, const LaneRows<Euclidean>& rows,
                                        std::size_t first_column) {
#pragma unroll
    for (int k = 0; k < kGroups * 2 * 4; ++k) {
      const float shift = Euclidean ? 0 : job.column_shift[first_column + k / 8 * 16 + k / 4 % 2 * 8 + k % 2];
#pragma unroll
      for (int r = 0; r < 2; ++r) t[r][k / 8][k / 4 % 2][k % 4] = Euclidean ? 0 : rows.shift[r][k % 4 / 2] + shift;
    }
  }

  __device__ __forceinline__ void multiply(const Stage& stage, int row_warp, int column_warp, int lane) {
    uint4 rows[2][kDepth];
    for (int s = 0; s < kDepth; ++s) {
      for (int r = 0; r < 2; ++r) rows[r][s] = stage.rows[row_warp * 2 + r][s][lane];
    }
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      uint4 columns[kDepth];
      for (int s = 0; s < kDepth; ++s) columns[s] = stage.columns[column_warp * kGroups + group][s][lane];
#pragma unroll
      for (int r = 0; r < 2; ++r) multiply_slices<kDepth, Split>(t[r][group], rows[r], columns);
    }
  }

  /// All slices are in.
  template <int Targets>
  __device__ __forceinline__ void add_to(RowSums<2, Targets>& sums, const Job<float>& job,
                                         const LaneRows<Euclidean>& rows, std::size_t first_column) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::size_t column = first_column + static_cast<std::size_t>(group * 16 + half * 8);
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          const int r = k / 4;
          const int e = k % 4;
          float& x = t[r][group][half][e];
          if constexpr (Euclidean) {
            const std::size_t j = column + static_cast<std::size_t>(e % 2);
            const std::size_t i = rows.first + static_cast<std::size_t>(r * 16 + e / 2 * 8);
            const float norm = static_cast<float>(job.column_norms[j]);
            x = rows.shift[r][e / 2] + job.column_shift[j] - scaled_distance(job, i, j, rows.norm[r][e / 2], norm, x);
          }
          x = power_of_two(x);
        }
#pragma unroll
        for (int k = 0; k < Targets; ++k) {
          const float2 weights = pair_at(job.weights + static_cast<std::size_t>(k) * padded(job.columns) + column);
          for (int r = 0; r < 2; ++r) sums.add(r, k, t[r][group][half], weights);
        }
      }
    }
  }
};

/// Block (x, s): kSide rows, split s of the columns; the coordinates of both pass through shared memory, kDepth slices
/// at a time. Slot 2 s + h of partial gets the sums over half h of every tile of columns.
template <bool Split, bool Euclidean, int Targets>
__global__ void __launch_bounds__(kThreads, Targets == 1 ? 2 : 1) sum_by_deep_products(Job<float> job) {
  extern __shared__ __align__(128) unsigned char storage[];
  auto* stages = reinterpret_cast<Stage*>(storage);
  __shared__ Barrier full[kStages];
  __shared__ Barrier empty[kStages];

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row_warp = warp % kRowWarps;
  const int column_warp = warp / kRowWarps;
  const LanePlace place = lane_place(lane);
  const std::size_t begin = blockIdx.y * job.split_columns;
  const std::size_t end = min(begin + job.split_columns, round_up(job.columns, kSide));
  const int tiles = static_cast<int>((end - begin) / kSide);
  const int depths = static_cast<int>(job.slices) / kDepth;
  const int steps = tiles * depths;
  const std::size_t block_row = std::size_t{blockIdx.x} * kSide;
  const std::size_t first_row = block_row + static_cast<std::size_t>(row_warp * kWarpRows + place.row);
  make_barriers<kWarps>(full, empty);

  const auto queue = [&](int step) {
    if (step >= kStages) wait(&empty[step % kStages], (step / kStages - 1) % 2);
    const std::size_t slice = static_cast<std::size_t>(step % depths) * kDepth;
    const std::size_t column = begin + static_cast<std::size_t>(step / depths) * kSide;
    copy_stage(job, block_row, column, slice, stages[step % kStages], &full[step % kStages]);
  };
  if (threadIdx.x == 0) {
    for (int step = 0; step < min(kStages - 1, steps); ++step) queue(step);
  }

  const LaneRows<Euclidean> rows(job, first_row);
  RowSums<2, Targets> sums;
  const std::size_t slot = blockIdx.y * 2 + static_cast<std::size_t>(column_warp);
  double* out = job.partial + slot * Targets * padded(job.rows) + first_row - static_cast<std::size_t>(place.row);
  constexpr int kFlushTiles = static_cast<int>(kFloatColumns) / kSide;

  Exponents<Split, Euclidean> exponents;
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0 && step + kStages - 1 < steps) queue(step + kStages - 1);
    __syncwarp();
    const int tile = step / depths;
    const std::size_t first_column =
        begin + static_cast<std::size_t>(tile * kSide + column_warp * kWarpColumns + place.column);
    if (step % depths == 0) exponents.begin(job, rows, first_column);
    wait(&full[step % kStages], step / kStages % 2);
    exponents.multiply(stages[step % kStages], row_warp, column_warp, lane);
    // All lanes have read the stage; one speaks for them.
    arrive_as_warp(&empty[step % kStages]);
    if (step % depths != depths - 1) continue;
    exponents.add_to(sums, job, rows, first_column);
    if (tile % kFlushTiles == kFlushTiles - 1 || tile == tiles - 1) {
      sums.flush(out, padded(job.rows), lane, tile < kFlushTiles);
    }
  }
}

template <bool Split, bool Euclidean, int Targets>
void launch(const Job<float>& job, std::size_t splits, cudaStream_t stream) {
  constexpr auto kernel = sum_by_deep_products<Split, Euclidean, Targets>;
  constexpr int kBytes = kStages * static_cast<int>(sizeof(Stage));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes), "asking for shared memory");
  const dim3 grid(static_cast<unsigned>((job.rows + kSide - 1) / kSide), static_cast<unsigned>(splits));
  kernel<<<grid, kThreads, kBytes, stream>>>(job);
  check(cudaGetLastError(), "summing over points of many coordinates");
}

template <bool Split, bool Euclidean>
void launch(const Job<float>& job, std::size_t targets, std::size_t splits, cudaStream_t stream) {
  if (targets == 1) {
    launch<Split, Euclidean, 1>(job, splits, stream);
  } else {
    launch<Split, Euclidean, static_cast<int>(kTensorTargets)>(job, splits, stream);
  }
}

}  // namespace

void deep_sums(const TensorPlan& plan, const Job<float>& job, std::size_t targets, std::size_t splits,
               cudaStream_t stream) {
  const bool split = plan.form == Form::split;
  if (job.metric == Metric::euclidean) {
    if (split) return launch<true, true>(job, targets, splits, stream);
    return launch<false, true>(job, targets, splits, stream);
  }
  if (split) return launch<true, false>(job, targets, splits, stream);
  return launch<false, false>(job, targets, splits, stream);
}

}  // namespace fedsinkhorn::cuda::online
