// Where a live page is served, and who may ask for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fedsinkhorn {

struct WatchAddress {
  std::string host = "127.0.0.1";  ///< of the loopback interface: 127.x.x.x or ::1
  std::uint16_t port = 0;          ///< 0: any that is free

  /// As in "http://127.0.0.1:8000", an IPv6 host in brackets.
  [[nodiscard]] std::string origin() const;
};

/// Of ADDRESS[:PORT], ADDRESS being 127.x.x.x, localhost, ::1 or [::1]. Throws InputError that names --watch: other
/// addresses would show the run to the network.
[[nodiscard]] WatchAddress parse_watch_address(std::string_view text);

/// Whether the Host header of a request names the loopback interface, with or without a port. A page from elsewhere
/// that had its name resolved to 127.0.0.1 (DNS rebinding) names itself instead.
[[nodiscard]] bool is_loopback_host(std::string_view header);

}  // namespace fedsinkhorn
