#include "topology/sum_exchanges.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "comm/agreement.hpp"
#include "comm/secure_sums.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::array kFlags = {Note::kStretched, Note::kUnusable, Note::kStop, Note::kRunaway};

/// Doubles that are gathered: two in a word.
std::size_t words_of_doubles(std::size_t count) { return (count + 1) / 2; }

/// Writes doubles, of which `first` come before them, as they are.
void put(std::span<const double> doubles, std::size_t first, std::span<Word> words) {
  const auto bytes = std::as_bytes(doubles);
  std::ranges::copy(bytes, std::as_writable_bytes(words).begin() + static_cast<std::ptrdiff_t>(first * sizeof(double)));
}
/// Reads the first ones.
void get(std::span<const Word> words, std::span<double> doubles) {
  const auto bytes = std::as_writable_bytes(doubles);
  std::ranges::copy(std::as_bytes(words).first(bytes.size()), bytes.begin());
}

/// The numbers of a note that are added up.
std::vector<ExactSum> numbers_of(const Note& note) {
  std::vector<ExactSum> numbers = {note.error_a, note.error_b};
  numbers.insert(numbers.end(), note.sums.begin(), note.sums.end());
  return numbers;
}

bool fits(const ExactSum& number) { return kStatistic.holds(number.value) && kStatistic.holds(number.rest); }

void read_summed_note(std::size_t clients, std::span<const Word> words, Note& note) {
  note.flags = 0;
  for (std::size_t k = 0; k < kFlags.size(); ++k) {
    if (words[k] != 0) note.set(kFlags[k]);
  }
  const bool is_not_finite = words[kFlags.size()] != 0;
  words = words.subspan(kFlags.size() + 1);
  const auto next = [&] {
    const ExactSum number = number_of(kStatistic, words.first(kStatistic.words));
    words = words.subspan(kStatistic.words);
    return is_not_finite ? ExactSum{std::numeric_limits<double>::quiet_NaN(), 0} : number;
  };
  note.error_a = next();
  note.error_b = next();
  for (ExactSum& sum : note.sums) sum = next();
  std::vector<double> maxima(clients * note.maxima.size());
  get(words, maxima);
  for (std::size_t k = 0; k < maxima.size(); ++k) {
    double& maximum = note.maxima[k % note.maxima.size()];
    maximum = worse(maximum, maxima[k]);
  }
}

}  // namespace

void write_note(const Note& note, std::size_t rank, std::span<Word> words) {
  const std::vector<ExactSum> numbers = numbers_of(note);
  std::vector<bool> flags;
  flags.reserve(kFlags.size() + 1);
  for (const unsigned flag : kFlags) flags.push_back(note.has(flag));
  flags.push_back(!std::ranges::all_of(numbers, fits));
  std::ranges::copy(words_of_flags(flags), words.begin());
  words = words.subspan(flags.size());
  if (flags.back()) fill_randomly(words.first(numbers.size() * kStatistic.words));
  for (const ExactSum& number : numbers) {
    if (!flags.back()) {
      add_to(kStatistic, number.value, words.first(kStatistic.words));
      add_to(kStatistic, number.rest, words.first(kStatistic.words));
    }
    words = words.subspan(kStatistic.words);
  }
  put(note.maxima, rank * note.maxima.size(), words);
}

std::uint64_t numbers_shown_by(const Note& note) {
  constexpr std::uint64_t errors_of_rows = 1;  // those of columns follow from the columns' sums
  return errors_of_rows + numbers_of_flags(kFlags.size()) + note.sums.size() - note.known_sums;
}

std::size_t words_in_note(std::size_t clients, std::size_t sums, std::size_t maxima) {
  return kFlags.size() + 1 + (2 + sums) * kStatistic.words + words_of_doubles(clients * maxima);
}

SumExchanges::SumExchanges(const TopologyContext& context)
    : sums_(*context.clients.sums()),
      clients_(context.clients.size()),
      rank_(context.clients.rank()),
      own_rows_(context.problem.n()),
      columns_(context.problem.columns.size()),
      own_(context.problem.own_columns()),
      mass_(context.problem.mass) {}

void SumExchanges::copy_own(std::size_t targets, const double* known, double* own) const {
  for (std::size_t k = 0; k < targets; ++k) {
    std::copy_n(known + k * columns_ + own_.first, own_.size(), own + k * own_.size());
  }
}

