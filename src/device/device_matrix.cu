#include "device/device_matrix.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <variant>

#include "device/runtime.hpp"
#include "device/transfer.hpp"

namespace fedsinkhorn::cuda {
namespace {

constexpr unsigned kScanThreads = 256;
constexpr unsigned kScanBlocks = 2048;  // several for each multiprocessor

struct ScanSums {
  unsigned long long largest = 0;  // the bits of a double that is not negative: they are ordered like the numbers
  unsigned long long first_bad = ~0ULL;
  unsigned has_forbidden = 0;
};

template <class T>
__global__ void __launch_bounds__(kScanThreads)
    scan_entries(const T* data, std::size_t pitch, std::size_t rows, std::size_t columns, ScanSums* sums) {
  T largest = 0;
  unsigned long long first_bad = ~0ULL;
  bool has_forbidden = false;
  for (std::size_t i = blockIdx.x; i < rows; i += gridDim.x) {
    for (std::size_t j = threadIdx.x; j < columns; j += blockDim.x) {
      const T value = data[i * pitch + j];
      const T magnitude = fabs(value);
      if (isfinite(magnitude)) {
        largest = max(largest, magnitude);
      } else if (value > 0) {
        has_forbidden = true;
      } else {  // NaN or -inf
        first_bad = min(first_bad, static_cast<unsigned long long>(i * columns + j));
      }
    }
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    largest = max(largest, __shfl_xor_sync(~0U, largest, distance));
  }
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(static_cast<double>(largest)));
  if (threadIdx.x % 32 == 0) atomicMax(&sums->largest, bits);
  if (first_bad != ~0ULL) atomicMin(&sums->first_bad, first_bad);
  if (has_forbidden) atomicOr(&sums->has_forbidden, 1U);
}

/// The entries of a matrix from this one on.
template <class T>
const T* from(const MatrixView<T>& view, std::size_t row, std::size_t column) {
  return view.row(row) + column;
}

}  // namespace

DeviceScan scan(const DevicePart& part) {
  DeviceScan found;
  if (part.rows.empty() || part.columns.empty()) return found;
  const KeepCurrentDevice restored;
  check(cudaSetDevice(part.matrix.device), "choosing a device");
  const Stream stream;
  DeviceBuffer<ScanSums> sums(1);
  const ScanSums none;
  copy_to_device(std::span(&none, 1), sums.data());
  std::visit(
      [&](const auto& view) {
        const auto blocks = static_cast<unsigned>(std::min<std::size_t>(part.rows.size(), kScanBlocks));
        scan_entries<<<blocks, kScanThreads, 0, stream.get()>>>(from(view, part.rows.first, part.columns.first),
                                                                view.columns, part.rows.size(), part.columns.size(),
                                                                sums.data());
      },
      part.matrix.matrix);
  check(cudaGetLastError(), "scanning costs");
  stream.wait();
  ScanSums all;
  copy_to_host(static_cast<const ScanSums*>(sums.data()), std::span(&all, 1));
  if (all.first_bad != ~0ULL) found.first_bad = all.first_bad;
  found.has_forbidden = all.has_forbidden != 0;
  found.largest = std::bit_cast<double>(all.largest);
  return found;
}

double entry_of(const DeviceCostMatrix& matrix, std::size_t row, std::size_t column) {
  const KeepCurrentDevice restored;
  check(cudaSetDevice(matrix.device), "choosing a device");
  return std::visit(
      [&]<class T>(const MatrixView<T>& view) {
        T value = 0;
        copy_to_host(from(view, row, column), std::span(&value, 1));
        return static_cast<double>(value);
      },
      matrix.matrix);
}

void copy_to_host(const DeviceCostMatrix& matrix, void* to) {
  const KeepCurrentDevice restored;
  check(cudaSetDevice(matrix.device), "choosing a device");
  std::visit(
      [&]<class T>(const MatrixView<T>& view) {
        copy_to_host(view.data, std::span(static_cast<T*>(to), view.rows * view.columns));
      },
      matrix.matrix);
}

void wait_for_default_stream(int device) {
  const KeepCurrentDevice restored;
  check(cudaSetDevice(device), "choosing a device");
  check(cudaStreamSynchronize(cudaStreamLegacy), "waiting for the default stream");
}

int current_device() {
  int device = -1;
  if (cudaGetDevice(&device) == cudaSuccess) return device;
  cudaGetLastError();
  return -1;
}
void set_current_device(int device) noexcept {
  if (device >= 0 && cudaSetDevice(device) != cudaSuccess) cudaGetLastError();
}

}  // namespace fedsinkhorn::cuda
