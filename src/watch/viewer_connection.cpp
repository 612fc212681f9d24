#include "watch/viewer_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace fedsinkhorn {
namespace {

using Clock = std::chrono::steady_clock;

/// Requests of browsers have some hundred bytes.
constexpr std::size_t kLargestRequest = std::size_t{1} << 16U;
constexpr std::chrono::milliseconds kForHangingUp{250};

/// Whether the socket is ready for that (or has failed, which the next call will tell) by then.
bool is_ready(int socket, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd waiting{socket, events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<std::chrono::milliseconds::rep>(0, left)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace

ViewerConnection::ViewerConnection(int socket, std::chrono::milliseconds for_request,
                                   std::chrono::milliseconds for_write)
    : socket_(socket), read_until_(Clock::now() + for_request), for_write_(for_write), bytes_left_(kLargestRequest) {}

bool ViewerConnection::is_readable() const { return is_ready(socket_, POLLIN, read_until_); }

bool ViewerConnection::is_writable() const {
  char next = 0;
  return is_ready(socket_, POLLOUT, Clock::now() + for_write_) &&
         ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

ssize_t ViewerConnection::read(char* data, std::size_t size) {
  if (bytes_left_ == 0 || !is_readable()) return -1;
  const ssize_t count = ::recv(socket_, data, std::min(size, bytes_left_), MSG_DONTWAIT);
  if (count > 0) bytes_left_ -= static_cast<std::size_t>(count);
  return count;
}

ssize_t ViewerConnection::write(const char* data, std::size_t size) {
  if (!is_writable()) return -1;
  return ::send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Nobody asks: requests are not logged.
void ViewerConnection::get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
void ViewerConnection::get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}

void ViewerConnection::end() {
  ::shutdown(socket_, SHUT_WR);
  const auto until = Clock::now() + kForHangingUp;
  std::array<char, 4096> unread{};
  while (is_ready(socket_, POLLIN, until) && ::recv(socket_, unread.data(), unread.size(), MSG_DONTWAIT) > 0) {
  }
}

}  // namespace fedsinkhorn
