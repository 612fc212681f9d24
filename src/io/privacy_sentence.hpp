// What a run has told other clients, in a sentence.
#pragma once

#include <string>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// Empty for one client.
[[nodiscard]] inline std::string privacy_sentence(const Result& result, const Options& options) {
  if (result.client_count < 2) return "";
  if (options.policy == "open") {
    return "not private: from what they were sent, clients can work out costs and masses of others";
  }
  if (options.policy != "sums") return "";
  std::string text = "clients have seen sums over all clients alone";
  if (options.server == Server::sums) text += ", and the server masked numbers alone";
  if (options.server == Server::sums && options.keys.fingerprints.empty()) {
    text += ", if the server has passed on their keys unchanged";
  }
  if (result.client_count == 2) text += "; of two clients, each can subtract its own part and has the other's";
  return text;
}

}  // namespace fedsinkhorn
