// Copies between host and device, and clearing, that are complete when they return.
//
// cudaMemcpy from pageable memory may return before the data has arrived, cudaMemset before it has started. Neither is
// ordered with the streams of this project, which are created with cudaStreamNonBlocking, so a kernel on such a stream
// could run first. So nothing else calls those two functions (tests/cuda/blocking_calls.cmake checks): what must be
// ordered is queued on the stream that uses it, and everything else goes through this file.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <vector>

#include "device/runtime.hpp"

namespace fedsinkhorn::cuda {

/// The data has arrived when this returns. Nothing on the device may use `to` meanwhile.
template <class T>
void copy_to_device(std::span<const T> from, T* to) {
  if (from.empty()) return;
  check(cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, cudaStreamPerThread),
        "copying to the device");
  check(cudaStreamSynchronize(cudaStreamPerThread), "copying to the device");
}

/// Precondition: the work that wrote `from` has been waited for, or ran on the default stream.
template <class T>
void copy_to_host(const T* from, std::span<T> to) {
  if (to.empty()) return;
  check(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost, cudaStreamPerThread),
        "copying from the device");
  check(cudaStreamSynchronize(cudaStreamPerThread), "copying from the device");
}

/// Every byte of the buffer is `byte` when this returns.
template <class T>
void fill_bytes(const DeviceBuffer<T>& buffer, unsigned char byte) {
  if (buffer.size() == 0) return;
  check(cudaMemsetAsync(buffer.data(), byte, buffer.size() * sizeof(T), cudaStreamPerThread), "filling device memory");
  check(cudaStreamSynchronize(cudaStreamPerThread), "filling device memory");
}

template <class T>
[[nodiscard]] DeviceBuffer<T> zeros_on_device(std::size_t size) {
  DeviceBuffer<T> buffer(size);
  fill_bytes(buffer, 0);
  return buffer;
}

template <class T>
[[nodiscard]] DeviceBuffer<T> on_device(const std::vector<T>& values) {
  DeviceBuffer<T> buffer(values.size());
  copy_to_device(std::span(values), buffer.data());
  return buffer;
}

/// Precondition as for copy_to_host.
template <class T>
[[nodiscard]] std::vector<T> on_host(const DeviceBuffer<T>& buffer) {
  std::vector<T> values(buffer.size());
  copy_to_host(buffer.data(), std::span(values));
  return values;
}

}  // namespace fedsinkhorn::cuda
