#include "solve/link.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <random>
#include <span>
#include <string>

#include "core/parallel.hpp"
#include "fedsinkhorn/error.hpp"
#include "privacy/random_bits.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"

namespace fedsinkhorn {
namespace {

/// Almost certainly unique to this solve; 0 means none.
std::uint32_t new_session() {
  std::random_device device;
  return static_cast<std::uint32_t>(device()) | 1U;
}

SecretKey digest_key_of(const SecureSums& sums) {
  std::array<std::uint64_t, SecretKey::kSize / sizeof(std::uint64_t)> words{};
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string what = fmt::format("digests, word {}", k);
    words[k] = sums.pseudonym(std::as_bytes(std::span(what)));
  }
  SecretKey key;
  std::memcpy(key.data(), words.data(), SecretKey::kSize);
  return key;
}

/// No secret.
SecretKey digest_key_of_first(const Collectives& clients) {
  SecretKey key;
  if (clients.rank() == 0) SystemBits().fill({reinterpret_cast<std::byte*>(key.data()), SecretKey::kSize});
  clients.of(Payload::options).broadcast({reinterpret_cast<std::byte*>(key.data()), SecretKey::kSize}, 0);
  return key;
}

}  // namespace

bool has_server(const Options& options) { return options.server == Server::sums; }

Link::Link(Communicator& everyone, const Options& options)
    : everyone_(everyone),
      numbered_(everyone, everyone.rank() == 0 ? new_session() : 0),
      // A server does not know the numbers of messages; requests to it are numbered by themselves.
      policed_(has_server(options) ? everyone : static_cast<Communicator&>(numbered_)),
      traffic_(policed_),
      clients_(&traffic_) {
  if (!has_server(options)) return;
  check_server(options, everyone.size());
  everyone_.keep_to_server();
  policed_.obey(policy_of(options).make());
  without_server_ = without_last(traffic_);
  clients_ = without_server_.get();
  sums_ = make_secure_sums(make_served_summing(traffic_, *clients_), options.keys.own, options.keys.fingerprints);
}

void Link::agree_on_options(const Problem& problem, const Options& options, int threads) {
  if (!sums_) everyone_.keep_to_root(true);
  const Collectives all(*clients_, sums_ ? Route::through_server : Route::through_root, std::nullopt, sums_.get());
  agree(all, [&] {
    check_options(options, clients());
    if (!sums_) policed_.obey(policy_of(options).make());
    reserve_threads(threads);
  });
  require_common_options(all, problem, options);
}

void Link::decline(const std::string& line, const Options& options) {
  everyone_.keep_to_root(true);
  policed_.obey(policy_of(options).make());
  agree(Collectives(*clients_, Route::through_root), [&] { throw InputError(line); });
  throw InputError(line);
}

Collectives Link::connect(const TopologyEntry& topology, const Options& options) {
  const Route route = sums_ ? Route::through_server : topology.route;
  if (!sums_) {
    everyone_.keep_to_root(route == Route::through_root);
    if (clients() > 1 && policy_of(options).adds_securely) {
      sums_ = make_secure_sums(make_peer_summing(*clients_), options.keys.own, options.keys.fingerprints);
    }
  }
  const SecretKey digest_key = sums_ ? digest_key_of(*sums_) : digest_key_of_first(Collectives(*clients_, route));
  return Collectives(*clients_, route, std::nullopt, sums_.get(), digest_key);
}

}  // namespace fedsinkhorn
