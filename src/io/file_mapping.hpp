// A file in memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace fedsinkhorn {

/// A whole file, mapped for reading. The mapping outlives the descriptor.
class FileMapping {
 public:
  FileMapping(int descriptor, std::size_t size)
      : start_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0)), size_(size) {
    if (start_ == MAP_FAILED) throw std::system_error(errno, std::generic_category());
  }
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;
  ~FileMapping() { ::munmap(start_, size_); }
  [[nodiscard]] const std::byte* data() const { return static_cast<const std::byte*>(start_); }

  /// Releases the whole pages within [first, last); they are read again on the next access.
  void release(std::size_t first, std::size_t last) const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    first = (first + page - 1) / page * page;
    last = last / page * page;
    if (first < last) ::madvise(static_cast<std::byte*>(start_) + first, last - first, MADV_DONTNEED);
  }

 private:
  void* start_;
  std::size_t size_;
};

}  // namespace fedsinkhorn
