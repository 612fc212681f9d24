#include "backend/cuda/upload.hpp"

#include <algorithm>

#include "backend/cuda/transfer.hpp"
#include "cost/block_points.hpp"
#include "cost/cost_input.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::cuda {
namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{64} << 20;

/// Some rows at a time through pinned memory; the next ones are read while the last ones are being copied.
template <class T>
DeviceBuffer<T> upload_matrix(const CostSource& cost, int threads, const Stream& stream) {
  const std::size_t n = cost.rows();
  const std::size_t m = cost.columns();
  DeviceBuffer<T> matrix(n * m);
  if (n == 0 || m == 0) return matrix;
  const std::size_t rows_at_once = std::clamp<std::size_t>(kBytesAtOnce / (m * sizeof(T)), 1, n);
  PinnedBuffer<T> halves[2] = {PinnedBuffer<T>(rows_at_once * m), PinnedBuffer<T>(rows_at_once * m)};
  std::size_t half = 0;
  for (std::size_t first = 0; first < n; first += rows_at_once, half = 1 - half) {
    const std::size_t count = std::min(rows_at_once, n - first);
    T* to = halves[half].data();
    read_rows(cost, {first, first + count}, threads, to);
    stream.wait();  // the other half has arrived
    check(cudaMemcpyAsync(matrix.data() + first * m, to, count * m * sizeof(T), cudaMemcpyHostToDevice, stream.get()),
          "copying costs to the device");
  }
  stream.wait();
  return matrix;
}

/// Below, a metric that is none of some others is taken for the last one.
void require_known(Metric metric) {
  switch (metric) {
    case Metric::sqeuclidean:
    case Metric::euclidean:
    case Metric::cosine: return;
  }
  throw InputError("`metric`", "is not one that devices know", "use `backend` cpu");
}

}  // namespace

DeviceCosts upload_costs(const CostBlock& block, const cpu::Simd& simd, int threads, const Stream& stream) {
  const std::size_t n = block.rows.size();
  const std::size_t m = block.columns.size();
  if (block.costs->points() != nullptr) {
    const BlockPoints points = block_points(block);
    require_known(points.metric);
    return {n, m,
            DevicePoints{on_device(points.x), on_device(points.y), static_cast<int>(points.dimension), points.metric,
                         points.unit}};
  }
  const std::unique_ptr<CostSource> cost = make_cost_source(block, simd);
  if (block.costs->shape().entry_bytes == sizeof(float)) {
    return {n, m, DeviceMatrix{upload_matrix<float>(*cost, threads, stream)}};
  }
  return {n, m, DeviceMatrix{upload_matrix<double>(*cost, threads, stream)}};
}

double uploaded_bytes(std::size_t rows, std::size_t columns, std::size_t dimension, std::size_t entry_bytes) {
  const auto n = static_cast<double>(rows);
  const auto m = static_cast<double>(columns);
  if (dimension > 0) return sizeof(double) * (n + m) * static_cast<double>(dimension);
  return static_cast<double>(entry_bytes) * n * m;
}

}  // namespace fedsinkhorn::cuda
