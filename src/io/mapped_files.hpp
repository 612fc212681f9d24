// Finds the file mapped at an address, for a signal handler.
#pragma once

#include <cstddef>
#include <string>

namespace fedsinkhorn {

struct MappedFileEntry;

/// During its lifetime, file_mapped_at() knows that [start, start + size) belongs to the file.
class MappedFile {
 public:
  MappedFile(const void* start, std::size_t size, const std::string& name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

 private:
  MappedFileEntry& entry_;
};

/// The name of the file mapped at this address, shortened if too long; null if none. Does not lock or allocate.
[[nodiscard]] const char* file_mapped_at(const void* address) noexcept;

}  // namespace fedsinkhorn
