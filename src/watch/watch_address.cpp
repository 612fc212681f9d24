#include "watch/watch_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/printable.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

struct HostAndPort {
  std::string_view host;
  std::optional<std::string_view> port{};
};

/// "host", "host:port", "[host]:port" or an IPv6 host without brackets.
HostAndPort split_at_port(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {text};
    const std::string_view rest = text.substr(end + 1);
    if (rest.empty()) return {text.substr(1, end - 1)};
    return rest.front() == ':' ? HostAndPort{text.substr(1, end - 1), rest.substr(1)} : HostAndPort{text};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) return {text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_localhost(std::string_view host) {
  constexpr std::string_view kName = "localhost";
  return std::ranges::equal(host, kName, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

bool is_ipv4_loopback(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24U) == 127;
}

bool is_ipv6_loopback(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET6, host.c_str(), &address) == 1 && IN6_IS_ADDR_LOOPBACK(&address);
}

}  // namespace

std::string WatchAddress::origin() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("http://[{}]:{}", host, port) : fmt::format("http://{}:{}", host, port);
}

WatchAddress parse_watch_address(std::string_view text) {
  const auto [host, port] = split_at_port(text);
  WatchAddress address;
  address.host = is_localhost(host) ? address.host : std::string(host);
  if (!is_ipv4_loopback(address.host) && !is_ipv6_loopback(address.host)) {
    throw InputError("--watch",
                     fmt::format("'{}' is no address that only this machine can reach", printable_word(text)),
                     "use 127.0.0.1 or ::1, with or without :PORT; from elsewhere, a tunnel by ssh -L reaches it");
  }
  if (port) {
    const std::optional<std::uint16_t> number = port_of(*port);
    if (!number) {
      throw InputError("--watch", fmt::format("'{}' is no port", printable_word(*port)),
                       "use one from 0 to 65535; 0 is any that is free");
    }
    address.port = *number;
  }
  return address;
}

bool is_loopback_host(std::string_view header) {
  const auto [host, port] = split_at_port(header);
  if (port && !port_of(*port)) return false;
  const std::string name(host);
  return is_localhost(host) || is_ipv4_loopback(name) || (header.starts_with('[') && is_ipv6_loopback(name));
}

}  // namespace fedsinkhorn
