#include "cli/new_folder.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <system_error>

#include "core/memory.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"

namespace fedsinkhorn {

namespace fs = std::filesystem;

NewFolder::NewFolder(const fs::path& path) {
  if (path.empty()) throw InputError("--output", "is empty", "name a folder");
  std::error_code error;
  for (fs::path missing = fs::absolute(path).lexically_normal(); !missing.empty() && !fs::exists(missing, error);
       missing = missing.parent_path()) {
    if (missing.has_filename()) created_.push_back(missing);
  }
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) {
    remove();
    throw InputError("--output " + path.string(), "cannot create the folder (" + error.message() + ")");
  }
  require_writable(path / "proof");
}

NewFolder::~NewFolder() {
  if (!kept_) remove();
}

void NewFolder::remove() noexcept {
  std::error_code ignored;
  for (const fs::path& folder : created_) fs::remove(folder, ignored);
}

void require_disk_space(const fs::path& folder, double bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || bytes <= static_cast<double>(space.available)) return;
  throw InputError("--output " + folder.string(), "not enough disk space (needs " +
                                                      human_bytes(static_cast<std::uint64_t>(std::min(bytes, 1e18))) +
                                                      ", " + human_bytes(space.available) + " available)");
}

}  // namespace fedsinkhorn
