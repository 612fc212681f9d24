// The CUDA runtime with owners and exceptions.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::cuda {

/// The device or its driver failed. Not caused by the user's input, which is checked before.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws if a call failed. Launches: check(cudaGetLastError(), "...").
inline void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  throw DeviceError(std::string("CUDA failed (") + doing + "): " + cudaGetErrorString(status));
}

/// Set when a device no longer responds. Freeing anything would wait for it, so nothing is freed.
inline std::atomic<bool> has_given_up = false;

/// Memory of the current device.
struct DeviceMemory {
  static cudaError_t allocate(void** data, std::size_t bytes) { return cudaMalloc(data, bytes); }
  static void free(void* data) { cudaFree(data); }
  static constexpr const char* owner = "the device";
  static constexpr const char* remedy = "use `precision` mixed, `kernel` online with points, or `backend` cpu";
};

/// Host memory that the device copies from and to without an extra copy by the driver.
struct PinnedMemory {
  static cudaError_t allocate(void** data, std::size_t bytes) { return cudaMallocHost(data, bytes); }
  static void free(void* data) { cudaFreeHost(data); }
  static constexpr const char* owner = "the host";
  static constexpr const char* remedy = "use `backend` cpu, or a smaller problem";
};

/// Not initialised.
template <class T, class Memory>
class OwnedMemory {
 public:
  OwnedMemory() = default;
  /// The need was predicted; if memory is refused all the same, another process has taken it.
  explicit OwnedMemory(std::size_t size) : size_(size) {
    if (size == 0) return;
    const cudaError_t status = Memory::allocate(reinterpret_cast<void**>(&data_), size * sizeof(T));
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // clears the error
      throw InputError("memory", Memory::owner + (" refused " + std::to_string(size * sizeof(T))) + " bytes",
                       Memory::remedy);
    }
    check(status, "allocating memory");
  }
  ~OwnedMemory() {
    if (!has_given_up) Memory::free(data_);
  }
  OwnedMemory(OwnedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  OwnedMemory& operator=(OwnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  OwnedMemory(const OwnedMemory&) = delete;
  OwnedMemory& operator=(const OwnedMemory&) = delete;

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// At least that many elements; the content is lost if it grows.
  void reserve(std::size_t size) {
    if (size_ >= size) return;
    *this = OwnedMemory();
    *this = OwnedMemory(size);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
using DeviceBuffer = OwnedMemory<T, DeviceMemory>;
template <class T>
using PinnedBuffer = OwnedMemory<T, PinnedMemory>;

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"); }
  ~Stream() {
    if (!has_given_up) cudaStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  /// Waits until all queued work is done. Polls often at first, since most waits are short; gives up on a device that
  /// has not responded for kLimit.
  void wait() const {
    using namespace std::chrono_literals;
    const auto start = std::chrono::steady_clock::now();
    while (true) {
      const cudaError_t status = cudaStreamQuery(stream_);
      if (status != cudaErrorNotReady) return check(status, "waiting for the device");
      const auto waited = std::chrono::steady_clock::now() - start;
      if (waited > kLimit) {
        has_given_up = true;
        throw DeviceError("CUDA device: no answer for " + std::to_string(kLimit.count()) + " s");
      }
      if (waited > 1ms) std::this_thread::sleep_for(20us);
    }
  }

 private:
  static constexpr std::chrono::seconds kLimit{600};
  cudaStream_t stream_ = nullptr;
};

}  // namespace fedsinkhorn::cuda
