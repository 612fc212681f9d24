#include "io/output_set.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "io/descriptor.hpp"
#include "io/result_names.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view kPrefix = ".fedsinkhorn-";
constexpr const char* kCommit = ".fedsinkhorn-commit";
constexpr const char* kLock = "lock";
// The names of the new set.
constexpr const char* kManifest = "manifest";
// The old summary, moved away. It shows that the files of single clients belong to an earlier run.
constexpr const char* kOldSummary = "old-summary";
// Moving a few files takes microseconds, on a network disk perhaps a second.
constexpr auto kOthersCommit = 20s;

[[noreturn]] void refuse(const fs::path& folder, int error) {
  throw InputError(display_name(folder), "cannot be written to: " + std::generic_category().message(error));
}

bool is_staging(std::string_view name) { return name.starts_with(kPrefix); }

enum class Locking { done, held_by_another, not_to_be_had };

/// Locks a hidden folder through a file in it. If done, `descriptor` is that file.
Locking try_lock(const fs::path& staging, int& descriptor) {
  descriptor = ::open((staging / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno == ENOENT ? Locking::held_by_another : Locking::not_to_be_had;
  struct stat status {};
  Locking locking = Locking::done;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    locking = errno == EWOULDBLOCK ? Locking::held_by_another : Locking::not_to_be_had;
  } else if (::fstat(descriptor, &status) != 0 || status.st_nlink == 0) {
    locking = Locking::held_by_another;  // its owner has removed it with the folder
  }
  if (locking != Locking::done) ::close(std::exchange(descriptor, -1));
  return locking;
}

void remove_staging(const fs::path& staging) {
  std::error_code ignored;  // the next run removes the rest
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(staging, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    if (entry->path().filename() != kLock) files.push_back(entry->path());
  }
  for (const fs::path& file : files) fs::remove(file, ignored);
  fs::remove(staging / kLock, ignored);  // last: until then no other process considers it abandoned
  fs::remove(staging, ignored);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

std::vector<std::string> staged_in(const fs::path& staging) {
  std::vector<std::string> names = names_in(staging);
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.') || name == kLock; });
  return names;
}

bool is_there(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Gives a file a second name: removing its only name takes milliseconds per megabyte.
void keep_until_later(const fs::path& file, const fs::path& second_name) {
  std::error_code ignored;  // not every file system supports it
  fs::create_hard_link(file, second_name, ignored);
}

/// Step 3 of a commit, or the rest of it; idempotent. The caller holds the lock.
void move_into_place(const fs::path& folder) {
  const fs::path commit = folder / kCommit;
  const std::vector<std::string> staged = lines_of(commit / kManifest);
  const auto contains = [](const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const bool has_summary = contains(staged, kSummaryName);
  if (has_summary && !is_there(commit / kSummaryName)) return;  // the summary moves last

  const bool is_results_folder = is_there(folder / kSummaryName) || is_there(commit / kOldSummary);
  std::vector<std::string> without_successor;
  for (const std::string& name : names_in(folder)) {
    if (!is_shared_result(name) && !(is_results_folder && is_client_result(name))) continue;
    keep_until_later(folder / name, commit / (".old-" + name));
    if (name != kSummaryName && !contains(staged, name)) without_successor.push_back(name);
  }
  // From here to the end of the function the set is a mixture: a few renames of about 20 us each. A thread that has
  // just been scheduled is unlikely to be preempted in between.
  std::this_thread::yield();
  if (is_there(folder / kSummaryName)) fs::rename(folder / kSummaryName, commit / kOldSummary);
  for (const std::string& name : without_successor) fs::remove(folder / name);
  for (const std::string& name : staged) {
    if (name != kSummaryName && is_there(commit / name)) fs::rename(commit / name, folder / name);
  }
  if (has_summary) fs::rename(commit / kSummaryName, folder / kSummaryName);
}

/// Call once the hidden folder has been renamed to kCommit.
void complete(const fs::path& folder) {
  move_into_place(folder);
  flush_folder(folder);
  remove_staging(folder / kCommit);
}

}  // namespace

std::string new_staging_name() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string name(kPrefix);
  for (int i = 0; i < 10; ++i) name += kLetters[letter(device)];
  return name;
}

fs::path without_staging(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return is_staging(folder.filename().string()) ? folder.parent_path() / path.filename() : path;
}

void repair(const fs::path& folder) {
  try {
    for (const std::string& name : names_in(folder)) {
      if (!is_staging(name) || !fs::is_directory(fs::symlink_status(folder / name))) continue;
      int lock = -1;
      if (try_lock(folder / name, lock) != Locking::done) continue;
      const Descriptor held(lock);
      if (name == kCommit) {
        complete(folder);
      } else {
        remove_staging(folder / name);
      }
    }
  } catch (const fs::filesystem_error& error) {
    refuse(folder, error.code().value());
  }
}

OutputSet::OutputSet(const fs::path& folder, const std::string& staging_name)
    : folder_(folder), staging_(folder / staging_name) {
  // Until it is locked, another process that repairs the folder may consider the hidden folder abandoned.
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::error_code error;
    fs::create_directories(staging_, error);  // also the output folder, if it has been removed
    if (error) refuse(folder_, error.value());
    // If files cannot be locked, nothing is cleaned up either.
    if (try_lock(staging_, lock_) != Locking::held_by_another) return;
    std::this_thread::sleep_for(1ms);
  }
  refuse(folder_, EAGAIN);
}

OutputSet::~OutputSet() {
  if (!is_committed_) remove_staging(staging_);
  if (lock_ >= 0) ::close(lock_);
}

bool OutputSet::has_files() const { return !staged_in(staging_).empty(); }

void OutputSet::commit() {
  try {
    std::string manifest;
    for (const std::string& name : staged_in(staging_)) manifest += name + "\n";
    write_file_atomically(staging_ / kManifest, manifest);
    const auto end = std::chrono::steady_clock::now() + kOthersCommit;
    // rename() replaces a folder only if it is empty.
    while (::rename(staging_.c_str(), (folder_ / kCommit).c_str()) != 0) {
      if (errno != ENOTEMPTY && errno != EEXIST) refuse(folder_, errno);
      if (std::chrono::steady_clock::now() > end) {
        throw InputError(display_name(folder_), "another process has been writing results there for too long",
                         "remove " + display_name(folder_ / kCommit) + " if there is none");
      }
      repair(folder_);
      std::this_thread::sleep_for(1ms);
    }
    is_committed_ = true;
    flush_folder(folder_);
    complete(folder_);
  } catch (const fs::filesystem_error& error) {
    refuse(folder_, error.code().value());
  }
}

}  // namespace fedsinkhorn
