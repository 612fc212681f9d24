#include "comm/secure_sums.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "comm/kept_reason.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// Client k's share of a number that all clients know the sum of.
Word check_share(std::uint64_t session, std::uint64_t counter, std::size_t client) {
  constexpr Word kOdd = (Word{0x9E3779B97F4A7C15U} << 64U) + 0xF39CC0605CEDC835U;
  return (Word{session} + counter + 1) * kOdd * (Word{client} + 1);
}

/// A polynomial of the words. Sums of fingerprints are fingerprints of sums, since it is linear. The multiplier is odd,
/// so any change of a single word changes it.
Word fingerprint(std::span<const Word> words, Word multiplier) {
  Word sum = 0;
  for (const Word word : words) sum = (sum + word) * multiplier;
  return sum;
}

/// What only the clients of a session know; odd.
Word secret_multiplier(const MaskKeys& keys) {
  const auto half = [&](std::string_view what) { return Word{keys.pseudonym(std::as_bytes(std::span(what)))}; };
  return (half("check, high") << 64U) + (half("check, low") | 1U);
}

MaskKeys keys_over(Summing& summing, const Trust& trust) {
  Communicator& clients = summing.clients();
  return {clients.rank(), clients.size(), trust, [&](const std::string& mine) { return summing.relay(mine); },
          [&](std::size_t client, const std::string& sent) {
            if (client < clients.size()) clients.distrust(client, sent);
            clients.break_off(sent);
          }};
}

}  // namespace

void fill_randomly(std::span<Word> words) { randombytes_buf(words.data(), words.size_bytes()); }

std::vector<Word> words_of_flags(const std::vector<bool>& flags) {
  std::vector<Word> words(flags.size());
  fill_randomly(words);  // all of them: the time must not tell how many are set
  for (std::size_t k = 0; k < words.size(); ++k) words[k] &= Word{0} - Word{flags[k]};
  return words;
}

SecureSums::SecureSums(std::unique_ptr<Summing> summing, const Trust& trust)
    : summing_(std::move(summing)),
      rank_(summing_->clients().rank()),
      clients_(summing_->clients().size()),
      keys_(keys_over(*summing_, trust)),
      multiplier_(secret_multiplier(keys_)) {}

std::unique_ptr<SecureSums> make_secure_sums(std::unique_ptr<Summing> summing, const std::string& key,
                                             const std::string& fingerprints) {
  Communicator& clients = summing->clients();
  try {
    const Trust trust = read_trust(key, fingerprints, clients.rank());
    return std::make_unique<SecureSums>(std::move(summing), trust);
  } catch (const InputError& error) {
    // Within a process, the transport tells them, after it has kept the reason.
    if (!clients.shares_process()) clients.give_up(true, error.marked().c_str());
    throw KeptReason(error.marked());
  }
}

void SecureSums::add_up(Payload kind, std::span<Word> words, std::uint64_t shows) {
  if (words.empty() || clients_ == 1) return;
  if (shows > most_shown_ || shown_ > most_shown_ - shows) throw SumsSpent();
  shown_ += shows;
  if (words.size() >= kMostWords) throw std::length_error("a secure sum has too many words");
  const std::uint64_t counter = counter_++;
  if (counter_ == 0) throw std::logic_error("all counters of a session are used up");
  std::vector<Word> sent(words.size() + 1);
  std::ranges::copy(words, sent.begin());
  sent.back() = check_share(keys_.session(), counter, rank_) + fingerprint(words, multiplier_);
  keys_.mask(kind, counter, sent);
  summing_->add_up(kind, counter, sent);
  keys_.unmask_sum(kind, counter, sent);
  Word expected = fingerprint(std::span(sent).first(words.size()), multiplier_);
  for (std::size_t k = 0; k < clients_; ++k) expected += check_share(keys_.session(), counter, k);
  if (sent.back() != expected) {
    summing_->clients().break_off(
        "a secure sum does not add up: a message was replayed, changed or of another session");
  }
  std::copy_n(sent.begin(), words.size(), words.begin());
}

void SecureSums::refuse(double number) const {
  const InputError error("secure sum", fmt::format("{:g} is too large for the fixed point of its kind", number),
                         "scale the costs, or use `policy` open");
  summing_->clients().give_up(true,
                              "secure sum: a number is too large for the fixed point of its kind; scale the "
                              "costs, or use `policy` open");
  throw KeptReason(error.marked());
}

void SecureSums::add_up(Payload kind, const FixedPoint& format, std::span<ExactSum> numbers) {
  std::vector<Word> words(numbers.size() * format.words);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const std::span<Word> number = std::span(words).subspan(k * format.words, format.words);
    for (const double part : {numbers[k].value, numbers[k].rest}) {
      if (!format.holds(part)) refuse(part);
      add_to(format, part, number);
    }
  }
  add_up(kind, words, numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    numbers[k] = number_of(format, std::span(words).subspan(k * format.words, format.words));
  }
}

void SecureSums::add_up(Payload kind, const FixedPoint& format, std::span<double> numbers) {
  std::vector<ExactSum> sums(numbers.size());
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k].value = numbers[k];
  add_up(kind, format, sums);
  for (std::size_t k = 0; k < sums.size(); ++k) numbers[k] = sums[k].total();
}

void SecureSums::any(Payload kind, std::vector<bool>& flags, std::uint64_t shows) {
  std::vector<Word> words = words_of_flags(flags);
  add_up(kind, words, shows);
  for (std::size_t k = 0; k < words.size(); ++k) flags[k] = words[k] != 0;
}

void SecureSums::gather(Payload kind, std::span<std::byte> whole, Range own) {
  if (whole.empty()) return;
  std::vector<Word> words((whole.size() + sizeof(Word) - 1) / sizeof(Word));
  auto* bytes = reinterpret_cast<std::byte*>(words.data());
  std::copy_n(whole.data() + own.first, own.size(), bytes + own.first);
  add_up(kind, words, 0);
  std::copy_n(bytes, whole.size(), whole.data());
}

}  // namespace fedsinkhorn
