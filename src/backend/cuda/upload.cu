#include "backend/cuda/upload.hpp"

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "cost/block_points.hpp"
#include "cost/cost_input.hpp"
#include "cost/device_input.hpp"
#include "device/transfer.hpp"
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

/// Some rows and columns of a matrix, by their places in it. is_transposed: to[i, j] = from[j, i].
template <class T>
__global__ void gather_entries(const T* from, std::size_t pitch, const std::size_t* rows, std::size_t row_count,
                               const std::size_t* columns, std::size_t column_count, bool is_transposed, T* to) {
  for (std::size_t i = blockIdx.x; i < row_count; i += gridDim.x) {
    for (std::size_t j = threadIdx.x; j < column_count; j += blockDim.x) {
      const std::size_t at = is_transposed ? columns[j] * pitch + rows[i] : rows[i] * pitch + columns[j];
      to[i * column_count + j] = from[at];
    }
  }
}

/// The block of a matrix that lies on the current device.
DeviceMatrix block_on_device(const CostBlock& block, const DeviceCostMatrix& given, const Stream& stream) {
  const std::optional<std::size_t> first_row = piece_on_device(block, given.device);
  std::vector<std::size_t> rows = block.rows;
  std::vector<std::size_t> columns = block.columns;
  for (std::size_t& held : block.transposed ? columns : rows) held -= block.first_held;
  return std::visit(
      [&]<class T>(const MatrixView<T>& view) {
        if (first_row) return DeviceMatrix(view.row(*first_row));
        DeviceBuffer<T> matrix(rows.size() * columns.size());
        if (matrix.size() == 0) return DeviceMatrix(std::move(matrix));
        const DeviceBuffer<std::size_t> row_places = on_device(rows);
        const DeviceBuffer<std::size_t> column_places = on_device(columns);
        const auto blocks = static_cast<unsigned>(std::min<std::size_t>(rows.size(), 4096));
        gather_entries<<<blocks, 256, 0, stream.get()>>>(view.data, view.columns, row_places.data(), rows.size(),
                                                         column_places.data(), columns.size(), block.transposed,
                                                         matrix.data());
        check(cudaGetLastError(), "gathering costs");
        stream.wait();
        return DeviceMatrix(std::move(matrix));
      },
      given.matrix);
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
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  if (const DeviceCostMatrix* given = block.costs->device_matrix(); given != nullptr && given->device == device) {
    return {n, m, block_on_device(block, *given, stream)};
  }
  const std::unique_ptr<CostSource> cost = make_cost_source(block, simd);
  if (block.costs->shape().entry_bytes == sizeof(float)) {
    return {n, m, DeviceMatrix(upload_matrix<float>(*cost, threads, stream))};
  }
  return {n, m, DeviceMatrix(upload_matrix<double>(*cost, threads, stream))};
}

double uploaded_bytes(std::size_t rows, std::size_t columns, std::size_t dimension, std::size_t entry_bytes) {
  const auto n = static_cast<double>(rows);
  const auto m = static_cast<double>(columns);
  if (dimension > 0) return sizeof(double) * (n + m) * static_cast<double>(dimension);
  return static_cast<double>(entry_bytes) * n * m;
}

}  // namespace fedsinkhorn::cuda
