#include "comm/digest.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "core/parallel.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kPage = NumbersDigest::kPage;
using PageHash = NumbersDigest::PageHash;

template <class T>
void copy_to_page(std::span<const T> numbers, double* page) {
  std::ranges::transform(numbers, page, [](T x) { return static_cast<double>(x) + 0.0; });
}

PageHash hash_of(const std::array<double, kPage>& page, std::span<const std::uint64_t, kPage + 2> key) {
  PageHash hash{};
  for (std::size_t i = 0; i < kPage; i += 2) {
    const auto one = std::bit_cast<std::uint64_t>(page[i]);
    const auto other = std::bit_cast<std::uint64_t>(page[i + 1]);
    hash[0] += Word{one + key[i]} * Word{other + key[i + 1]};
    hash[1] += Word{one + key[i + 2]} * Word{other + key[i + 3]};
  }
  return hash;
}

}  // namespace

KeyedHash::KeyedHash(const SecretKey& key, std::string_view purpose) {
  std::array<unsigned char, crypto_generichash_blake2b_PERSONALBYTES> personal{};
  std::ranges::copy(purpose.substr(0, personal.size()), personal.begin());
  crypto_generichash_blake2b_init_salt_personal(&state_, key.data(), SecretKey::kSize, sizeof(Digest), nullptr,
                                                personal.data());
}

void KeyedHash::add(std::span<const std::byte> bytes) {
  crypto_generichash_blake2b_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

Digest KeyedHash::digest() {
  Digest digest;
  crypto_generichash_blake2b_final(&state_, reinterpret_cast<unsigned char*>(digest.data()), sizeof digest);
  return digest;
}

Digest digest_of(const SecretKey& key, std::string_view purpose, std::span<const std::byte> bytes) {
  KeyedHash hash(key, purpose);
  hash.add(bytes);
  return hash.digest();
}

NumbersDigest::NumbersDigest(const SecretKey& key, int threads) : whole_(key, "numbers"), threads_(threads) {
  static_assert(randombytes_SEEDBYTES == SecretKey::kSize);
  randombytes_buf_deterministic(key_words_.data(), sizeof key_words_, key.data());
}

/// As many whole pages as there are, up to what is worth doing at once. Returns how many numbers that is.
template <class T>
std::size_t NumbersDigest::add_pages(std::span<const T> numbers) {
  constexpr std::size_t kPagesEach = 256;           // 1 MiB
  constexpr std::size_t kMost = 1024 * kPagesEach;  // whose hashes fit into memory easily
  std::vector<PageHash> hashes(std::min(numbers.size() / kPage, kMost));
  parallel_chunks(threads_, (hashes.size() + kPagesEach - 1) / kPagesEach, [&](std::size_t chunk, std::size_t) {
    std::array<double, kPage> page;
    for (std::size_t k = chunk * kPagesEach; k < std::min(hashes.size(), (chunk + 1) * kPagesEach); ++k) {
      copy_to_page(numbers.subspan(k * kPage, kPage), page.data());
      hashes[k] = hash_of(page, key_words_);
    }
  });
  whole_.add(std::as_bytes(std::span(hashes)));
  return hashes.size() * kPage;
}

/// Up to the end of the page that has been begun.
template <class T>
std::size_t NumbersDigest::add_to_page(std::span<const T> numbers) {
  const std::size_t begun = count_ % kPage;
  const std::size_t some = std::min(numbers.size(), kPage - begun);
  copy_to_page(numbers.first(some), page_.data() + begun);
  if (begun + some == kPage) end_page();
  return some;
}

template <class T>
void NumbersDigest::add_any(std::span<const T> numbers) {
  while (!numbers.empty()) {
    const bool are_pages = count_ % kPage == 0 && numbers.size() >= kPage;
    const std::size_t done = are_pages ? add_pages(numbers) : add_to_page(numbers);
    count_ += done;
    numbers = numbers.subspan(done);
  }
}

template void NumbersDigest::add_any(std::span<const double> numbers);
template void NumbersDigest::add_any(std::span<const float> numbers);

void NumbersDigest::add(const AnyMatrix& matrix) {
  std::visit([&](const auto& view) { add(std::span(view.data, view.rows * view.columns)); }, matrix);
}

void NumbersDigest::end_page() {
  const PageHash hash = hash_of(page_, key_words_);
  whole_.add(std::as_bytes(std::span(hash)));
  page_.fill(0);
}

Digest NumbersDigest::digest() {
  if (count_ % kPage != 0) end_page();
  whole_.add(std::as_bytes(std::span(&count_, 1)));
  return whole_.digest();
}

}  // namespace fedsinkhorn
