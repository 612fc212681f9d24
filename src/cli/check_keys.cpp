#include "cli/check_keys.hpp"

#include "comm/identity.hpp"

namespace fedsinkhorn {

void check_keys(const KeyFiles& keys, std::size_t client, std::size_t clients) {
  require_own_key(read_trust(keys.own, keys.fingerprints, client), client, clients);
}

}  // namespace fedsinkhorn
