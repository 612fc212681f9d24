#include "backend/cuda/own_product.hpp"

#include <algorithm>

#include "backend/cuda/bfloat16_tile.cuh"
#include "backend/cuda/double_tile.cuh"
#include "device/transfer.hpp"

namespace fedsinkhorn::cuda {
namespace {

/// Maximum number of sums that a block keeps in registers.
constexpr std::size_t kLargestTile = 128 * 128;
/// Segments are multiples of this; every step depth divides it.
constexpr std::size_t kSegmentUnit = 64;

std::size_t up(std::size_t count, std::size_t unit) { return (count + unit - 1) / unit; }

/// Few targets make few tiles, so the sum is cut into segments to occupy all multiprocessors. Their sums cost memory
/// traffic, which many targets avoid. The order of summation, and so this, must not depend on the number of outputs.
std::size_t segments_of(std::size_t targets, std::size_t length) {
  if (targets > 256) return 1;
  return up(length, targets <= 64 ? 512 : 1024);
}

/// Memory, in numbers, for the segments of a product with up to that many targets: converged targets are removed, and
/// memory recorded in a graph must stay in place.
std::size_t parts_size(std::size_t targets, std::size_t length, std::size_t outputs) {
  std::size_t most = 0;
  for (const std::size_t some : {std::min<std::size_t>(targets, 64), std::min<std::size_t>(targets, 256), targets}) {
    const std::size_t segments = segments_of(some, length);
    if (segments > 1) most = std::max(most, segments * some * outputs);
  }
  return most;
}

std::size_t terms_stride(std::size_t length) { return up(length, kSegmentUnit) * kSegmentUnit; }

/// Splits x, targets x length, into terms x targets x stride, zero from length to stride. Block (., t): target t.
__global__ void split_into_terms(const double* x, int length, __nv_bfloat16* terms, std::size_t stride) {
  const std::size_t k = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= stride) return;
  const std::size_t target = blockIdx.y;
  double rest = k < static_cast<std::size_t>(length) ? x[target * static_cast<std::size_t>(length) + k] : 0;
  for (std::size_t term = 0; term < kSplitTerms; ++term) {
    const __nv_bfloat16 leading = __float2bfloat16_rn(static_cast<float>(rest));
    terms[(term * gridDim.y + target) * stride + k] = leading;
    rest -= static_cast<double>(__bfloat162float(leading));
  }
}

/// y = sum of the segments, from first to last.
__global__ void add_segments(const double* parts, int segments, std::size_t size, double* y) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= size) return;
  double sum = parts[i];
  for (int s = 1; s < segments; ++s) sum += parts[static_cast<std::size_t>(s) * size + i];
  y[i] = sum;
}

/// Where a product runs: one block per multiprocessor.
struct Place {
  int multiprocessors = 1;
  cudaStream_t stream = nullptr;
};

/// Multiplies with tiles of that kind. If `all_busy` and there are too few tiles, does nothing and returns false.
template <class Tile>
bool run(ProductPlan plan, const Place& place, bool all_busy) {
  const auto length = static_cast<std::size_t>(plan.length);
  const auto segments = static_cast<std::size_t>(plan.segments);
  const std::size_t longest = segments == 1 ? length : up(up(length, kSegmentUnit), segments) * kSegmentUnit;
  plan.steps = static_cast<int>(up(longest, Tile::depth));
  plan.target_tiles = static_cast<int>(up(static_cast<std::size_t>(plan.targets), Tile::targets));
  plan.output_tiles = static_cast<int>(up(static_cast<std::size_t>(plan.outputs), Tile::outputs));
  const int tiles = plan.target_tiles * plan.output_tiles * plan.segments;
  if (all_busy && tiles < place.multiprocessors) return false;
  check(cudaFuncSetAttribute(tile_product<Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::shared_bytes),
        "asking for shared memory");
  tile_product<Tile><<<static_cast<unsigned>(std::min(tiles, place.multiprocessors)), Tile::threads, Tile::shared_bytes,
                       place.stream>>>(plan);
  check(cudaGetLastError(), "launching a matrix product");
  return true;
}

