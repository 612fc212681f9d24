// The fedsinkhorn program as its users meet it: a child process with arguments, output, an exit status and files.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "io/temporary_folder.hpp"

namespace fedsinkhorn::test {

using Arguments = std::vector<std::string>;
using Json = nlohmann::json;
using Names = std::vector<std::string>;
using Shape = std::vector<std::size_t>;

// ---------------------------------------------------------------------------------------------------------------------
// Running

struct RunOptions {
  /// Generous: only a child that hangs should ever meet it, on a busy machine and under sanitizers too.
  std::chrono::seconds limit{60};
  /// The child's working folder; empty means that of the test.
  std::filesystem::path folder{};
  /// `signal` is sent once, as soon as this text has appeared on the child's standard error; empty: at once.
  std::string signal_after{};
  int signal = 0;
  /// Done instead of sending a signal, given the child's process number; true: it counts as sent.
  std::function<bool(int)> act{};
  /// Called with the child's process number and all of its standard error whenever there is more of it.
  std::function<void(int, const std::string&)> hear{};
  /// What is expected on standard error after the signal, see RunResult::answer_seconds.
  std::string answer{};
};

struct RunResult {
  int status = -1;  ///< exit status; 128 + signal if a signal ended the child
  std::string out;
  std::string err;
  bool signal_sent = false;
  double answer_seconds = -1;  ///< from the signal to the answer; negative: there was none
  double end_seconds = -1;     ///< from the signal to the end
  std::size_t peak_bytes = 0;  ///< largest resident set
};

/// What the child was and said, for failure messages.
std::ostream& operator<<(std::ostream& stream, const RunResult& result);
/// Status 2, nothing on standard output, and one line on standard error, which begins like this.
void expect_one_line(const RunResult& result, const std::string& begin);

/// Runs the binary under test and waits for it. A child that outlives the limit is killed and fails the test.
/// peak_bytes starts from this process's own peak (Linux keeps it across exec), so keep that small where it matters.
[[nodiscard]] RunResult run_binary(const Arguments& arguments, const RunOptions& options = {});

/// The same in this process, which takes a fraction of the time: for what ends soon, such as a refusal. Only the folder
/// counts of the options; nothing limits the time.
[[nodiscard]] RunResult run_here(const Arguments& arguments, const RunOptions& options = {});

/// Whether mpirun was there when the tests were built, and the program can be run under it.
[[nodiscard]] bool has_mpirun();

/// A part of an MPI run: that many ranks with these arguments, started by way of another program if one is given.
struct Ranks {
  std::size_t count = 1;
  Arguments arguments{};
  Arguments launcher{};
};

/// Runs the binary under mpirun, the parts one after the other (mpirun -n 1 ... : -n 2 ...). The child of the options
/// is mpirun; should it outlive the limit, its ranks go with it.
[[nodiscard]] RunResult run_ranks(const std::vector<Ranks>& parts, const RunOptions& options = {});

/// The process numbers of the ranks that this mpirun has started, by rank; 0 for one that is not there.
[[nodiscard]] std::vector<int> processes_of_ranks(int mpirun, std::size_t ranks);

/// Whether the process is gone, or dead and waiting for its parent to notice. Waits for that until the limit.
[[nodiscard]] bool ends_within(int process, std::chrono::seconds limit);

/// The lines of the program in a text, which may have mpirun's among them: those that start with "fedsinkhorn:".
[[nodiscard]] std::vector<std::string> own_lines(const std::string& text);

/// Splits at blanks; text between apostrophes stays together, as in a shell.
[[nodiscard]] Arguments words_of(const std::string& line);

/// The program with these words, in this process and in the folder of the test.
[[nodiscard]] inline RunResult run_line(const std::string& line) { return run_here(words_of(line)); }

[[nodiscard]] inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---------------------------------------------------------------------------------------------------------------------
// Files

/// What solve leaves in its output folder if nothing else is asked for.
inline const Names kResultFiles = {"f.npy", "g.npy", "summary.json", "trace.csv"};

/// Makes the folder that a command will run in what it is to be.
using Prepare = std::function<void(const std::filesystem::path&)>;

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
