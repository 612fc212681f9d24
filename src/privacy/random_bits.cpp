#include "privacy/random_bits.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace fedsinkhorn {
namespace {

static_assert(crypto_stream_chacha20_KEYBYTES == SecretKey::kSize);

void start_sodium() {
  if (sodium_init() < 0) throw std::runtime_error("the operating system gives no random numbers");
}

unsigned char* raw(std::span<std::byte> bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

}  // namespace

RandomBits::~RandomBits() {
  sodium_memzero(words_.data(), sizeof words_);
  sodium_memzero(&coins_, sizeof coins_);
}

void RandomBits::refill() {
  fill(std::as_writable_bytes(std::span(words_)));
  next_ = 0;
}

Word RandomBits::wide_below(Word bound) {
  const auto high = static_cast<std::uint64_t>((bound - 1) >> 64U);
  if (high == 0) return bound >> 64U == 0 ? below(static_cast<std::uint64_t>(bound)) : bits();
  // As many bits as the largest result has; at most every second draw is too large.
  const std::uint64_t mask = ~std::uint64_t{0} >> static_cast<unsigned>(std::countl_zero(high));
  for (;;) {
    const Word draw = (Word{bits() & mask} << 64U) | bits();
    if (draw < bound) return draw;
  }
}

SystemBits::SystemBits() { start_sodium(); }

void SystemBits::fill(std::span<std::byte> bytes) { randombytes_buf(bytes.data(), bytes.size()); }

SeededBits::SeededBits(std::uint64_t seed, std::uint64_t stream) : stream_(stream) {
  start_sodium();
  std::memcpy(key_.data(), &seed, sizeof seed);
}

void SeededBits::fill(std::span<std::byte> bytes) {
  constexpr std::size_t kBlock = 64;
  std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> nonce{};
  static_assert(sizeof stream_ == sizeof nonce);
  std::memcpy(nonce.data(), &stream_, sizeof stream_);
  std::ranges::fill(bytes, std::byte{0});
  crypto_stream_chacha20_xor_ic(raw(bytes), raw(bytes), bytes.size(), nonce.data(), block_, key_.data());
  block_ += (bytes.size() + kBlock - 1) / kBlock;
}

}  // namespace fedsinkhorn
