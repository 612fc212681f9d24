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
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <thread>

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

  [[nodiscard]] pid_t spawn(const Arguments& arguments) const {
    std::string binary = FEDSINKHORN_BINARY;
    Arguments copies = arguments;
    std::vector<char*> words = {binary.data()};
    for (std::string& word : copies) words.push_back(word.data());
    words.push_back(nullptr);
    std::vector<char*> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
    // Tests share their cores, with each other if nothing else. OpenMP threads that spin while they wait for one that
    // has lost its core make such runs twenty times slower.
    std::string patience = "OMP_WAIT_POLICY=passive";
    if (std::getenv("OMP_WAIT_POLICY") == nullptr) variables.push_back(patience.data());
    variables.push_back(nullptr);
    pid_t child = 0;
    require(posix_spawn(&child, binary.c_str(), &actions_, &attributes_, words.data(), variables.data()),
            FEDSINKHORN_BINARY);
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

}  // namespace

std::ostream& operator<<(std::ostream& stream, const RunResult& result) {
  return stream << "exit status " << result.status << "\nstdout: " << result.out << "\nstderr: " << result.err;
}

RunResult run_binary(const Arguments& arguments, const RunOptions& options) {
  Pipe out;
  Pipe err;
  const pid_t child = SpawnPlan(options.folder, out.writing(), err.writing()).spawn(arguments);
  out.close_writing();
  err.close_writing();

  RunResult result;
  const auto deadline = Clock::now() + options.limit;
  const auto time_left = [&] { return Clock::now() < deadline; };
  while ((out.reading() >= 0 || err.reading() >= 0) && time_left()) {
    // A negative descriptor is one that poll() skips.
    std::array<pollfd, 2> ready = {pollfd{out.reading(), POLLIN, 0}, pollfd{err.reading(), POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), milliseconds_until(deadline)) <= 0) continue;
    if (ready[0].revents != 0) out.drain(result.out);
    if (ready[1].revents != 0) err.drain(result.err);
    if (options.signal != 0 && !result.signal_sent && result.err.find(options.signal_after) != std::string::npos) {
      result.signal_sent = ::kill(child, options.signal) == 0;
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
    ::kill(child, SIGKILL);
    ::wait4(child, &status, 0, &usage);
    ADD_FAILURE() << "still running after " << options.limit.count() << " s: " << ::testing::PrintToString(arguments)
                  << "\nstdout: " << result.out << "\nstderr: " << result.err;
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.peak_bytes = static_cast<std::size_t>(usage.ru_maxrss) * 1024;
  return result;
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

TemporaryFolder::TemporaryFolder() {
  std::string name = ::testing::TempDir() + "fedsinkhorn_cli_XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) require(errno, "mkdtemp");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
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
