// The files of one run, which replace those of an earlier run as a whole.
//
//   1. Every file is written to a hidden folder inside the output folder and flushed to disk.
//   2. commit() renames that folder to ".fedsinkhorn-commit". From here on the new set counts.
//   3. The old summary is moved away, old files without a successor are removed, and the new files are moved into
//      place, summary.json last.
// A process killed before 2 leaves the old set unchanged. If it is killed after 2, repair() completes the commit. The
// mixture of old and new files, which exists for the microseconds of 3, has no summary.json. The process keeps a file
// in the hidden folder locked: an unlocked folder was left by a dead process.
#pragma once

#include <filesystem>
#include <string>

namespace fedsinkhorn {

/// A name for a hidden folder: ".fedsinkhorn-" and ten random letters or digits.
[[nodiscard]] std::string new_staging_name();

/// Removes hidden folders that dead processes left in an output folder, and completes an unfinished commit. Does not
/// touch those of running processes. Throws InputError if a system call fails.
void repair(const std::filesystem::path& folder);

/// The final path, without the hidden folder that the file may be in for now.
[[nodiscard]] std::filesystem::path without_staging(const std::filesystem::path& path);

/// For one thread at a time. Throws InputError naming the path if a system call fails.
class OutputSet {
 public:
  /// Creates the hidden folder of that name, unless another process of this run has. Only this object commits it.
  OutputSet(const std::filesystem::path& folder, const std::string& staging_name);
  /// Removes all staged files unless committed.
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  /// Where this process and others of the run write files. Hidden files there are unfinished and not committed.
  [[nodiscard]] const std::filesystem::path& staging() const { return staging_; }

  /// Whether anything was staged.
  [[nodiscard]] bool has_files() const;

  /// Makes the staged files the current set. Waits a while for another process that is committing to the same folder:
  /// the last set to be committed remains, complete.
  void commit();

 private:
  std::filesystem::path folder_;
  std::filesystem::path staging_;
  int lock_ = -1;
  bool is_committed_ = false;
};

}  // namespace fedsinkhorn
