// The fedsinkhorn program as its users meet it: a child process with arguments, output, an exit status and files.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace fedsinkhorn::test {

using Arguments = std::vector<std::string>;
using Shape = std::vector<std::size_t>;

// ---------------------------------------------------------------------------------------------------------------------
// Running

struct RunOptions {
  /// Generous: only a child that hangs should ever meet it, on a busy machine and under sanitizers too.
  std::chrono::seconds limit{60};
  /// The child's working folder; empty means that of the test.
  std::filesystem::path folder{};
  /// `signal` is sent once, as soon as this text has appeared on the child's standard error.
  std::string signal_after{};
  int signal = 0;
};

struct RunResult {
  int status = -1;  ///< exit status; 128 + signal if a signal ended the child
  std::string out;
  std::string err;
  bool signal_sent = false;
  std::size_t peak_bytes = 0;  ///< largest resident set
};

/// What the child was and said, for failure messages.
std::ostream& operator<<(std::ostream& stream, const RunResult& result);

/// Runs the binary under test and waits for it. A child that outlives the limit is killed and fails the test.
/// peak_bytes starts from this process's own peak (Linux keeps it across exec), so keep that small where it matters.
[[nodiscard]] RunResult run_binary(const Arguments& arguments, const RunOptions& options = {});

/// Splits at blanks; text between apostrophes stays together, as in a shell.
[[nodiscard]] Arguments words_of(const std::string& line);

// ---------------------------------------------------------------------------------------------------------------------
// Files

/// A fresh folder, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_bytes(const std::filesystem::path& path, const std::string& bytes);
[[nodiscard]] std::string read_bytes(const std::filesystem::path& path);

/// A version 1.0 header as NumPy writes it, lies included: nothing is checked.
[[nodiscard]] std::string npy_header(const std::string& descr, const std::string& shape, bool fortran_order = false);

template <class T>
[[nodiscard]] std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

void write_float32(const std::filesystem::path& path, std::span<const double> values, const std::string& shape);

struct Array {
  Shape shape;
  std::vector<double> values;
};

/// Reads a float64 array of any number of dimensions without the library's own reader, which takes two at most. Throws
/// std::runtime_error where NumPy would.
[[nodiscard]] Array read_npy(const std::filesystem::path& path);

[[nodiscard]] nlohmann::json read_json(const std::filesystem::path& path);

/// Names in a folder, sorted, hidden ones too.
[[nodiscard]] std::vector<std::string> listing(const std::filesystem::path& folder);

}  // namespace fedsinkhorn::test
