#include "cli/run_binary.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include "cli/run_program.hpp"
#include "support/mpirun_status.hpp"
#include "support/summary_schema.hpp"

#ifndef FEDSINKHORN_BINARY
#error "FEDSINKHORN_BINARY must name the program under test"
#endif

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

void require(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

/// A pipe whose ends close with it. Neither end leaks into other children.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) require(errno, "pipe2");
  }
  ~Pipe() {
    close_writing();
    close_reading();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int reading() const { return ends_[0]; }
  [[nodiscard]] int writing() const { return ends_[1]; }
  void close_reading() { close(ends_[0]); }
  void close_writing() { close(ends_[1]); }

  /// Appends what has arrived; closes the reading end when there will be no more.
  void drain(std::string& text) {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::read(reading(), buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      close_reading();
    }
  }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

/// As long as it lives, what is written to the stream goes to the text.
class Redirected {
 public:
  Redirected(std::FILE* stream, std::string& text) : stream_(stream), text_(text), own_(::dup(::fileno(stream))) {
    std::fflush(stream_);
    if (file_ == nullptr || own_ < 0) throw std::runtime_error("cannot redirect a stream");
    ::dup2(::fileno(file_), ::fileno(stream_));
  }
  ~Redirected() {
    std::fflush(stream_);
    ::dup2(own_, ::fileno(stream_));
    ::close(own_);
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text_ += static_cast<char>(c);
    std::fclose(file_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  std::FILE* stream_;
  std::string& text_;
  int own_;
  std::FILE* file_ = std::tmpfile();
};

class SpawnPlan {
 public:
  SpawnPlan(const fs::path& folder, int out, int err) {
    require(posix_spawn_file_actions_init(&actions_), "posix_spawn_file_actions_init");
    require(posix_spawnattr_init(&attributes_), "posix_spawnattr_init");
    require(posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0), "addopen");
    require(posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO), "adddup2");
    require(posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO), "adddup2");
    if (!folder.empty()) require(posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()), "addchdir");
    // Under nohup or a job runner SIGINT may be ignored, which children inherit.
    sigset_t signals;
    sigemptyset(&signals);
    require(posix_spawnattr_setsigmask(&attributes_, &signals), "setsigmask");
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&signals, signal);
    require(posix_spawnattr_setsigdefault(&attributes_, &signals), "setsigdefault");
    require(posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK), "setflags");
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// program: the path of the program, then its arguments. settings: variables of its environment, NAME=value; those
  /// of this process have precedence.
  [[nodiscard]] pid_t spawn(Arguments program, std::vector<std::string> settings) const {
    std::vector<char*> words;
    for (std::string& word : program) words.push_back(word.data());
    words.push_back(nullptr);
    std::vector<char*> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
    for (std::string& setting : settings) {
      if (std::getenv(setting.substr(0, setting.find('=')).c_str()) == nullptr) variables.push_back(setting.data());
    }
    variables.push_back(nullptr);
    pid_t child = 0;
    require(posix_spawn(&child, words.front(), &actions_, &attributes_, words.data(), variables.data()), words.front());
    return child;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::chrono::milliseconds::rep>(0, left));
}

/// The children of a process; empty if they cannot be told.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;  // gone meanwhile
    // "number (name) state parent ..."; the name may hold anything.
    std::istringstream rest(stat.substr(stat.rfind(')') + 1));
    std::string state;
    pid_t its_parent = 0;
    if (rest >> state >> its_parent && its_parent == parent) children.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return children;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Every summary.json below a folder, and when it was written.
std::map<fs::path, fs::file_time_type> summaries_in(const fs::path& folder) {
  std::map<fs::path, fs::file_time_type> found;
  if (folder.empty()) return found;
  const auto options = fs::directory_options::skip_permission_denied;
  std::error_code gone;  // meanwhile
  for (const auto& entry : fs::recursive_directory_iterator(folder, options, gone)) {
    if (entry.path().filename() != "summary.json" || !entry.is_regular_file(gone)) continue;
    found[entry.path()] = entry.last_write_time(gone);
  }
  return found;
}

/// Those that a run has written follow the schema, whether its test looks at them or not.
void expect_sound_summaries(const std::map<fs::path, fs::file_time_type>& before, const fs::path& folder) {
  for (const auto& [path, written] : summaries_in(folder)) {
    if (const auto old = before.find(path); old != before.end() && old->second == written) continue;
    EXPECT_EQ(testing::schema_violations(read_json(path)), "") << path;
  }
}

