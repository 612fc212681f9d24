// A child that is talked to line by line, or listened to until it ends.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fedsinkhorn::bench {

/// Of the children that need one: Debian's, which sees Debian's packages.
constexpr const char* kPython = "/usr/bin/python3";

/// Its standard input and output are one end of a socket, the other is held here; its errors go where ours do. Between
/// questions the child waits in a read and takes no processor time. Used by one thread.
class ChildProcess {
 public:
  /// command: program (a path) and arguments. Throws std::runtime_error when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command);
  /// Closes the connection, on which the child is expected to end, and waits for it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void write_line(const std::string& line);
  /// Without the newline. Throws std::runtime_error when the child has ended.
  [[nodiscard]] std::string read_line();
  [[nodiscard]] std::string ask(const std::string& line);
  /// What else it says until it ends. Throws std::runtime_error when it ends with another status than 0.
  [[nodiscard]] std::string read_to_end();

 private:
  /// One more piece of what the child says is in received_; false at its end.
  bool receive();

  std::string name_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string received_;  // beyond the last line handed out
};

}  // namespace fedsinkhorn::bench
