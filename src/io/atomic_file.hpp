// Files that appear complete or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedsinkhorn {

/// What a message calls a path: as given, but escaped and shortened (see core/printable.hpp); '' if it is empty.
[[nodiscard]] std::string display_name(const std::filesystem::path& path);

/// A file written under a temporary name in the same folder (".<final name>.XXXXXX") that takes its final name, and
/// replaces what was there, in commit(). Without commit() the temporary file is removed and the old one is untouched.
/// A symbolic link keeps pointing where it did: its target is replaced. Anything but a regular file (a folder,
/// /dev/null) is refused, since renaming over it would destroy it.
/// Flushed to the disk before it takes the name: what survives the death of the machine is the old file or the new one.
/// Used by one thread at a time. Every function throws InputError naming the path when the system refuses, and
/// std::logic_error when used after commit() or after such a failure: a file with a gap must not get the name.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  void flush();
  void write_through(std::span<const std::byte> bytes);
  void require_open() const;
  /// Closes and removes the temporary file, where there is one.
  void discard() noexcept;
  /// Discards, then throws InputError with the text of the errno value.
  [[noreturn]] void fail(int error);

  std::string name_;                 // for messages
  std::filesystem::path final_;      // absolute: a change of folder meanwhile must not move the file
  std::filesystem::path temporary_;  // empty when there is nothing to remove
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

/// Makes the names in a folder survive the death of the machine. Throws InputError if the disk fails.
void flush_folder(const std::filesystem::path& folder);

/// The whole content in one go.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace fedsinkhorn
