#include "backend/cuda/dense_pass.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "backend/cuda/dense_products.cuh"
#include "backend/cuda/dense_rounds.cuh"
#include "backend/cuda/dense_shape.hpp"
#include "backend/cuda/finish_rounds.hpp"
#include "device/runtime.hpp"
#include "device/transfer.hpp"

namespace fedsinkhorn::cuda {
namespace dense {
namespace {

constexpr std::size_t round_up(std::size_t x, std::size_t unit) { return (x + unit - 1) / unit * unit; }
constexpr unsigned blocks_for(std::size_t items, std::size_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}
constexpr int most_groups(Storage storage) {
  return storage == Storage::float64 || storage == Storage::float32 ? 7 : 6;
}
constexpr std::size_t compute_bytes(Storage storage) {
  return storage == Storage::float64 || storage == Storage::mixed ? 8 : 4;
}

}  // namespace

//   groups of 16 bytes per thread   1   2   3   4   6, 7
//   rows per step                   4   4   2   2   1
// The rows of a step have at most 53 KB, so that there are at least four slots. There are as many parts, up to 8, as
// give a part at most 26 KB (bfloat16: 13 KB), and two if a row has more than 13 KB: more parts mean fewer partial r to
// sum after a round, and more rows per step share the latency of its sums.
//   columns     float64     float32     mixed       bfloat16      parts x groups
//   10,000      4 x 3       2 x 3       2 x 3       2 x 2
//   25,000      8 x 4       4 x 4       4 x 4       4 x 2
//   50,000      8 x 7       8 x 4       8 x 4       8 x 2
DenseShape dense_layout(Storage storage, std::size_t columns) {
  constexpr std::size_t unit = 64, group_bytes = std::size_t{16} * kConsumerThreads, most_step_bytes = 53 * 1024;
  const std::size_t row_bytes = columns * bytes_of(storage);
  const std::size_t good_part_bytes = most_step_bytes / (storage == Storage::bfloat16 ? 4 : 2);
  std::size_t parts = row_bytes <= most_step_bytes / 4 ? 1 : 2;
  while (parts < kMostParts && row_bytes > parts * good_part_bytes) parts *= 2;
  const std::size_t part_bytes = round_up((row_bytes + parts - 1) / parts, unit);
  const std::size_t groups = (part_bytes + group_bytes - 1) / group_bytes;
  DenseShape shape;
  if (groups > static_cast<std::size_t>(most_groups(storage)) || part_bytes > most_step_bytes) return shape;
  shape.parts = static_cast<int>(parts);
  shape.rows_a_step = part_bytes <= most_step_bytes / 4 ? 4 : part_bytes <= most_step_bytes / 2 ? 2 : 1;
  shape.groups = shape.rows_a_step == 1   ? most_groups(storage)
                 : shape.rows_a_step == 2 ? std::max(static_cast<int>(groups), 3)
                                          : static_cast<int>(groups);
  shape.part_columns = part_bytes / bytes_of(storage);
  shape.slot_bytes = round_up(static_cast<std::size_t>(shape.rows_a_step) * part_bytes, 128);
  return shape;
}

namespace {

using RoundsKernel = void (*)(Task);

template <Storage storage>
RoundsKernel rounds_kernel_of(int groups) {
  switch (groups) {
    case 1: return rounds_kernel<storage, 1, 4>;
    case 2: return rounds_kernel<storage, 2, 4>;
    case 3: return rounds_kernel<storage, 3, 2>;
    case 4: return rounds_kernel<storage, 4, 2>;
    default: return rounds_kernel<storage, most_groups(storage), 1>;
  }
}

template <Storage storage>
class Pass final : public DensePass {
 public:
  Pass(std::size_t rows, std::size_t columns)
      : rows_(static_cast<int>(rows)),
        columns_(static_cast<int>(columns)),
        shape_(dense_layout(storage, columns)),
        pitch_(padded_columns(columns)) {
    if (shape_.parts > 0) fit_to_device();
    v_ = zeros_on_device<Compute>(pitch_);
    const auto parts = static_cast<std::size_t>(std::max(shape_.teams, chunks_of(rows_)));
    parts_of_r_ = DeviceBuffer<Compute>(parts * pitch_);
    round_parts_ = DeviceBuffer<RoundPart>(2 * static_cast<std::size_t>(shape_.teams + shape_.blocks()));
    meeting_ = zeros_on_device<Meeting>(1);
  }