RunResult run_child(const Arguments& program, const std::vector<std::string>& settings, const RunOptions& options) {
  const auto summaries_before = summaries_in(options.folder);
  Pipe out;
  Pipe err;
  const pid_t child = SpawnPlan(options.folder, out.writing(), err.writing()).spawn(program, settings);
  out.close_writing();
  err.close_writing();

  RunResult result;
  const auto deadline = Clock::now() + options.limit;
  const auto time_left = [&] { return Clock::now() < deadline; };
  const auto has_said = [&](const std::string& text, std::size_t from) {
    return result.err.find(text, from) != std::string::npos;
  };
  Clock::time_point sent{};
  std::size_t said_before = 0;
  const auto signal_if_due = [&] {
    if ((options.signal == 0 && !options.act) || result.signal_sent || !has_said(options.signal_after, 0)) return;
    said_before = result.err.size();
    sent = Clock::now();
    result.signal_sent = options.act ? options.act(child) : ::kill(child, options.signal) == 0;
  };
  signal_if_due();
  while ((out.reading() >= 0 || err.reading() >= 0) && time_left()) {
    // A negative descriptor is one that poll() skips.
    std::array<pollfd, 2> ready = {pollfd{out.reading(), POLLIN, 0}, pollfd{err.reading(), POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), milliseconds_until(deadline)) <= 0) continue;
    if (ready[0].revents != 0) out.drain(result.out);
    if (ready[1].revents != 0) {
      err.drain(result.err);
      if (options.hear) options.hear(child, result.err);
    }
    signal_if_due();
    if (result.signal_sent && result.answer_seconds < 0 && !options.answer.empty() &&
        has_said(options.answer, said_before)) {
      result.answer_seconds = seconds_since(sent);
    }
  }

  // Both pipes are closed, as a rule because the child has ended; one that closed them itself still has the limit.
  int status = 0;
  rusage usage{};
  pid_t ended = 0;
  while ((ended = ::wait4(child, &status, WNOHANG, &usage)) == 0 && time_left()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended == 0) {
    for (const pid_t grandchild : children_of(child)) ::kill(grandchild, SIGKILL);
    ::kill(child, SIGKILL);
    ::wait4(child, &status, 0, &usage);
    ADD_FAILURE() << "still running after " << options.limit.count() << " s: " << ::testing::PrintToString(program)
                  << "\nstdout: " << result.out << "\nstderr: " << result.err;
  }
  if (result.signal_sent) result.end_seconds = seconds_since(sent);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.peak_bytes = static_cast<std::size_t>(usage.ru_maxrss) * 1024;
  expect_sound_summaries(summaries_before, options.folder);
  return result;
}

}  // namespace

void expect_one_line(const RunResult& result, const std::string& begin) {
  EXPECT_EQ(result.status, 2) << result;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.find(begin), 0U) << result;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result;
}

std::ostream& operator<<(std::ostream& stream, const RunResult& result) {
  return stream << "exit status " << result.status << "\nstdout: " << result.out << "\nstderr: " << result.err;
}

RunResult run_binary(const Arguments& arguments, const RunOptions& options) {
  Arguments program = {FEDSINKHORN_BINARY};
  program.insert(program.end(), arguments.begin(), arguments.end());
  return run_child(program, {}, options);
}

