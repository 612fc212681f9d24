// The CUDA runtime with owners and exceptions.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::cuda {

/// The device or its driver failed. Not the user's input: that is found out before.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws if a call failed. Launches: check(cudaGetLastError(), "...").
inline void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  throw DeviceError(std::string("CUDA failed (") + doing + "): " + cudaGetErrorString(status));
}

/// Memory was predicted before; that it is refused all the same means that somebody else has taken it.
inline void check_allocation(cudaError_t status, std::size_t bytes) {
  if (status != cudaErrorMemoryAllocation) return check(status, "allocating memory");
  cudaGetLastError();  // it is not to be met again
  throw InputError("memory", "the device refused " + std::to_string(bytes) + " bytes",
                   "use --precision mixed, --kernel online with points, or --backend cpu");
}

/// Memory of the device that was current when it was made. Not initialised.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t size) : size_(size) {
    if (size > 0) check_allocation(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), bytes());
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// At least that many elements; what was there is lost if it grows.
  void reserve(std::size_t size) {
    if (size_ >= size) return;
    *this = DeviceBuffer();
    *this = DeviceBuffer(size);
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Host memory the device copies from and to without an extra copy by the driver.
template <class T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t size) : size_(size) {
    if (size > 0) check_allocation(cudaMallocHost(reinterpret_cast<void**>(&data_), bytes()), bytes());
  }
  ~PinnedBuffer() { cudaFreeHost(data_); }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void reserve(std::size_t size) {
    if (size_ >= size) return;
    *this = PinnedBuffer();
    *this = PinnedBuffer(size);
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  /// Until all that was queued is done. Looks often at first, since most waits are short; gives up on a device that
  /// has not answered for kLimit.
  void wait() const {
    using namespace std::chrono_literals;
    const auto start = std::chrono::steady_clock::now();
    while (true) {
      const cudaError_t status = cudaStreamQuery(stream_);
      if (status != cudaErrorNotReady) return check(status, "waiting for the device");
      const auto waited = std::chrono::steady_clock::now() - start;
      if (waited > kLimit) throw DeviceError("CUDA device: no answer for " + std::to_string(kLimit.count()) + " s");
      if (waited > 1ms) std::this_thread::sleep_for(20us);
    }
  }

 private:
  static constexpr std::chrono::seconds kLimit{600};
  cudaStream_t stream_ = nullptr;
};

}  // namespace fedsinkhorn::cuda
