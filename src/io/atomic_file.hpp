// Files that appear complete or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedsinkhorn {

/// A path for messages: as given, but escaped and shortened (see core/printable.hpp); '' if empty.
[[nodiscard]] std::string display_name(const std::filesystem::path& path);

/// A file written under a temporary name in the same folder (".<final name>.<six random characters>"). commit() renames
/// it and so replaces the old file. Without commit() the temporary file is removed and the old one is untouched. A
/// symbolic link stays: its target is replaced. Anything but a regular file (a folder, /dev/null) is refused, since
/// renaming over it would destroy it.
/// The file is flushed to disk before it is renamed: after a machine crash there is the old file or the new one.
/// For one thread at a time. Every function throws InputError naming the path if the system call fails, and
/// std::logic_error if used after commit() or such a failure: an incomplete file must not get the final name.
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
  /// Closes and removes the temporary file, if any.
  void discard() noexcept;
  /// Discards the file, then throws InputError with the text of the errno value.
  [[noreturn]] void fail(int error);

  std::string name_;                 // for messages
  std::filesystem::path final_;      // absolute, so that a chdir does not move the file
  std::filesystem::path temporary_;  // empty if there is nothing to remove
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

/// Makes the names in a folder survive a machine crash. Throws InputError if the disk fails.
void flush_folder(const std::filesystem::path& folder);

/// Throws what writing the file would throw: called before long work, whose result it is for.
void require_writable(const std::filesystem::path& path);

/// Writes the whole content and commits.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace fedsinkhorn
