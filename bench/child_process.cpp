#include "child_process.hpp"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

extern char** environ;

namespace fedsinkhorn::bench {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::runtime_error(what + ": " + std::generic_category().message(error));
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command) : name_(command.front()) {
  int ends[2];
  // A socket rather than two pipes: writing to a child that has died is an error then, not a signal.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail(errno, name_);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = posix_spawn(&pid_, command.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  socket_ = ends[0];
  if (error != 0) {
    close(socket_);
    fail(error, name_);
  }
}

ChildProcess::~ChildProcess() {
  close(socket_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void ChildProcess::write_line(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno, name_);
    sent += static_cast<std::size_t>(count);
  }
}

std::string ChildProcess::read_line() {
  for (;;) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (!receive()) throw std::runtime_error(name_ + ": ended without an answer");
  }
}

bool ChildProcess::receive() {
  char buffer[65536];
  for (;;) {
    const ssize_t count = recv(socket_, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno, name_);
    received_.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  }
}

std::string ChildProcess::read_to_end() {
  while (receive()) {
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  if (status != 0) throw std::runtime_error(name_ + ": failed, having said '" + received_ + "'");
  return std::move(received_);
}

std::string ChildProcess::ask(const std::string& line) {
  write_line(line);
  return read_line();
}

}  // namespace fedsinkhorn::bench
