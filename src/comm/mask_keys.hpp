// Secret keys that pairs of clients share, and the masks made from them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/identity.hpp"
#include "comm/payload.hpp"
#include "comm/ring.hpp"

namespace fedsinkhorn {

/// The masks of one client. With PRG a stream of ChaCha20, numbered by kind and counter, client k's words are masked
/// with
///   sum over j > k of PRG(key_kj) - sum over j < k of PRG(key_kj),   at client 0 also + PRG(key of all clients),
/// modulo 2^128. In the sum over all clients, the masks of pairs cancel. What is left is masked with the last one,
/// which clients know and a server does not. Without the words of one client, those of the others are uniformly random.
///
/// The key of a pair is that of X25519, from keys of this session alone, hashed with all that clients have said about
/// themselves (the transcript), so that none is used in two sessions, and identities that are stolen later open none.
/// Clients that have identities sign the transcript: keys that were replaced on their way are not those that the owner
/// has signed.
class MaskKeys {
 public:
  /// Takes what this client says and returns what all clients say, in rank order; everyone says equally much.
  using Relay = std::function<std::string(const std::string&)>;
  /// Called when a client has sent something impossible; must throw. client: the number of clients if it is not known
  /// who; then `sent` is the whole line.
  using Distrust = std::function<void(std::size_t client, const std::string& sent)>;

  /// Draws a key pair and agrees on keys with the others. Collective: calls relay three times, whatever is trusted.
  /// Throws InputError if this client's identity is not the one others expect.
  MaskKeys(std::size_t rank, std::size_t clients, const Trust& trust, const Relay& relay, const Distrust& distrust);

  void mask(Payload kind, std::uint64_t counter, std::span<Word> words) const;
  /// Takes off the mask that is left in a sum.
  void unmask_sum(Payload kind, std::uint64_t counter, std::span<Word> words) const;

  /// Tells this session from all others; not secret.
  [[nodiscard]] std::uint64_t session() const;
  /// A number for `what` that only the clients of this session can link to it.
  [[nodiscard]] std::uint64_t pseudonym(std::span<const std::byte> what) const;

 private:
  struct Introduction;
  void exchange_signatures(const std::vector<Introduction>& said, const Trust& trust, const Relay& relay,
                           const Distrust& distrust) const;
  [[nodiscard]] SecretKey pair_key(const SecretKey& own, std::size_t client, const Introduction& other,
                                   const Distrust& distrust) const;
  void agree_on_common_key(const Relay& relay);

  std::size_t rank_;
  std::array<unsigned char, 32> transcript_{};  // hash of what all clients have said
  std::vector<SecretKey> of_pair_;              // by client; the own one is not used
  SecretKey of_all_;
};

}  // namespace fedsinkhorn
