#include "backend/cuda/own_product.hpp"

#include <algorithm>
#include <limits>

#include "backend/cuda/bfloat16_product.cuh"
#include "backend/cuda/double_product.cuh"

namespace fedsinkhorn::cuda {
namespace {

constexpr int largest_tile_targets = 128;
constexpr int tile_outputs = 128;
constexpr std::size_t terms_unit = 64;

int up(std::size_t count, int unit) {
  return static_cast<int>((count + static_cast<std::size_t>(unit) - 1) / static_cast<std::size_t>(unit));
}

int depth_of(Storage storage) { return storage == Storage::bfloat16 ? 64 : 32; }

/// Few targets make few tiles; so the sum is cut, for every multiprocessor to have a part. The parts' sums cost memory
/// traffic, which many targets need not pay. Independent of the number of outputs, for the order of summation is to be.
int segments_of(std::size_t targets, std::size_t length) {
  const int longest = targets <= 64 ? 512 : targets <= 256 ? 1024 : std::numeric_limits<int>::max() / 2;
  return up(length, longest);
}

std::size_t terms_stride(std::size_t length) { return (length + terms_unit - 1) / terms_unit * terms_unit; }

int tiles_of(const ProductPlan& plan) { return plan.target_tiles * plan.output_tiles * plan.segments; }

/// The largest tiles that leave no multiprocessor idle: they read least. Sets the number of tiles.
int choose_tiles(ProductPlan& plan, int multiprocessors) {
  int tile_targets = plan.targets <= 32 ? 32 : plan.targets <= 64 ? 64 : largest_tile_targets;
  while (true) {
    plan.target_tiles = up(static_cast<std::size_t>(plan.targets), tile_targets);
    if (tile_targets == 32 || tiles_of(plan) >= multiprocessors) return tile_targets;
    tile_targets /= 2;
  }
}

/// y = the sum of the segments, from the first to the last.
__global__ void add_segments(const double* parts, int segments, std::size_t size, double* y) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= size) return;
  double sum = parts[i];
  for (int s = 1; s < segments; ++s) sum += parts[static_cast<std::size_t>(s) * size + i];
  y[i] = sum;
}

template <class Tile, class Plan>
void launch(void (*kernel)(Plan), const Plan& plan, int blocks, cudaStream_t stream) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::shared_bytes),
        "asking for shared memory");
  kernel<<<static_cast<unsigned>(blocks), product_threads, Tile::shared_bytes, stream>>>(plan);
  check(cudaGetLastError(), "launching a matrix product");
}

template <class Stored, bool transposed, int tile_targets>
void launch_tile(const ProductPlan& plan, int blocks, cudaStream_t stream) {
  launch<DoubleTile<Stored, transposed, tile_targets>>(double_product<Stored, transposed, tile_targets>, plan, blocks,
                                                       stream);
}

template <class Stored, bool transposed, int tile_targets>
void launch_tile(const SplitPlan& plan, int blocks, cudaStream_t stream) {
  launch<BfloatTile<transposed, tile_targets>>(bfloat16_product<transposed, tile_targets>, plan, blocks, stream);
}

template <class Stored, bool transposed, class Plan>
void launch_tiles(int tile_targets, const Plan& plan, int blocks, cudaStream_t stream) {
  if (tile_targets == 32) return launch_tile<Stored, transposed, 32>(plan, blocks, stream);
  if (tile_targets == 64) return launch_tile<Stored, transposed, 64>(plan, blocks, stream);
  launch_tile<Stored, transposed, 128>(plan, blocks, stream);
}

template <class Stored, class Plan>
void launch_way(bool transposed, int tile_targets, const Plan& plan, int blocks, cudaStream_t stream) {
  if (transposed) return launch_tiles<Stored, true>(tile_targets, plan, blocks, stream);
  launch_tiles<Stored, false>(tile_targets, plan, blocks, stream);
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
      begun_(static_cast<std::size_t>(multiprocessors_) * largest_tile_targets * tile_outputs),
      ready_(static_cast<std::size_t>(multiprocessors_)) {
  check(cudaMemset(ready_.data(), 0, ready_.size() * sizeof(int)), "clearing flags");
  check(cudaDeviceSynchronize(), "clearing flags");  // streams that wait for no other are to find them clear
}

void OwnProduct::multiply(const StoredKernel& kernel, bool transposed, std::size_t targets, const double* x, double* y,
                          cudaStream_t stream) {
  constexpr unsigned threads = 256;
  const std::size_t length = transposed ? kernel.rows : kernel.columns;
  const std::size_t outputs = transposed ? kernel.columns : kernel.rows;
  const std::size_t size = targets * outputs;
  ProductPlan plan;
  plan.x = x;
  plan.kernel = kernel.data;
  plan.stride = kernel.stride;
  plan.targets = static_cast<int>(targets);
  plan.outputs = static_cast<int>(outputs);
  plan.length = static_cast<int>(length);
  plan.output_tiles = up(outputs, tile_outputs);
  plan.segments = segments_of(targets, length);
  plan.steps = up(static_cast<std::size_t>(up(length, depth_of(kernel.storage))), plan.segments);
  plan.begun = begun_.data();
  plan.ready = ready_.data();
  if (plan.segments > 1) segments_.reserve(static_cast<std::size_t>(plan.segments) * size);
  plan.y = plan.segments > 1 ? segments_.data() : y;

  const int tile_targets = choose_tiles(plan, multiprocessors_);
  const int blocks = std::min(tiles_of(plan), multiprocessors_);
  if (kernel.storage == Storage::float64) {
    launch_way<double>(transposed, tile_targets, plan, blocks, stream);
  } else if (kernel.storage == Storage::bfloat16) {
    const std::size_t stride = terms_stride(length);
    terms_.reserve(split_terms * targets * stride);
    const dim3 grid(static_cast<unsigned>((stride + threads - 1) / threads), static_cast<unsigned>(targets));
    split_into_terms<<<grid, threads, 0, stream>>>(x, plan.length, terms_.data(), stride);
    check(cudaGetLastError(), "splitting scalings");
    launch_way<__nv_bfloat16>(transposed, tile_targets, SplitPlan{plan, terms_.data(), stride}, blocks, stream);
  } else {
    launch_way<float>(transposed, tile_targets, plan, blocks, stream);
  }
  if (plan.segments == 1) return;
  add_segments<<<static_cast<unsigned>((size + threads - 1) / threads), threads, 0, stream>>>(segments_.data(),
                                                                                              plan.segments, size, y);
  check(cudaGetLastError(), "adding up the parts of a product");
}

double own_product_bytes(Storage storage, std::size_t rows, std::size_t columns, std::size_t targets) {
  const auto parts = [&](std::size_t outputs, std::size_t length) {
    const int segments = segments_of(targets, length);
    return segments > 1 ? 8.0 * segments * static_cast<double>(targets * outputs) : 0.0;
  };
  const double terms = storage == Storage::bfloat16
                           ? 2.0 * split_terms * static_cast<double>(targets * terms_stride(std::max(rows, columns)))
                           : 0.0;
  return std::max(parts(rows, columns), parts(columns, rows)) + terms +
         multiprocessors() * (largest_tile_targets * tile_outputs * 8.0 + 4.0);
}

}  // namespace fedsinkhorn::cuda