/// Uses the largest tiles that leave no multiprocessor idle: they read least.
template <class Small, class Medium, class Large>
void run_best(const ProductPlan& plan, const Place& place) {
  if (plan.targets > Medium::targets && run<Large>(plan, place, true)) return;
  if (plan.targets > Small::targets && run<Medium>(plan, place, true)) return;
  run<Small>(plan, place, false);
}

template <class Stored, bool transposed>
void run_double(const ProductPlan& plan, const Place& place) {
  run_best<DoubleTile<Stored, transposed, 32>, DoubleTile<Stored, transposed, 64>, DoubleTile<Stored, transposed, 128>>(
      plan, place);
}

template <bool transposed>
void run_bfloat16(const ProductPlan& plan, const Place& place) {
  run_best<Bfloat16Tile<transposed, 32>, Bfloat16Tile<transposed, 64>, Bfloat16Tile<transposed, 128>>(plan, place);
}

int multiprocessors() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "counting multiprocessors");
  return count;
}

}  // namespace

OwnProduct::OwnProduct()
    : multiprocessors_(multiprocessors()),
      begun_(static_cast<std::size_t>(multiprocessors_) * kLargestTile),
      ready_(zeros_on_device<int>(static_cast<std::size_t>(multiprocessors_))) {}

void OwnProduct::multiply(const StoredKernel& kernel, bool transposed, std::size_t targets, const double* x, double* y,
                          cudaStream_t stream) {
  constexpr std::size_t threads = 256;
  const std::size_t length = transposed ? kernel.rows : kernel.columns;
  const std::size_t outputs = transposed ? kernel.columns : kernel.rows;
  const std::size_t segments = segments_of(targets, length);
  const std::size_t size = targets * outputs;
  if (segments > 1) segments_.reserve(parts_size(targets, length, outputs));

  const Place place{multiprocessors_, stream};
  ProductPlan plan;
  plan.x = x;
  plan.x_stride = length;
  plan.kernel = kernel.data;
  plan.stride = kernel.stride;
  plan.y = segments > 1 ? segments_.data() : y;
  plan.targets = static_cast<int>(targets);
  plan.outputs = static_cast<int>(outputs);
  plan.length = static_cast<int>(length);
  plan.segments = static_cast<int>(segments);
  plan.begun = begun_.data();
  plan.ready = ready_.data();
  if (kernel.storage == Storage::float64) {
    transposed ? run_double<double, true>(plan, place) : run_double<double, false>(plan, place);
  } else if (kernel.storage == Storage::bfloat16) {
    plan.x_stride = terms_stride(length);
    terms_.reserve(kSplitTerms * targets * plan.x_stride);
    plan.x = terms_.data();
    const dim3 grid(static_cast<unsigned>(up(plan.x_stride, threads)), static_cast<unsigned>(targets));
    split_into_terms<<<grid, threads, 0, stream>>>(x, plan.length, terms_.data(), plan.x_stride);
    check(cudaGetLastError(), "splitting scalings");
    transposed ? run_bfloat16<true>(plan, place) : run_bfloat16<false>(plan, place);
  } else {
    transposed ? run_double<float, true>(plan, place) : run_double<float, false>(plan, place);
  }
  if (segments == 1) return;
  add_segments<<<static_cast<unsigned>(up(size, threads)), threads, 0, stream>>>(segments_.data(),
                                                                                 static_cast<int>(segments), size, y);
  check(cudaGetLastError(), "adding up the parts of a product");
}

double own_product_bytes(Storage storage, std::size_t rows, std::size_t columns, std::size_t targets) {
  const auto parts = [&](std::size_t outputs, std::size_t length) {
    return 8.0 * static_cast<double>(parts_size(targets, length, outputs));
  };
  const double terms = storage == Storage::bfloat16
                           ? 2.0 * kSplitTerms * static_cast<double>(targets * terms_stride(std::max(rows, columns)))
                           : 0.0;
  return std::max(parts(rows, columns), parts(columns, rows)) + terms + multiprocessors() * (8.0 * kLargestTile + 4.0);
}

}  // namespace fedsinkhorn::cuda
