#include "backend/cuda/cuda_plan_kernel.hpp"

#include <algorithm>
#include <variant>

#include "backend/cuda/own_product.hpp"
#include "backend/cuda/plan_tiles.hpp"
#include "backend/cuda/upload.hpp"
#include "core/parallel.hpp"
#include "device/device_matrix.hpp"
#include "device/transfer.hpp"

namespace fedsinkhorn::cuda {
namespace {

/// Rows of K that are copied to the host at once take about this much.
constexpr std::size_t kBytesAtOnce = std::size_t{16} << 20;
/// Rows of K that are stored at once for a product: enough to keep the device busy, little beside what it has.
constexpr std::size_t kChunkBytes = std::size_t{128} << 20;
/// Vectors that are multiplied at once.
constexpr std::size_t kListsAtOnce = 128;
/// Rows that one call of for_blocks' body gets.
constexpr std::size_t kRowsEach = 8;

__global__ void add_to(const double* values, std::size_t size, double* sums) {
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < size) sums[k] += values[k];
}

/// The device of a task is the current one as long as this exists.
class OnTaskDevice {
 public:
  explicit OnTaskDevice(int device) { check(cudaSetDevice(device), "choosing a device"); }

 private:
  KeepCurrentDevice restored_;
};

DeviceBuffer<double> on_device(std::span<const double> values) {
  DeviceBuffer<double> buffer(values.size());
  copy_to_device(values, buffer.data());
  return buffer;
}

/// Costs, and a stream of their device.
struct CostsOfTask {
  explicit CostsOfTask(const DeviceTask& task) : costs(upload_costs(task.block, task.simd, task.threads, stream)) {}

  Stream stream;
  DeviceCosts costs;
};

class CudaPlanKernel final : public PlanKernel {
 public:
  CudaPlanKernel(const DeviceTask& task, std::span<const double> phi, std::span<const double> psi)
      : current_(task.device),
        threads_(task.threads),
        epsilon_(task.epsilon),
        held_(task),
        phi_(on_device(phi)),
        psi_(on_device(psi)) {}

  void for_blocks(Range lines, const UseRows& body) const override {
    const std::size_t m = costs().columns();
    if (lines.empty() || m == 0) return;
    const std::size_t at_once = std::clamp<std::size_t>(kBytesAtOnce / (m * sizeof(double)), 1, lines.size());
    DeviceBuffer<double> rows(at_once * m);
    PinnedBuffer<double> on_host(at_once * m);
    for (std::size_t first = lines.first; first < lines.last; first += at_once) {
      const std::size_t count = std::min(at_once, lines.last - first);
      costs().fill_kernel({first, first + count}, phi_.data(), psi_.data(), epsilon_, Storage::float64, rows.data(), m,
                          stream());
      check(cudaMemcpyAsync(on_host.data(), rows.data(), count * m * sizeof(double), cudaMemcpyDeviceToHost, stream()),
            "copying a plan from the device");
      held_.stream.wait();
      parallel_chunks(threads_, (count + kRowsEach - 1) / kRowsEach, [&](std::size_t chunk, std::size_t) {
        const std::size_t k = chunk * kRowsEach;
        body(first + k, std::min(kRowsEach, count - k), on_host.data() + k * m, m);
      });
    }
  }

  void multiply(EntryWeight weight, std::size_t count, std::span<const double> factors,
                std::span<double> sums) const override {
    for_lists(count, factors, costs().columns(), sums, costs().rows(), [&](std::size_t some, const Lists& lists) {
      DeviceBuffer<double> of_chunk(some * rows_at_once());
      for_chunks(weight, [&](Range lines, const StoredKernel& kernel) {
        product_.multiply(kernel, false, some, lists.factors.data(), of_chunk.data(), stream());
        copy_lists(of_chunk.data(), lines.size(), lists.sums.data() + lines.first, costs().rows(), lines.size(), some);
      });
    });
  }
  void multiply_transposed(EntryWeight weight, std::size_t count, std::span<const double> factors,
                           std::span<double> sums) const override {
    for_lists(count, factors, costs().rows(), sums, costs().columns(), [&](std::size_t some, const Lists& lists) {
      const std::size_t size = some * costs().columns();
      DeviceBuffer<double> of_chunk(some * rows_at_once());
      DeviceBuffer<double> added(size);
      check(cudaMemsetAsync(lists.sums.data(), 0, size * sizeof(double), stream()), "clearing sums");
      for_chunks(weight, [&](Range lines, const StoredKernel& kernel) {
        copy_lists(lists.factors.data() + lines.first, costs().rows(), of_chunk.data(), lines.size(), lines.size(),
                   some);
        product_.multiply(kernel, true, some, of_chunk.data(), added.data(), stream());
        add_to<<<static_cast<unsigned>((size + 255) / 256), 256, 0, stream()>>>(added.data(), size, lists.sums.data());
        check(cudaGetLastError(), "adding up a product");
      });
    });
  }

 private:
  [[nodiscard]] const DeviceCosts& costs() const { return held_.costs; }
  [[nodiscard]] cudaStream_t stream() const { return held_.stream.get(); }

