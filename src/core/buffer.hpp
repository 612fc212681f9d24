// Aligned memory for the inner loops.
#pragma once

#include <algorithm>
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
  explicit Buffer(std::size_t size) : data_(allocate(size * sizeof(T))), size_(size) {}

  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return data_.get()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data_.get()[i]; }
  [[nodiscard]] std::span<T> span() { return {data(), size_}; }
  [[nodiscard]] std::span<const T> span() const { return {data(), size_}; }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  /// Frees what the aligned part was cut out of.
  struct Free {
    void* memory = nullptr;
    void operator()(T* /*aligned*/) const { std::free(memory); }
  };
  using Owned = std::unique_ptr<T, Free>;

  // Aligned by hand: what aligned_alloc has freed, glibc before 2.38 finds too small for the next one of the same size,
  // so buffers made and freed in turn made the heap grow.
  static Owned allocate(std::size_t bytes) {
    const std::size_t alignment = bytes >= 4 * kHugePage ? kHugePage : kLine;
    const std::size_t rounded = (std::max<std::size_t>(1, bytes) + kLine - 1) / kLine * kLine;
    std::size_t room = rounded + alignment;
    void* const memory = std::malloc(room);
    void* start = memory;
    if (memory == nullptr || std::align(alignment, rounded, start, room) == nullptr) throw std::bad_alloc();
#ifdef __linux__
    // A hint: failure only costs speed. The rest stays in small pages: a huge one would take up to 2 MB that nobody
    // uses.
    if (alignment == kHugePage) madvise(start, rounded / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
    return Owned(static_cast<T*>(start), Free{memory});
  }

  Owned data_;
  std::size_t size_ = 0;
};

}  // namespace fedsinkhorn
