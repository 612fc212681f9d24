// The folder for results: created before the work starts, removed if there are no results.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// The folder and its parents, those that do not exist, innermost first.
[[nodiscard]] std::vector<std::filesystem::path> missing_folders(const std::filesystem::path& path);

/// Creates the folder (and missing parents), repairs what an earlier run left (see OutputSet) and checks that results
/// can be written, so that a missing permission does not cost hours of work. Unless keep() is called, the destructor
/// removes the folders that were missing, if they are empty.
class OutputFolder {
 public:
  /// Throws InputError naming the flag and path.
  /// names: of files besides those of result_names.hpp. missing: missing_folders(path) before any process of the run
  /// created one, so that the last process to end can remove them all.
  explicit OutputFolder(const std::filesystem::path& path, std::span<const std::string> names = {},
                        const std::optional<std::vector<std::filesystem::path>>& missing = {});
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return path_ / name; }
  void keep() { made_.clear(); }

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // innermost first
};

}  // namespace fedsinkhorn
