#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/online_tensor.cuh"
#include "backend/cuda/online_tensor_parts.cuh"

namespace fedsinkhorn::cuda::online {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
constexpr int kSide = 128;     ///< rows and columns of a tile
constexpr int kWarpRows = 32;  ///< per warp: four along the rows, two along the columns
constexpr int kWarpColumns = 64;
constexpr int kRowWarps = kSide / kWarpRows;
constexpr int kGroups = kWarpColumns / 16;
constexpr int kDepth = 4;  ///< slices held at a time
constexpr int kStages = 3;
static_assert(kWarps == kRowWarps * (kSide / kWarpColumns) && kColumnTile % kSide == 0 && kPadding % kSide == 0);

/// If a squared distance is below this share of the norms, it is recomputed from the coordinates before taking its
/// root: a root turns an error of 2^-22 of the squares into one of 2^-11.
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

/// scale |x - y| of a pair, given the product of its coordinates multiplied by scale.
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

/// Block (x, s): kSide rows, split s of the columns. The coordinates of both pass through shared memory, kDepth slices
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

  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(&full[s], 1);
      init(&empty[s], kWarps * kArrivalsOfWarp);
    }
    publish_barriers();
  }
  __syncthreads();

  const auto queue = [&](int step) {
    Stage& to = stages[step % kStages];
    Barrier* done = &full[step % kStages];
    if (step >= kStages) wait(&empty[step % kStages], (step / kStages - 1) % 2);
    const std::size_t slice = static_cast<std::size_t>(step % depths) * kDepth;
    const std::size_t column = begin + static_cast<std::size_t>(step / depths) * kSide;
    arrive_expecting(done, sizeof(Stage));
    for (std::size_t k = 0; k < kSide / 16; ++k) {
      copy_to_shared(to.rows[k], job.left + ((block_row / 16 + k) * job.slices + slice) * 32, sizeof(to.rows[k]), done);
      copy_to_shared(to.columns[k], job.right + ((column / 16 + k) * job.slices + slice) * 32, sizeof(to.columns[k]),
                     done);
    }
  };
  if (threadIdx.x == 0) {
    for (int step = 0; step < min(kStages - 1, steps); ++step) queue(step);
  }

  float row_shift[2][2];
  float row_norm[2][2];
  for (int k = 0; k < 4; ++k) {
    const std::size_t row = first_row + static_cast<std::size_t>(k * 8);
    row_shift[k / 2][k % 2] = job.row_shift[row];
    if constexpr (Euclidean) row_norm[k / 2][k % 2] = static_cast<float>(job.row_norms[row]);
  }
  RowSums<2, Targets> sums;
  const std::size_t slot = blockIdx.y * 2 + static_cast<std::size_t>(column_warp);
  double* out = job.partial + slot * Targets * padded(job.rows) + first_row - static_cast<std::size_t>(place.row);
  constexpr int kFlushTiles = static_cast<int>(kFloatColumns) / kSide;

  float t[2][kGroups][2][4];  // [tile of rows][group of 16 columns][half of it][element]
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0 && step + kStages - 1 < steps) queue(step + kStages - 1);
    __syncwarp();
    const int tile = step / depths;
    const std::size_t first_column =
        begin + static_cast<std::size_t>(tile * kSide + column_warp * kWarpColumns + place.column);
    if (step % depths == 0) {
#pragma unroll
      for (int k = 0; k < kGroups * 2 * 4; ++k) {
        const float shift = Euclidean ? 0 : job.column_shift[first_column + k / 8 * 16 + k / 4 % 2 * 8 + k % 2];
#pragma unroll
        for (int r = 0; r < 2; ++r) t[r][k / 8][k / 4 % 2][k % 4] = Euclidean ? 0 : row_shift[r][k % 4 / 2] + shift;
      }
    }
    wait(&full[step % kStages], step / kStages % 2);
    const Stage& stage = stages[step % kStages];
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
    // All lanes have read the stage; one arrives for all.
    arrive_as_warp(&empty[step % kStages]);
    if (step % depths != depths - 1) continue;

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
            const std::size_t i = first_row + static_cast<std::size_t>(r * 16 + e / 2 * 8);
            const float norm = static_cast<float>(job.column_norms[j]);
            x = row_shift[r][e / 2] + job.column_shift[j] - scaled_distance(job, i, j, row_norm[r][e / 2], norm, x);
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