  /// Lists of factors and of sums on the device, one after the other.
  struct Lists {
    DeviceBuffer<double> factors;
    DeviceBuffer<double> sums;
  };
  /// Calls work(count, lists) for kListsAtOnce lists at a time; copies factors there and sums back.
  template <class Work>
  void for_lists(std::size_t count, std::span<const double> factors, std::size_t summands, std::span<double> sums,
                 std::size_t lines, const Work& work) const {
    if (count == 0 || summands == 0 || lines == 0) return;
    const std::size_t most = std::min(count, kListsAtOnce);
    const Lists lists{DeviceBuffer<double>(most * summands), DeviceBuffer<double>(most * lines)};
    for (std::size_t first = 0; first < count; first += most) {
      const std::size_t some = std::min(most, count - first);
      copy_to_device(factors.subspan(first * summands, some * summands), lists.factors.data());
      work(some, lists);
      held_.stream.wait();
      copy_to_host(static_cast<const double*>(lists.sums.data()), sums.subspan(first * lines, some * lines));
    }
  }

  [[nodiscard]] std::size_t stride() const { return dense_stride(Storage::float64, costs().columns()); }
  [[nodiscard]] std::size_t rows_at_once() const {
    return std::clamp<std::size_t>(kChunkBytes / (stride() * sizeof(double)), 1, costs().rows());
  }
  /// Calls use(lines, kernel) for one chunk of rows of the weighted kernel after the other, stored on the device.
  template <class Use>
  void for_chunks(EntryWeight weight, const Use& use) const {
    const DeviceBuffer<double> stored = zeros_on_device<double>(rows_at_once() * stride());  // the padding stays 0
    for (std::size_t first = 0; first < costs().rows(); first += rows_at_once()) {
      const Range lines{first, std::min(costs().rows(), first + rows_at_once())};
      costs().fill_kernel(lines, phi_.data(), psi_.data(), epsilon_, Storage::float64, stored.data(), stride(),
                          stream());
      if (weight == EntryWeight::inverse_cost) divide_by_costs(costs(), lines, stored.data(), stride(), stream());
      use(lines, StoredKernel{Storage::float64, stored.data(), lines.size(), costs().columns(), stride()});
    }
    held_.stream.wait();  // before the memory is freed
  }

  /// `count` lists of `length` numbers, at distances of their own.
  void copy_lists(const double* from, std::size_t from_distance, double* to, std::size_t to_distance,
                  std::size_t length, std::size_t count) const {
    check(cudaMemcpy2DAsync(to, to_distance * sizeof(double), from, from_distance * sizeof(double),
                            length * sizeof(double), count, cudaMemcpyDeviceToDevice, stream()),
          "copying parts of a product");
  }

  OnTaskDevice current_;
  int threads_;
  double epsilon_;
  CostsOfTask held_;
  DeviceBuffer<double> phi_, psi_;
  mutable OwnProduct product_;  // has scratch memory
};

}  // namespace

std::unique_ptr<PlanKernel> make_plan_kernel(const DeviceTask& task, std::span<const double> phi,
                                             std::span<const double> psi) {
  return std::make_unique<CudaPlanKernel>(task, phi, psi);
}

void write_plan_rows(const DeviceTask& task, const PlanRows& rows) {
  const OnTaskDevice current(task.device);
  const CostsOfTask held(task);
  const DeviceBuffer<double> phi = on_device(rows.phi);
  const DeviceBuffer<double> psi = on_device(rows.psi);
  const DeviceBuffer<double> u = on_device(rows.u);
  const DeviceBuffer<double> v = on_device(rows.v);
  DeviceBuffer<std::size_t> row_places(rows.row_places.size());
  DeviceBuffer<std::size_t> column_places(rows.column_places.size());
  copy_to_device(rows.row_places, row_places.data());
  copy_to_device(rows.column_places, column_places.data());
  if (rows.row_places.size() < rows.rows || rows.column_places.size() < rows.columns) {
    std::visit(
        [&]<class T>(T* out) {
          check(cudaMemsetAsync(out, 0, rows.rows * rows.columns * sizeof(T), held.stream.get()), "clearing a plan");
        },
        rows.out);
  }
  write_plan(held.costs, {phi.data(), psi.data(), task.epsilon}, rows.lines,
             {u.data(), v.data(), rows.exponent, row_places.data(), column_places.data(), rows.out, rows.columns},
             held.stream.get());
  held.stream.wait();
}

std::vector<double> row_log_sums(const DeviceTask& task, std::span<const double> psi) {
  const OnTaskDevice current(task.device);
  const CostsOfTask held(task);
  const DeviceBuffer<double> potentials = on_device(psi);
  const DeviceBuffer<double> scratch(held.costs.scratch_size());
  const DeviceBuffer<double> sums(held.costs.rows());
  held.costs.row_log_sums(potentials.data(), task.epsilon, scratch.data(), sums.data(), held.stream.get());
  held.stream.wait();
  return on_host(sums);
}

std::vector<double> column_log_sums(const DeviceTask& task, std::span<const double> phi) {
  const OnTaskDevice current(task.device);
  const CostsOfTask held(task);
  const DeviceBuffer<double> potentials = on_device(phi);
  const DeviceBuffer<double> scratch(held.costs.scratch_size());
  const DeviceBuffer<double> sums(held.costs.columns());
  held.costs.column_log_sums(potentials.data(), nullptr, task.epsilon, scratch.data(), sums.data(), held.stream.get());
  held.stream.wait();
  return on_host(sums);
}

}  // namespace fedsinkhorn::cuda
