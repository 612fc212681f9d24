// The folder that generated files go to.
#pragma once

#include <filesystem>
#include <vector>

namespace fedsinkhorn {

/// Creates a folder and its missing parents, and removes them again unless kept.
class NewFolder {
 public:
  /// Throws InputError naming --output.
  explicit NewFolder(const std::filesystem::path& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void keep() { kept_ = true; }

 private:
  /// Innermost first. A folder that others have put something into is not empty and stays.
  void remove() noexcept;

  std::vector<std::filesystem::path> created_;
  bool kept_ = false;
};

/// Throws InputError naming --output if the folder's disk has less space than that.
void require_disk_space(const std::filesystem::path& folder, double bytes);

}  // namespace fedsinkhorn
