// A temporary folder for a test, or for a benchmark and the processes it starts.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace fedsinkhorn {

/// Created empty; removed with its content in the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    // mkdtemp replaces the six X at the end.
    std::string name = (std::filesystem::temp_directory_path() / "fedsinkhorn-").string() + std::string(6, 'X');
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": cannot be made");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fedsinkhorn
