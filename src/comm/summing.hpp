// Where masked words are added up: by the clients themselves, or by a server that does nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/ring.hpp"

namespace fedsinkhorn {

/// Collective: all clients call the same verbs in the same order.
class Summing {
 public:
  virtual ~Summing() = default;
  Summing() = default;
  Summing(const Summing&) = delete;
  Summing& operator=(const Summing&) = delete;

  /// The clients, without a server.
  [[nodiscard]] virtual Communicator& clients() const = 0;
  /// Every client's text, one after the other. All have the same length. In plain.
  [[nodiscard]] virtual std::string relay(const std::string& mine) = 0;
  /// Replaces each word by its sum over all clients, modulo 2^128. counter: the same at all clients.
  virtual void add_up(Payload kind, std::uint64_t counter, std::span<Word> words) = 0;
};

/// The clients add up: each one part of the words, or client 0 if they are few.
/// With W words, of which W_k are client k's part, client k sends 16 (W - W_k) bytes and 16 (c - 1) W_k bytes of sums.
[[nodiscard]] std::unique_ptr<Summing> make_peer_summing(Communicator& clients);
/// Up to so many words per client are few.
inline constexpr std::size_t kFewWords = 64;

/// How many each client adds up, including the word that is checked (comm/secure_sums.hpp).
[[nodiscard]] std::vector<std::size_t> words_added_by(std::size_t clients, std::size_t words);

/// The last of `everyone` is the server: see comm/sum_server.hpp. Each client sends it a request of 32 bytes and 16 W
/// bytes, and gets 16 W bytes.
[[nodiscard]] std::unique_ptr<Summing> make_served_summing(Communicator& everyone, Communicator& clients);

}  // namespace fedsinkhorn
