// Which file lies where in memory, for the handler of a signal.
#pragma once

#include <cstddef>
#include <string>

namespace fedsinkhorn {

struct MappedFileEntry;

/// As long as it lives, file_mapped_at() knows the bytes [start, start + size) for those of the file.
class MappedFile {
 public:
  MappedFile(const void* start, std::size_t size, const std::string& name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

 private:
  MappedFileEntry& entry_;
};

/// The name of the file that is mapped at this address, shortened if need be; null if none is. Takes no lock and
/// allocates nothing.
[[nodiscard]] const char* file_mapped_at(const void* address) noexcept;

}  // namespace fedsinkhorn
