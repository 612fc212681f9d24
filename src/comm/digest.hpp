// Digests: 128 bits that tell whether clients have the same data, and nothing else about them to those without the key.
#pragma once

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "comm/ring.hpp"
#include "comm/secret_key.hpp"
#include "fedsinkhorn/matrix.hpp"

namespace fedsinkhorn {

using Digest = std::array<std::uint64_t, 2>;

/// BLAKE2b, keyed. Not safe to share between threads.
class KeyedHash {
 public:
  /// purpose: tells hashes with the same key apart; up to 16 characters count.
  KeyedHash(const SecretKey& key, std::string_view purpose);
  ~KeyedHash() { sodium_memzero(&state_, sizeof state_); }
  KeyedHash(const KeyedHash&) = delete;
  KeyedHash& operator=(const KeyedHash&) = delete;

  void add(std::span<const std::byte> bytes);
  /// Of all that was added. Nothing may be added afterwards.
  [[nodiscard]] Digest digest();

 private:
  crypto_generichash_blake2b_state state_{};
};

[[nodiscard]] Digest digest_of(const SecretKey& key, std::string_view purpose, std::span<const std::byte> bytes);

/// Of numbers that come in pieces of any length; as fast as they can be read. A number of float32 counts like the same
/// one of float64, and -0 like 0.
///
/// Pages of numbers m, as words of 64 bits, are hashed by NH, universal and fast: the sum of
/// (m_i + k_i) (m_i+1 + k_i+1) modulo 2^128 over even i, twice, with words k made from the key. Two pages that differ
/// agree with probability 2^-128. Who has the key could solve NH for one unknown number; of what is left of the pages
/// after BLAKE2b, one can only guess.
class NumbersDigest {
 public:
  /// threads: for pieces of more than 1 MiB.
  explicit NumbersDigest(const SecretKey& key, int threads = 1);
  ~NumbersDigest() { sodium_memzero(key_words_.data(), sizeof key_words_); }
  NumbersDigest(const NumbersDigest&) = delete;
  NumbersDigest& operator=(const NumbersDigest&) = delete;

  void add(std::span<const double> numbers) { add_any(numbers); }
  void add(std::span<const float> numbers) { add_any(numbers); }
  void add(const AnyMatrix& matrix);
  /// Of all that was added. Nothing may be added afterwards.
  [[nodiscard]] Digest digest();

  static constexpr std::size_t kPage = 512;
  using PageHash = std::array<Word, 2>;

 private:
  template <class T>
  void add_any(std::span<const T> numbers);
  template <class T>
  [[nodiscard]] std::size_t add_pages(std::span<const T> numbers);
  template <class T>
  [[nodiscard]] std::size_t add_to_page(std::span<const T> numbers);
  void end_page();

  KeyedHash whole_;  // of the hashes of pages
  std::uint64_t count_ = 0;
  std::array<double, kPage> page_{};  // begun, then zeros
  std::array<std::uint64_t, kPage + 2> key_words_{};
  const int threads_;
};

}  // namespace fedsinkhorn
