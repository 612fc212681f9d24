// The folder results go to: there before the work starts, gone again if nothing comes of it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// Makes the folder (and missing parents) and proves that the named files can be written there, so that hours of work
/// are not lost for want of permission. Unless keep() is called, the folders it made are removed with it.
class OutputFolder {
 public:
  /// Throws InputError naming the flag and path.
  OutputFolder(const std::filesystem::path& path, std::span<const std::string> names);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return path_ / name; }
  void keep() { made_.clear(); }

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // innermost last
};

}  // namespace fedsinkhorn
