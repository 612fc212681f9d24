// Error messages of runs that end with ClientLost.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// "client 2 has", "clients 2 and 5 have", "clients 0, 2 and 5 have".
[[nodiscard]] inline std::string clients_have(const std::vector<std::size_t>& ranks) {
  std::string text = ranks.size() == 1 ? "client " : "clients ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text + (ranks.size() == 1 ? " has" : " have");
}

[[nodiscard]] inline std::string line_of_silence(const std::vector<std::size_t>& silent, double timeout) {
  return fmt::format("{} not answered for {:.3g} s", clients_have(silent), timeout);
}

[[nodiscard]] inline std::string line_of_silent_server(double timeout) {
  return fmt::format("the server has not answered for {:.3g} s", timeout);
}

/// peer: " with client 3", or empty if unknown.
[[nodiscard]] inline std::string line_of_no_exchange(std::size_t rank, const std::string& peer, double timeout) {
  return fmt::format(
      "an exchange of client {}{} did not come about within {:.3g} s although all clients answer; a longer `timeout` "
      "may help",
      rank, peer, timeout);
}

[[nodiscard]] inline std::string line_of_distrust(std::size_t client, const std::string& sent) {
  return fmt::format("client {} sent {}; its program may be broken or of another version", client, sent);
}
[[nodiscard]] inline std::string line_of_size(std::size_t came, std::size_t expected) {
  return fmt::format("a message of {} bytes where {} were expected", came, expected);
}

}  // namespace fedsinkhorn