RunResult run_here(const Arguments& arguments, const RunOptions& options) {
  Arguments program = {FEDSINKHORN_BINARY};
  program.insert(program.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (std::string& word : program) words.push_back(word.data());
  words.push_back(nullptr);
  RunResult result;
  const fs::path before = fs::current_path();
  if (!options.folder.empty()) fs::current_path(options.folder);
  {
    const Redirected out(stdout, result.out);
    const Redirected err(stderr, result.err);
    result.status = run_program(static_cast<int>(program.size()), words.data());
  }
  fs::current_path(before);
  return result;
}

#ifdef FEDSINKHORN_MPIRUN
bool has_mpirun() { return true; }

RunResult run_ranks(const std::vector<Ranks>& parts, const RunOptions& options) {
  // The variables are for Open MPI and do not disturb others: it does not start more processes than there are cores,
  // nor anything as root, unless told to; pins processes to cores, on which other tests run too; and tries to read
  // other processes' memory, which containers forbid. MPI keeps memory to its end.
  const std::vector<std::string> settings = {"OMPI_ALLOW_RUN_AS_ROOT=1",
                                             "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                             "OMPI_MCA_rmaps_base_oversubscribe=1",
                                             "OMPI_MCA_hwloc_base_binding_policy=none",
                                             "OMPI_MCA_btl_vader_single_copy_mechanism=none",
                                             "ASAN_OPTIONS=detect_leaks=0"};
  Arguments program = {FEDSINKHORN_MPIRUN_THAT_ENDS, FEDSINKHORN_MPIRUN};
  const std::size_t words_of_mpirun = program.size();
  for (const Ranks& part : parts) {
    if (program.size() > words_of_mpirun) program.emplace_back(":");
    program.insert(program.end(), {"-n", std::to_string(part.count)});
    program.insert(program.end(), part.launcher.begin(), part.launcher.end());
    program.emplace_back(FEDSINKHORN_BINARY);
    program.insert(program.end(), part.arguments.begin(), part.arguments.end());
  }
  RunResult result = run_child(program, settings, options);
  result.status = testing::status_of_ranks(result.status, result.err);
  return result;
}
#else
bool has_mpirun() { return false; }

RunResult run_ranks(const std::vector<Ranks>& /*parts*/, const RunOptions& /*options*/) {
  throw std::logic_error("there was no mpirun when this was built");
}
#endif

std::vector<int> processes_of_ranks(int mpirun, std::size_t ranks) {
  std::vector<int> processes(ranks);
  for (const pid_t child : children_of(mpirun)) {
    std::ifstream file("/proc/" + std::to_string(child) + "/environ", std::ios::binary);
    for (std::string variable; std::getline(file, variable, '\0');) {
      constexpr std::string_view name = "OMPI_COMM_WORLD_RANK=";
      if (!variable.starts_with(name)) continue;
      const std::size_t rank = std::stoul(variable.substr(name.size()));
      if (rank < ranks) processes[rank] = child;
    }
  }
  return processes;
}

bool ends_within(int process, std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string stat;
    if (!std::getline(file, stat) || stat.find(") Z") != std::string::npos) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::vector<std::string> own_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("fedsinkhorn:")) lines.push_back(line);
  }
  return lines;
}

Arguments words_of(const std::string& line) {
  Arguments words;
  std::string word;
  bool inside_word = false;
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
      inside_word = true;
    } else if (!quoted && (c == ' ' || c == '\n')) {
      if (inside_word) words.push_back(word);
      word.clear();
      inside_word = false;
    } else {
      word += c;
      inside_word = true;
    }
  }
  if (inside_word) words.push_back(word);
  return words;
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream stream(path, std::ios::binary);
  if (!stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush()) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

std::string read_bytes(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string npy_header(const std::string& descr, const std::string& shape, bool fortran_order) {
  std::string dictionary = "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                           ", 'shape': " + shape + ", }";
  while ((10 + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  const std::string length{static_cast<char>(dictionary.size() & 0xffU), static_cast<char>(dictionary.size() >> 8U)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + dictionary;
}

void write_float32(const fs::path& path, std::span<const double> values, const std::string& shape) {
  std::vector<float> rounded(values.size());
  std::transform(values.begin(), values.end(), rounded.begin(), [](double x) { return static_cast<float>(x); });
  write_bytes(path, npy_header("<f4", shape) + bytes_of(rounded));
}

Array read_npy(const fs::path& path) {
  const std::string bytes = read_bytes(path);
  const auto refuse = [&](const char* reason) { throw std::runtime_error(path.string() + ": " + reason); };
  if (bytes.size() < 10 || bytes.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0) refuse("no .npy file");
  const std::size_t header_size = static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  const std::string header = bytes.substr(10, header_size);
  if (header.find("'descr': '<f8'") == std::string::npos) refuse("not float64");
  if (header.find("'fortran_order': False") == std::string::npos) refuse("not in C order");
  const std::size_t open = header.find('(');
  const std::size_t close = header.find(')', open);
  if (open == std::string::npos || close == std::string::npos) refuse("no shape");

  Array array;
  std::size_t size = 1;
  for (std::size_t at = open + 1; at < close;) {
    if (header[at] < '0' || header[at] > '9') {
      ++at;
      continue;
    }
    std::size_t digits = 0;
    array.shape.push_back(std::stoul(header.substr(at, close - at), &digits));
    size *= array.shape.back();
    at += digits;
  }
  if (bytes.size() != 10 + header_size + size * sizeof(double)) refuse("size and shape disagree");
  array.values.resize(size);
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(array.values.data(), bytes.data() + 10 + header_size, size * sizeof(double));
  return array;
}

nlohmann::json read_json(const fs::path& path) { return nlohmann::json::parse(read_bytes(path)); }

std::vector<std::string> listing(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace fedsinkhorn::test
