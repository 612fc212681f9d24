#include "comm/mask_keys.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace fedsinkhorn {
namespace {

static_assert(crypto_scalarmult_BYTES == SecretKey::kSize && crypto_scalarmult_SCALARBYTES == SecretKey::kSize &&
              crypto_stream_chacha20_ietf_KEYBYTES == SecretKey::kSize);

/// What a client says about itself.
struct Introduction {
  std::array<unsigned char, 32> public_key{};
  std::array<unsigned char, 32> random{};
};

constexpr std::string_view kProtocolName = "fedsinkhorn sums 1";

/// Streams are told apart by this number besides their key. Each is used once.
enum class Purpose : std::uint16_t { mask, common_key };

std::array<unsigned char, crypto_stream_chacha20_ietf_NONCEBYTES> nonce_of(Purpose purpose, Payload kind,
                                                                           std::uint64_t counter) {
  const auto purpose_number = static_cast<std::uint16_t>(purpose);
  const auto kind_number = static_cast<std::uint16_t>(kind);
  std::array<unsigned char, crypto_stream_chacha20_ietf_NONCEBYTES> nonce{};
  std::memcpy(nonce.data(), &purpose_number, 2);
  std::memcpy(nonce.data() + 2, &kind_number, 2);
  std::memcpy(nonce.data() + 4, &counter, 8);
  return nonce;
}

/// Adds the stream of a key to the words, or subtracts it.
template <class Combine>
void with_stream(const SecretKey& key, Payload kind, std::uint64_t counter, std::span<Word> words,
                 const Combine& combine) {
  constexpr std::size_t kBlock = 64;     // bytes of ChaCha20
  constexpr std::size_t kAtOnce = 1024;  // words: stays in the nearest cache
  constexpr std::size_t kBlocksAtOnce = kAtOnce * sizeof(Word) / kBlock;
  const auto nonce = nonce_of(Purpose::mask, kind, counter);
  std::array<Word, kAtOnce> stream;
  for (std::size_t first = 0, chunk = 0; first < words.size(); first += kAtOnce, ++chunk) {
    const std::size_t count = std::min(kAtOnce, words.size() - first);
    auto* bytes = reinterpret_cast<unsigned char*>(stream.data());
    std::memset(bytes, 0, count * sizeof(Word));
    crypto_stream_chacha20_ietf_xor_ic(bytes, bytes, count * sizeof(Word), nonce.data(),
                                       static_cast<std::uint32_t>(chunk * kBlocksAtOnce), key.data());
    for (std::size_t i = 0; i < count; ++i) words[first + i] = combine(words[first + i], stream[i]);
  }
  sodium_memzero(stream.data(), sizeof stream);
}

Word plus(Word x, Word y) { return x + y; }
Word minus(Word x, Word y) { return x - y; }

}  // namespace

SecretKey::~SecretKey() { sodium_memzero(bytes_.data(), bytes_.size()); }

MaskKeys::MaskKeys(std::size_t rank, std::size_t clients, const Relay& relay, const Distrust& distrust)
    : rank_(rank), of_pair_(clients) {
  if (sodium_init() < 0) throw std::runtime_error("the operating system gives no random numbers");
  SecretKey own;
  Introduction mine;
  crypto_box_keypair(mine.public_key.data(), own.data());
  randombytes_buf(mine.random.data(), mine.random.size());
  const std::string all = relay(std::string(reinterpret_cast<const char*>(&mine), sizeof mine));
  std::vector<Introduction> said(clients);
  std::memcpy(said.data(), all.data(), clients * sizeof(Introduction));
  if (said[rank].public_key != mine.public_key || said[rank].random != mine.random) {
    distrust(rank == 0 ? 1 : 0, "this client's key in another's name");
  }
  for (std::size_t k = 0; k < clients; ++k) {
    for (std::size_t j = 0; j < k; ++j) {
      if (said[j].public_key == said[k].public_key) distrust(k, fmt::format("the key of client {}", j));
    }
  }
  crypto_generichash(transcript_.data(), transcript_.size(), reinterpret_cast<const unsigned char*>(all.data()),
                     all.size(), reinterpret_cast<const unsigned char*>(kProtocolName.data()), kProtocolName.size());
  for (std::size_t k = 0; k < clients; ++k) {
    if (k != rank) of_pair_[k] = pair_key(own, k, said[k].public_key.data(), distrust);
  }
  agree_on_common_key(relay);
}

SecretKey MaskKeys::pair_key(const SecretKey& own, std::size_t client, const unsigned char* public_key,
                             const Distrust& distrust) const {
  SecretKey shared;
  if (crypto_scalarmult(shared.data(), own.data(), public_key) != 0) distrust(client, "a key that is none");
  const std::array<std::uint64_t, 2> pair = {std::min(rank_, client), std::max(rank_, client)};
  SecretKey key;
  crypto_generichash_state state;
  crypto_generichash_init(&state, shared.data(), SecretKey::kSize, SecretKey::kSize);
  crypto_generichash_update(&state, transcript_.data(), transcript_.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(pair.data()), sizeof pair);
  crypto_generichash_final(&state, key.data(), SecretKey::kSize);
  return key;
}

// Client 0 draws it and sends it to each of the others, enciphered with the key of the pair.
void MaskKeys::agree_on_common_key(const Relay& relay) {
  const auto nonce = nonce_of(Purpose::common_key, Payload::keys, 0);
  std::string boxes(of_pair_.size() * SecretKey::kSize, '\0');
  const auto box = [&](std::size_t client) {
    return reinterpret_cast<unsigned char*>(boxes.data()) + client * SecretKey::kSize;
  };
  if (rank_ == 0) {
    randombytes_buf(of_all_.data(), SecretKey::kSize);
    for (std::size_t k = 1; k < of_pair_.size(); ++k) {
      crypto_stream_chacha20_ietf_xor(box(k), of_all_.data(), SecretKey::kSize, nonce.data(), of_pair_[k].data());
    }
  }
  boxes = relay(boxes).substr(0, boxes.size());
  if (rank_ == 0) return;
  crypto_stream_chacha20_ietf_xor(of_all_.data(), box(rank_), SecretKey::kSize, nonce.data(), of_pair_[0].data());
}

void MaskKeys::mask(Payload kind, std::uint64_t counter, std::span<Word> words) const {
  for (std::size_t k = 0; k < of_pair_.size(); ++k) {
    if (k > rank_) with_stream(of_pair_[k], kind, counter, words, plus);
    if (k < rank_) with_stream(of_pair_[k], kind, counter, words, minus);
  }
  if (rank_ == 0) with_stream(of_all_, kind, counter, words, plus);
}

void MaskKeys::unmask_sum(Payload kind, std::uint64_t counter, std::span<Word> words) const {
  with_stream(of_all_, kind, counter, words, minus);
}

std::uint64_t MaskKeys::session() const {
  std::uint64_t number = 0;
  std::memcpy(&number, transcript_.data(), sizeof number);
  return number;
}

std::uint64_t MaskKeys::pseudonym(std::span<const std::byte> what) const {
  std::array<unsigned char, crypto_generichash_BYTES> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(what.data()), what.size(),
                     of_all_.data(), SecretKey::kSize);
  std::uint64_t number = 0;
  std::memcpy(&number, hash.data(), sizeof number);
  return number;
}

}  // namespace fedsinkhorn
