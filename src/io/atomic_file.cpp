#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/printable.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/descriptor.hpp"
#include "io/output_set.hpp"

namespace fedsinkhorn {
namespace {

// Large enough to make the cost of a system call negligible, small enough to stay in the cache.
constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

// File names have at most 255 bytes; the temporary name is a few bytes longer than the final one.
constexpr std::size_t kLongestStem = 200;

std::string random_suffix() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::random_device device;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string suffix(6, ' ');
  for (char& c : suffix) c = kLetters[letter(device)];
  return suffix;
}

/// File systems that do not support fsync have nothing to flush.
bool could_not_flush(int descriptor) { return ::fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP; }

}  // namespace

std::string display_name(const std::filesystem::path& path) {
  const std::string name = printable_word(path.string());
  return name.empty() ? "''" : name;
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : name_(display_name(without_staging(path))) {
  namespace fs = std::filesystem;
  if (!path.has_filename()) throw InputError(name_, "cannot be written: it names no file", "give a file name");

  std::error_code ignored;  // errors are reported below, when the file is created
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) throw InputError(name_, "cannot be written: it is a folder", "give a file name");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw InputError(name_, "cannot be written: it is not a regular file", "give the name of a file to create");
  }
  // Follow a link to an existing file; make any other path absolute.
  std::error_code error;
  final_ = fs::is_regular_file(status) ? fs::canonical(path, error) : fs::absolute(path, error);
  if (error) fail(error.value());

  // Before the file is created: if this throws, no destructor would remove it.
  buffer_.reserve(kBufferBytes);

  // mkstemp() would make the file private, and the umask can only be read by changing it for all threads. Creating the
  // file exclusively with mode 0666 lets the system apply the umask.
  const std::string stem = "." + final_.filename().string().substr(0, kLongestStem) + ".";
  constexpr int kAttempts = 100;
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    fs::path candidate = final_.parent_path() / (stem + random_suffix());
    descriptor_ = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      temporary_ = std::move(candidate);
    } else if ((errno != EEXIST && errno != EINTR) || attempt == kAttempts) {
      fail(errno);
    }
  }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::span<const std::byte> bytes) {
  require_open();
  if (bytes.size() > kBufferBytes - buffer_.size()) flush();
  if (bytes.size() > kBufferBytes) {
    write_through(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  require_open();
  flush();
  if (could_not_flush(descriptor_)) fail(errno);
  // Some file systems report a full disk only here. The descriptor is closed either way.
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 && errno != EINTR) fail(errno);
  if (::rename(temporary_.c_str(), final_.c_str()) != 0) fail(errno);
  temporary_.clear();
  flush_folder(final_.parent_path());
}

void AtomicFile::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail(errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::require_open() const {
  if (descriptor_ < 0) throw std::logic_error("AtomicFile: " + name_ + " is closed: it was committed or failed");
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail(int error) {
  discard();
  std::string remedy;
  if (error == ENOENT) remedy = "create its folder first";
  if (error == EACCES || error == EPERM || error == EROFS) remedy = "choose a folder that may be written to";
  if (error == ENOSPC || error == EDQUOT) remedy = "free some space or choose another disk";
  throw InputError(name_, "cannot be written: " + std::generic_category().message(error), remedy);
}

void flush_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that is writable but not readable cannot be flushed; the file exists anyway.
  if (descriptor.get() < 0 || !could_not_flush(descriptor.get())) return;
  throw InputError(display_name(folder), "cannot be written to: " + std::generic_category().message(errno));
}

void require_writable(const std::filesystem::path& path) { const AtomicFile never_written(path); }

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace fedsinkhorn
