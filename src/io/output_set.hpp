// The files of one run, which replace those of an earlier run together.
//
//   1. Every file is written into a hidden folder within the output folder and flushed to the disk.
//   2. commit() gives that folder the name ".fedsinkhorn-commit". From here on the new set counts.
//   3. The old summary is put away, files of earlier runs that have no successor are removed, the new ones are moved
//      into place, summary.json last.
// A process killed before 2 leaves the old set as it was. One killed after 2 leaves what repair() completes; a mixture
// of old and new files, which is there for the microseconds of 3, has no summary.json. The hidden folder has a file
// that its process keeps locked: what is not locked was left by a process that is dead.
#pragma once

#include <filesystem>
#include <string>

namespace fedsinkhorn {

/// The name of a hidden folder, ".fedsinkhorn-" and ten random letters.
[[nodiscard]] std::string new_staging_name();

/// Removes hidden folders that dead processes left in an output folder, and completes a commit that was cut off. Leaves
/// those of running processes alone. Throws InputError when the system refuses.
void repair(const std::filesystem::path& folder);

/// A path as its reader knows it: without the hidden folder it may lie in for now.
[[nodiscard]] std::filesystem::path without_staging(const std::filesystem::path& path);

/// Used by one thread at a time. Throws InputError naming the path when the system refuses.
class OutputSet {
 public:
  /// Makes the hidden folder of that name, unless another process of this run has; this object is the one that commits.
  OutputSet(const std::filesystem::path& folder, const std::string& staging_name);
  /// Without commit() all that was staged is removed.
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  /// Where files are to be written, by this process or others of the run. A hidden file there, which is one that is
  /// not finished, is not taken along.
  [[nodiscard]] const std::filesystem::path& staging() const { return staging_; }

  /// Whether anything was staged.
  [[nodiscard]] bool has_files() const;

  /// All that was staged becomes the set. Waits a while for another process that is just committing to the same folder:
  /// the last one's set is there in the end, whole.
  void commit();

 private:
  std::filesystem::path folder_;
  std::filesystem::path staging_;
  int lock_ = -1;
  bool is_committed_ = false;
};

}  // namespace fedsinkhorn
