#include "cli/check_keys.hpp"

#include <fmt/format.h>

#include <string>

#include "comm/identity.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

void check_keys(const KeyFiles& keys, std::size_t client, std::size_t clients) {
  const Trust trust = read_trust(keys.own, keys.fingerprints, client);
  if (!trust.own || keys.fingerprints.empty()) return;
  if (trust.fingerprints.size() != clients) {
    throw InputError("`fingerprints`", fmt::format("has {} of them", trust.fingerprints.size()),
                     fmt::format("there are {} clients", clients));
  }
  const std::string own = fingerprint_of(trust.own->public_key);
  if (own != trust.fingerprints[client]) {
    throw InputError("`key`", fmt::format("has the fingerprint {}", own),
                     fmt::format("for client {} the others expect {}", client, trust.fingerprints[client]));
  }
}

}  // namespace fedsinkhorn
