// Random bits for noise: the operating system's, or seeded ones for experiments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/ring.hpp"
#include "comm/secret_key.hpp"

namespace fedsinkhorn {

/// A source of uniform bits. Not safe to share between threads.
class RandomBits {
 public:
  RandomBits() = default;
  /// Wipes what is buffered.
  virtual ~RandomBits();
  RandomBits(const RandomBits&) = delete;
  RandomBits& operator=(const RandomBits&) = delete;

  /// Whether nobody can predict them. A summary must say so if not.
  [[nodiscard]] virtual bool is_private() const = 0;
  /// Fresh bytes, past those buffered for the calls below.
  virtual void fill(std::span<std::byte> bytes) = 0;

  /// 64 of them.
  [[nodiscard]] std::uint64_t bits() {
    if (next_ == words_.size()) refill();
    const std::uint64_t word = words_[next_];
    words_[next_++] = 0;
    return word;
  }
  /// One of them.
  [[nodiscard]] bool coin() {
    if (coins_ <= 1) coins_ = bits() | kLastCoin;  // 63 coins and a mark above them
    const bool is_head = (coins_ & 1U) != 0;
    coins_ >>= 1U;
    return is_head;
  }
  /// In {0, ..., bound - 1}, all equally likely. bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
    // Lemire 2019: the high word of bits * bound, drawn again for the few low words that would favour some results.
    Word product = Word{bits()} * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t excess = (0 - bound) % bound;  // 2^64 mod bound
      while (static_cast<std::uint64_t>(product) < excess) product = Word{bits()} * bound;
    }
    return static_cast<std::uint64_t>(product >> 64U);
  }
  /// The same for bounds of 128 bits.
  [[nodiscard]] Word wide_below(Word bound);

 private:
  static constexpr std::uint64_t kLastCoin = std::uint64_t{1} << 63U;
  void refill();

  std::uint64_t coins_ = 1;
  std::array<std::uint64_t, 512> words_{};
  std::size_t next_ = words_.size();
};

/// The operating system's generator, by way of libsodium. Throws std::runtime_error if there is none.
class SystemBits final : public RandomBits {
 public:
  SystemBits();
  [[nodiscard]] bool is_private() const override { return true; }
  void fill(std::span<std::byte> bytes) override;
};

/// ChaCha20: the same bits for the same seed and stream, unrelated ones for others. For experiments; who knows the seed
/// can take the noise off again.
class SeededBits final : public RandomBits {
 public:
  SeededBits(std::uint64_t seed, std::uint64_t stream);
  [[nodiscard]] bool is_private() const override { return false; }
  /// Begins with a fresh block of 64 bytes.
  void fill(std::span<std::byte> bytes) override;

 private:
  SecretKey key_;
  std::uint64_t stream_;
  std::uint64_t block_ = 0;
};

}  // namespace fedsinkhorn
