#include "io/output_folder.hpp"

#include <string>
#include <system_error>

#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

void remove_quietly(const std::vector<fs::path>& folders) {
  std::error_code ignored;
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) fs::remove(*folder, ignored);
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& path, std::span<const std::string> names) : path_(path) {
  const std::string name = "--output " + display_name(path);
  std::error_code error;
  if (path.empty()) throw InputError("--output", "is empty", "name a folder");
  if (fs::exists(path, error) && !fs::is_directory(path, error)) {
    throw InputError(name, "is not a folder", "name a folder, or a path where one can be made");
  }
  std::vector<fs::path> missing;
  // "up/../down" where there is no "up" still means "down".
  if (!fs::exists(path, error)) path_ = fs::absolute(path, error).lexically_normal();
  for (fs::path p = fs::absolute(path_, error).lexically_normal(); !p.empty() && !fs::exists(p, error);
       p = p.parent_path()) {
    if (p.has_filename()) missing.push_back(p);
    if (p == p.parent_path()) break;
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (fs::create_directory(*folder, error)) {
      made_.push_back(*folder);
    } else if (error) {
      remove_quietly(made_);
      throw InputError(name, "cannot be made: " + error.message());
    }
  }
  try {
    for (const std::string& file_name : names) const AtomicFile never_committed(file(file_name));
  } catch (const InputError& cause) {
    remove_quietly(made_);
    throw InputError(name, "cannot be written to", cause.what());
  }
}

OutputFolder::~OutputFolder() { remove_quietly(made_); }

}  // namespace fedsinkhorn
