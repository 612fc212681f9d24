#include "io/output_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "io/output_set.hpp"
#include "io/result_names.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

/// Removes only empty folders: others may have put something there by now.
void remove_quietly(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) (void)::rmdir(folder.c_str());
}

/// Refuses an entry that has the name of a file to be written but is not a file: it would block it or be destroyed.
void require_files_to_fit(const fs::path& folder, std::span<const std::string> names) {
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator(folder, unknown)) {
    const std::string name = entry.path().filename().string();
    const bool is_taken = is_shared_result(name) || is_client_result(name) || std::ranges::count(names, name) > 0;
    if (!is_taken) continue;
    const fs::file_status status = fs::status(entry.path(), unknown);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      throw InputError(display_name(entry.path()), "is not a file, but has the name of one to be written");
    }
  }
}

}  // namespace

std::vector<fs::path> missing_folders(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path p = fs::absolute(path, error).lexically_normal(); !p.empty() && !fs::exists(p, error);
       p = p.parent_path()) {
    if (p.has_filename()) missing.push_back(p);
    if (p == p.parent_path()) break;
  }
  return missing;
}

OutputFolder::OutputFolder(const fs::path& path, std::span<const std::string> names,
                           const std::optional<std::vector<fs::path>>& missing)
    : path_(path) {
  const std::string name = "--output " + display_name(path);
  std::error_code error;
  if (path.empty()) throw InputError("--output", "is empty", "name a folder");
  if (fs::exists(path, error) && !fs::is_directory(path, error)) {
    throw InputError(name, "is not a folder", "name a folder, or a path where one can be made");
  }
  // "up/../down" means "down" even if there is no "up".
  if (!fs::exists(path, error)) path_ = fs::absolute(path, error).lexically_normal();
  made_ = missing ? *missing : missing_folders(path_);
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) {
    if (!fs::create_directory(*folder, error) && error) {
      remove_quietly(made_);
      throw InputError(name, "cannot be made: " + error.message());
    }
  }
  try {
    repair(path_);
    require_files_to_fit(path_, names);
    const OutputSet never_committed(path_, new_staging_name());
    require_writable(never_committed.staging() / "proof");
  } catch (const InputError& cause) {
    remove_quietly(made_);
    throw InputError(name, "cannot be written to", cause.what());
  }
}

OutputFolder::~OutputFolder() { remove_quietly(made_); }

}  // namespace fedsinkhorn
