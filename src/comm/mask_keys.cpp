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

constexpr std::string_view kProtocolName = "fedsinkhorn sums 2";
/// In front of what identities sign, so that a signature is of no use elsewhere.
constexpr std::string_view kStatement = "fedsinkhorn sums 2, transcript and client";

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

/// What a client says about itself.
struct MaskKeys::Introduction {
  PublicKey of_session{};  ///< of X25519
  PublicKey identity{};    ///< of Ed25519; zeros: none
  std::array<unsigned char, 32> random{};
};

MaskKeys::MaskKeys(std::size_t rank, std::size_t clients, const Trust& trust, const Relay& relay,
                   const Distrust& distrust)
    : rank_(rank), of_pair_(clients) {
  if (sodium_init() < 0) throw std::runtime_error("the operating system gives no random numbers");
  SecretKey own;
  Introduction mine;
  crypto_box_keypair(mine.of_session.data(), own.data());
  if (trust.own) mine.identity = trust.own->public_key;
  randombytes_buf(mine.random.data(), mine.random.size());
  const std::string text(reinterpret_cast<const char*>(&mine), sizeof mine);
  const std::string all = relay(text);
  if (all.substr(rank * sizeof mine, sizeof mine) != text) {
    distrust(clients, "this client's key came back changed: someone between the clients is not to be trusted");
  }
  std::vector<Introduction> said(clients);
  std::memcpy(said.data(), all.data(), clients * sizeof(Introduction));
  for (std::size_t k = 0; k < clients; ++k) {
    for (std::size_t j = 0; j < k; ++j) {
      const bool is_same = said[j].of_session == said[k].of_session ||
                           (said[j].identity == said[k].identity && said[k].identity != PublicKey{});
      if (is_same) distrust(k, fmt::format("the key of client {}", j));
    }
  }
  crypto_generichash(transcript_.data(), transcript_.size(), reinterpret_cast<const unsigned char*>(all.data()),
                     all.size(), reinterpret_cast<const unsigned char*>(kProtocolName.data()), kProtocolName.size());
  for (std::size_t k = 0; k < clients; ++k) {
    if (k != rank) of_pair_[k] = pair_key(own, k, said[k], distrust);
  }
  exchange_signatures(said, trust, relay, distrust);
  agree_on_common_key(relay);
}

// Each client is who it is expected to be, and has itself said what all have heard of it.
void MaskKeys::exchange_signatures(const std::vector<Introduction>& said, const Trust& trust, const Relay& relay,
                                   const Distrust& distrust) const {
  require_own_key(trust, rank_, said.size());
  const auto statement_of = [&](std::size_t client) {
    std::string statement(kStatement);
    statement.append(reinterpret_cast<const char*>(transcript_.data()), transcript_.size());
    return statement + std::to_string(client);
  };
  const Signature mine = trust.own ? sign(*trust.own, statement_of(rank_)) : Signature{};
  const std::string all = relay({reinterpret_cast<const char*>(mine.data()), mine.size()});
  const bool must_sign = !trust.fingerprints.empty();
  for (std::size_t k = 0; k < said.size(); ++k) {
    const PublicKey& identity = said[k].identity;
    if (k == rank_ || (!must_sign && identity == PublicKey{})) continue;
    if (must_sign && fingerprint_of(identity) != trust.fingerprints[k]) {
      distrust(k, "a key that has not the fingerprint given for it");
    }
    Signature signature{};
    std::memcpy(signature.data(), all.data() + k * signature.size(), signature.size());
    if (!is_signature(signature, identity, statement_of(k))) distrust(k, "a signature that is not of its key");
  }
}

SecretKey MaskKeys::pair_key(const SecretKey& own, std::size_t client, const Introduction& other,
                             const Distrust& distrust) const {
  SecretKey shared;
  if (crypto_scalarmult(shared.data(), own.data(), other.of_session.data()) != 0)
    distrust(client, "a key that is none");
  const std::array<std::uint64_t, 2> pair = {std::min(rank_, client), std::max(rank_, client)};
  SecretKey key;
  crypto_generichash_state state;
  crypto_generichash_init(&state, shared.data(), SecretKey::kSize, SecretKey::kSize);
  crypto_generichash_update(&state, transcript_.data(), transcript_.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(pair.data()), sizeof pair);
  crypto_generichash_final(&state, key.data(), SecretKey::kSize);
  sodium_memzero(&state, sizeof state);
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