  /// Columns of v and of the parts of r, including padding.
  [[nodiscard]] static std::size_t padded_columns(std::size_t columns) {
    const DenseShape shape = dense_layout(storage, columns);
    return std::max(static_cast<std::size_t>(shape.parts) * shape.part_columns, round_up(columns, 64));
  }

  void apply(const StoredKernel& kernel, const double* v, double* q, cudaStream_t stream) override {
    prepare_kernel<storage><<<blocks_for(pitch_, 256), 256, 0, stream>>>(v, columns_, v_.data());
    check(cudaGetLastError(), "preparing v");
    apply_kernel<storage><<<blocks_for(static_cast<std::size_t>(rows_), kRowsAtOnce), kProductThreads, 0, stream>>>(
        matrix_of(kernel), v_.data(), q);
    check(cudaGetLastError(), "q = K v");
  }

  void apply_transposed(const StoredKernel& kernel, const double* u, double* r, cudaStream_t stream) override {
    const auto groups = static_cast<std::size_t>(groups_of<storage>(columns_));
    const int chunks = chunks_of(rows_);
    const dim3 grid(blocks_for(groups, 32), static_cast<unsigned>(chunks));
    transposed_kernel<storage>
        <<<grid, kProductThreads, 0, stream>>>(matrix_of(kernel), u, chunk_of(rows_), pitch_, parts_of_r_.data());
    check(cudaGetLastError(), "parts of r = K' u");
    sum_chunks_kernel<storage><<<blocks_for(static_cast<std::size_t>(columns_), 32), kProductThreads, 0, stream>>>(
        parts_of_r_.data(), chunks, pitch_, columns_, r);
    check(cudaGetLastError(), "r = K' u");
  }

  void fused(const StoredKernel& kernel, const double* a, const double* v, double* q, double* u, double* r,
             cudaStream_t stream) override {
    if (shape_.parts == 0) {
      apply(kernel, v, q, stream);
      divide(static_cast<std::size_t>(rows_), 1, a, q, u, stream);
      apply_transposed(kernel, u, r, stream);
      return;
    }
    PlainRounds once;
    once.a = a;
    once.x = v;
    once.u = u;
    once.q = q;
    once.r = r;
    launch(kernel, once, stream);
  }

  [[nodiscard]] bool reads_once() const override { return shape_.parts > 0; }

  void rounds(const StoredKernel& kernel, const PlainRounds& rounds, cudaStream_t stream) override {
    if (rounds.count < 1 || rounds.count > kMostRounds) throw std::invalid_argument("1 to 64 rounds at a time");
    if (shape_.parts > 0) return launch(kernel, rounds, stream);
    finisher_.make_rounds(
        rounds, static_cast<std::size_t>(rows_), static_cast<std::size_t>(columns_),
        [&](const double* x) { apply(kernel, x, rounds.q, stream); },
        [&] { apply_transposed(kernel, rounds.u, rounds.r, stream); }, stream);
  }

 private:
  using Compute = typename Numbers<storage>::Compute;

  /// As many clusters as run at once (they wait for each other), and as many slots as fit into shared memory.
  void fit_to_device() {
    const RoundsKernel kernel = rounds_kernel_of<storage>(shape_.groups);
    int device = 0, shared_bytes = 0, processors = 0;
    check(cudaGetDevice(&device), "finding the device");
    check(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "reading limits");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "reading limits");
    cudaFuncAttributes own{};
    check(cudaFuncGetAttributes(&own, kernel), "reading limits");
    const std::size_t left = static_cast<std::size_t>(shared_bytes) - own.sharedSizeBytes;
    shape_.slots = static_cast<int>(std::min<std::size_t>(kMostSlots, left / shape_.slot_bytes));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(left)),
          "asking for shared memory");
    const int steps = (rows_ + shape_.rows_a_step - 1) / shape_.rows_a_step;
    shape_.teams = processors / shape_.parts;
    if (shape_.parts > 1) {
      LaunchConfig launch(shape_, nullptr);
      check(cudaOccupancyMaxActiveClusters(&shape_.teams, kernel, &launch.config), "counting clusters");
    }
    if (shape_.teams < 1) throw DeviceError("CUDA: no cluster of blocks fits on this device");
    shape_.teams = std::min(shape_.teams, steps);
  }

