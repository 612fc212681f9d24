// The folder results go to: there before the work starts, gone again if nothing comes of it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// Makes the folder (and missing parents), repairs what an earlier run left (see OutputSet) and proves that results can
/// be written there, so that hours of work are not lost for want of permission. Unless keep() is called, the folders it
/// made are removed with it.
class OutputFolder {
 public:
  /// Throws InputError naming the flag and path.
  /// names: of files beside those of result_names.hpp.
  explicit OutputFolder(const std::filesystem::path& path, std::span<const std::string> names = {});
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return path_ / name; }
  void keep() { made_.clear(); }

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // innermost last
};

}  // namespace fedsinkhorn