void SumExchanges::columns_in(Payload kind, std::size_t targets, const double* own, double* known,
                              std::span<Note> notes) {
  const std::size_t of_vector = words_of_doubles(targets * columns_);
  std::size_t size = of_vector;
  for (const Note& note : notes) size += words_in_note(clients_, note.sums.size(), note.maxima.size());
  std::vector<Word> words(size);
  for (std::size_t k = 0; k < targets; ++k) {
    put({own + k * own_.size(), own_.size()}, k * columns_ + own_.first, words);
  }
  const auto for_each_note = [&](const auto& use) {
    std::span<Word> left = std::span(words).subspan(of_vector);
    for (Note& note : notes) {
      const std::size_t of_note = words_in_note(clients_, note.sums.size(), note.maxima.size());
      use(note, left.first(of_note));
      left = left.subspan(of_note);
    }
  };
  for_each_note([this](Note& note, std::span<Word> of_note) { write_note(note, rank_, of_note); });
  std::uint64_t shows = 0;
  for (const Note& note : notes) shows += numbers_shown_by(note);
  sums_.add_up(kind, words, shows);
  get(words, {known, targets * columns_});
  for_each_note([this](Note& note, std::span<Word> of_note) { read_summed_note(clients_, of_note, note); });
}

void SumExchanges::rows_in(Payload /*kind*/, std::size_t targets, const double* own, double* known) {
  std::copy_n(own, targets * own_rows_, known);
}

void SumExchanges::rows_out(Payload /*kind*/, std::size_t targets, const double* part, double* own) {
  std::copy_n(part, targets * own_rows_, own);
}

Shares::Shares(std::span<const double> part, const double* v, double mass)
    : words(part.size() + 1), exponents(part.size()) {
  bool do_all_fit = v != nullptr;
  for (std::size_t j = 0; j < part.size() && v != nullptr; ++j) {
    if (v[j] == 0) continue;
    const double scale = v[j] / mass;
    exponents[j] = std::isnormal(scale) ? std::ilogb(scale) : 0;
    const double share = std::ldexp(part[j], exponents[j]);
    if (kShare.holds(share)) {
      add_to(kShare, share, std::span(&words[j], 1));
    } else {
      do_all_fit = false;
    }
  }
  if (!do_all_fit) fill_randomly(words);
  words.back() = words_of_flags({!do_all_fit})[0];
}

// Where the sum turns out to be too small to have all digits, or a client's numbers do not fit (another u, NaN), these
// columns are added up once more, in many words.
void SumExchanges::columns_out(Payload kind, std::size_t targets, const double* part, const double* v, double* own) {
  constexpr int kDigits = 56;
  std::vector<double> sums(part, part + targets * columns_);
  Shares shares(sums, v, mass_);
  sums_.add_up(kind, shares.words, sums.size());
  const bool do_all_fit = shares.words.back() == 0;
  std::vector<std::size_t> again;
  for (std::size_t j = 0; j < sums.size(); ++j) {
    const bool has_digits = do_all_fit && static_cast<SignedWord>(shares.words[j]) >= (SignedWord{1} << kDigits);
    if (v != nullptr && v[j] == 0) {
      sums[j] = 0;
    } else if (has_digits) {
      sums[j] = std::ldexp(number_of(kShare, std::span(&shares.words[j], 1)).total(), -shares.exponents[j]);
    } else {
      again.push_back(j);
    }
  }
  if (!again.empty()) add_up_exactly(kind, again, sums);
  copy_own(targets, sums.data(), own);
}

void SumExchanges::add_up_exactly(Payload kind, std::span<const std::size_t> positions, std::span<double> sums) {
  std::vector<ExactSum> numbers(positions.size());
  for (std::size_t k = 0; k < positions.size(); ++k) numbers[k].value = sums[positions[k]];
  add_up_any(sums_, numbers, kind);
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const double sum = numbers[k].total();
    sums[positions[k]] = std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
  }
}

void SumExchanges::column_logs_out(const double* part, double* own) {
  std::vector<double> logs(part, part + columns_);
  add_up_logs(sums_, logs, Payload::potential);
  copy_own(1, logs.data(), own);
}

// They are shares of the mass already.
void SumExchanges::columns_of_rows_out(Payload kind, const double* part, double* own) {
  const std::vector<double> ones(columns_, 1.0);
  columns_out(kind, 1, part, ones.data(), own);
}

std::vector<RoundExchange> exchanges_of_sums(const RoundShape& shape) {
  const std::size_t columns = std::accumulate(shape.columns.begin(), shape.columns.end(), std::size_t{0});
  const std::size_t shares = shape.targets * columns + 1;
  const std::size_t with_notes =
      words_of_doubles(shape.targets * columns) + shape.targets * words_in_note(shape.clients(), 0, 0);
  const auto sum = shape.has_server ? served_sum_exchange : secure_sum_exchange;
  return {sum(shape.clients(), shape.client, shares), sum(shape.clients(), shape.client, with_notes)};
}

}  // namespace fedsinkhorn
