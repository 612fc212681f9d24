// Aligned memory for the inner loops.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace fedsinkhorn {

/// An array of T aligned to a cache line. Its content is undefined at first, so that the threads that will use a page
/// touch it first. Large arrays ask for huge pages: streaming through 4 KiB pages wastes bandwidth.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : data_(allocate(size)), size_(size) {}

  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return data_.get()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data_.get()[i]; }
  [[nodiscard]] std::span<T> span() { return {data(), size_}; }
  [[nodiscard]] std::span<const T> span() const { return {data(), size_}; }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };

  static T* allocate(std::size_t size) {
    const std::size_t bytes = size * sizeof(T);
    const std::size_t alignment = bytes >= 4 * kHugePage ? kHugePage : 64;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef __linux__
    if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);  // a hint: failure only costs speed
#endif
    return static_cast<T*>(memory);
  }

  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace fedsinkhorn
