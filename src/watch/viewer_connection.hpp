// A connection to a browser, with limits on all it may do.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace fedsinkhorn {

/// Reads and writes a socket that is somebody else's. What is read is limited in size, and must all have come within a
/// time from construction; a write fails if the viewer takes nothing for that long. Nothing here raises SIGPIPE.
class ViewerConnection final : public httplib::Stream {
 public:
  ViewerConnection(int socket, std::chrono::milliseconds for_request, std::chrono::milliseconds for_write);

  [[nodiscard]] bool is_readable() const override;
  /// False if the viewer has hung up, too.
  [[nodiscard]] bool is_writable() const override;
  [[nodiscard]] ssize_t read(char* data, std::size_t size) override;
  [[nodiscard]] ssize_t write(const char* data, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  [[nodiscard]] int socket() const override { return socket_; }

  /// Says that there is no more to come, and waits a moment for the viewer to hang up: closing at once, with bytes of
  /// it unread, would take back what it has not read yet.
  void end();

 private:
  int socket_;
  std::chrono::steady_clock::time_point read_until_;
  std::chrono::milliseconds for_write_;
  std::size_t bytes_left_;
};

}  // namespace fedsinkhorn
