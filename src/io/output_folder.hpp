// The folder results go to: there before the work starts, gone again if nothing comes of it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// The folder and its parents as far as they are not there, innermost first.
[[nodiscard]] std::vector<std::filesystem::path> missing_folders(const std::filesystem::path& path);

/// Makes the folder (and missing parents), repairs what an earlier run left (see OutputSet) and proves that results can
/// be written there, so that hours of work are not lost for want of permission. Unless keep() is called, the folders
/// that were missing are removed with it, if they are empty.
class OutputFolder {
 public:
  /// Throws InputError naming the flag and path.
  /// names: of files beside those of result_names.hpp. missing: missing_folders(path) before any process that writes
  /// there made one of them, so that the last one to go can remove them all.
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