  struct LaunchConfig {
    LaunchConfig(const DenseShape& shape, cudaStream_t stream) {
      attributes[0].id = cudaLaunchAttributeClusterDimension;
      attributes[0].val.clusterDim.x = static_cast<unsigned>(shape.parts);
      attributes[0].val.clusterDim.y = 1;
      attributes[0].val.clusterDim.z = 1;
      attributes[1].id = cudaLaunchAttributeCooperative;
      attributes[1].val.cooperative = 1;
      config.gridDim = dim3(static_cast<unsigned>(shape.blocks()));
      config.blockDim = dim3(kBlockThreads);
      config.dynamicSmemBytes = static_cast<std::size_t>(shape.slots) * shape.slot_bytes;
      config.stream = stream;
      config.attrs = attributes;
      config.numAttrs = 2;
    }
    LaunchConfig(const LaunchConfig&) = delete;
    LaunchConfig& operator=(const LaunchConfig&) = delete;

    cudaLaunchConfig_t config{};
    cudaLaunchAttribute attributes[2]{};
  };

  [[nodiscard]] Matrix matrix_of(const StoredKernel& kernel) const {
    return {static_cast<const unsigned char*>(kernel.data), kernel.stride * bytes_of(storage), rows_, columns_};
  }

  void launch(const StoredKernel& kernel, const PlainRounds& rounds, cudaStream_t stream) {
    Task task;
    task.kernel = static_cast<const unsigned char*>(kernel.data);
    task.row_pitch = kernel.stride * bytes_of(storage);
    task.part_bytes = shape_.part_columns * bytes_of(storage);
    task.rows = rows_;
    task.columns = columns_;
    task.shape = shape_;
    task.share = static_cast<int>(
        round_up(blocks_for(static_cast<std::size_t>(columns_), static_cast<std::size_t>(shape_.blocks())), 2));
    task.scratch.meeting = meeting_.data();
    task.scratch.v = v_.data();
    task.scratch.parts_of_r = parts_of_r_.data();
    task.scratch.of_rows = round_parts_.data();
    task.scratch.of_columns = round_parts_.data() + 2 * shape_.teams;
    task.scratch.pitch = pitch_;
    task.rounds = rounds;
    LaunchConfig launch(shape_, stream);
    check(cudaLaunchKernelEx(&launch.config, rounds_kernel_of<storage>(shape_.groups), task), "rounds");
  }

  int rows_, columns_;
  DenseShape shape_;
  std::size_t pitch_;
  DeviceBuffer<Compute> v_, parts_of_r_;
  DeviceBuffer<RoundPart> round_parts_;
  DeviceBuffer<Meeting> meeting_;
  RoundFinisher finisher_;
};

}  // namespace
}  // namespace dense

std::size_t dense_stride(Storage storage, std::size_t columns) {
  return dense::round_up(columns, 64 / bytes_of(storage));
}

std::unique_ptr<DensePass> make_dense_pass(Storage storage, std::size_t rows, std::size_t columns) {
  switch (storage) {
    case Storage::float64: return std::make_unique<dense::Pass<Storage::float64>>(rows, columns);
    case Storage::float32: return std::make_unique<dense::Pass<Storage::float32>>(rows, columns);
    case Storage::mixed: return std::make_unique<dense::Pass<Storage::mixed>>(rows, columns);
    case Storage::bfloat16: return std::make_unique<dense::Pass<Storage::bfloat16>>(rows, columns);
  }
  throw std::invalid_argument("unknown storage of a kernel");
}

double dense_pass_bytes(Storage storage, std::size_t rows, std::size_t columns) {
  const dense::DenseShape shape = dense::dense_layout(storage, columns);
  int device = 0, processors = 0;
  check(cudaGetDevice(&device), "finding the device");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "reading limits");
  const int teams = shape.parts > 0 ? processors / shape.parts : 0;
  const int parts_of_r = std::max(teams, dense::chunks_of(static_cast<int>(rows)));
  return static_cast<double>(parts_of_r + 1) * static_cast<double>(columns) *
         static_cast<double>(dense::compute_bytes(storage));
}

}  // namespace fedsinkhorn::cuda
