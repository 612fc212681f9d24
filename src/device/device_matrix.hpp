// Matrices in the memory of a CUDA device, for callers that are no CUDA sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/range.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn::cuda {

/// A part of a matrix on a device.
struct DevicePart {
  const DeviceCostMatrix& matrix;
  Range rows;
  Range columns;
};

struct DeviceScan {
  /// NaN or -inf: its place in the part, counted row by row.
  std::optional<std::size_t> first_bad;
  bool has_forbidden = false;
  double largest = 0;  ///< of the finite ones, in absolute value
};

/// Reads every cost of the part once, on its device.
[[nodiscard]] DeviceScan scan(const DevicePart& part);

/// One entry, as float64.
[[nodiscard]] double entry_of(const DeviceCostMatrix& matrix, std::size_t row, std::size_t column);

/// All of it, to host memory for as many entries of its type.
void copy_to_host(const DeviceCostMatrix& matrix, void* to);

/// Waits for all work on the device's default stream, which others have queued.
void wait_for_default_stream(int device);

/// The calling thread's current device; -1: none, which can be set, too, and changes nothing.
[[nodiscard]] int current_device();
void set_current_device(int device) noexcept;

/// Makes the current device what it was, at the end: others in the process may rely on it.
class KeepCurrentDevice {
 public:
  KeepCurrentDevice() : before_(current_device()) {}
  ~KeepCurrentDevice() { set_current_device(before_); }
  KeepCurrentDevice(const KeepCurrentDevice&) = delete;
  KeepCurrentDevice& operator=(const KeepCurrentDevice&) = delete;

 private:
  int before_;
};

}  // namespace fedsinkhorn::cuda
