// Sums over clients of which nobody sees a summand.
//
// Every client masks its words before they leave (comm/mask_keys.hpp). Nobody can tell the masked words from random
// ones, except that the sum over all clients can be unmasked. Sums of integers do not depend on the order in which
// messages arrive.
//
// One word more is sent with every sum: a fingerprint of the others, made with a number that only clients know, and a
// share of a number that depends on the session and the counter. The sum of the fingerprints must be that of the sum.
// If a message was replayed, left out, counted twice, masked with another key or counter, or changed in one word, the
// run ends there. Who knows how it is made can change several words so that it is not noticed, and a client that lies
// about its own numbers is not noticed either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/mask_keys.hpp"
#include "comm/summing.hpp"
#include "core/exact_sum.hpp"
#include "core/range.hpp"

namespace fedsinkhorn {

/// A sum has fewer words: streams of ChaCha20 are numbered by block, in 32 bits.
inline constexpr std::size_t kMostWords = std::size_t{1} << 33U;

/// Going on would show more numbers than allowed. Thrown by all clients in the same place, before anything is sent.
class SumsSpent : public std::runtime_error {
 public:
  SumsSpent() : std::runtime_error("all sums that may be shown have been shown") {}
};

/// All verbs are collective: every client calls the same ones in the same order.
///
/// Masks hide summands. Each sum is shown to all clients, and is an equation about the data of all of them, so sums are
/// counted. A caller that adds up words says how many numbers they show of the clients' data: none if all clients know
/// the sum anyway.
class SecureSums {
 public:
  /// Agrees on keys. Collective. Throws InputError if this client is not the one that the others expect.
  explicit SecureSums(std::unique_ptr<Summing> summing, const Trust& trust = {});

  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] std::size_t clients() const { return clients_; }

  /// Numbers shown so far.
  [[nodiscard]] std::uint64_t shown() const { return shown_; }
  /// From now on, SumsSpent is thrown instead of showing more than this in all.
  void show_at_most(std::uint64_t numbers) { most_shown_ = numbers; }

  /// Replaces each word by its sum over all clients.
  void add_up(Payload kind, std::span<Word> words, std::uint64_t shows);
  /// The same for numbers of that format; shows them. Throws InputError if one does not fit; the others learn that this
  /// client gives up.
  void add_up(Payload kind, const FixedPoint& format, std::span<ExactSum> numbers);
  void add_up(Payload kind, const FixedPoint& format, std::span<double> numbers);
  /// Sets each flag that is set at any client. It does not show at how many.
  void any(Payload kind, std::vector<bool>& flags, std::uint64_t shows);
  /// Fills the whole, of which `own` is already there: other clients' parts as they are. For what all clients may know.
  void gather(Payload kind, std::span<std::byte> whole, Range own);

  /// See MaskKeys.
  [[nodiscard]] std::uint64_t pseudonym(std::span<const std::byte> what) const { return keys_.pseudonym(what); }

 private:
  [[noreturn]] void refuse(double number) const;

  std::unique_ptr<Summing> summing_;
  const std::size_t rank_;
  const std::size_t clients_;
  MaskKeys keys_;
  const Word multiplier_;      // of fingerprints
  std::uint64_t counter_ = 0;  // of the next sum; never used twice
  std::uint64_t shown_ = 0;
  std::uint64_t most_shown_ = std::numeric_limits<std::uint64_t>::max();
};

/// So many flags show what a number shows.
[[nodiscard]] constexpr std::uint64_t numbers_of_flags(std::size_t flags) { return (flags + 63) / 64; }

/// Agrees on keys by way of the files named (see read_trust). If this client cannot, the others are told.
[[nodiscard]] std::unique_ptr<SecureSums> make_secure_sums(std::unique_ptr<Summing> summing, const std::string& key,
                                                           const std::string& fingerprints);

/// Random words: a client that has no number to add must not let the others see the sum without it.
void fill_randomly(std::span<Word> words);
/// Words that stand for flags: 0 where it is not set, else random, so that sums show nothing but whether any is set.
[[nodiscard]] std::vector<Word> words_of_flags(const std::vector<bool>& flags);

}  // namespace fedsinkhorn
