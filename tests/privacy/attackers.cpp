#include "privacy/attackers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "comm/digest.hpp"
#include "privacy/least_squares.hpp"
#include "topology/note.hpp"

namespace fedsinkhorn::testing {
namespace {

bool are_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double x) { return std::isfinite(x); });
}

/// -epsilon log|x|, less its mean: a row of K known up to a factor. The signs of what is no kernel are of no use.
std::optional<std::vector<double>> costs_of_multiple(double epsilon, std::span<const double> multiple) {
  std::vector<double> costs;
  for (const double x : multiple) costs.push_back(-epsilon * std::log(std::abs(x)));
  if (costs.empty() || !are_finite(costs)) return std::nullopt;
  const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(costs.size());
  for (double& cost : costs) cost -= mean;
  return costs;
}

/// Numbers of a part of the problem, or summands: what rounds consist of.
bool is_of_a_round(const Message& message) { return message.kind == Payload::slice || message.kind == Payload::sum; }

std::vector<double> first(const std::vector<double>& values, std::size_t count) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::vector<double> doubles_in(std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(double) != 0) return {};
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::vector<double> ring_numbers_in(std::span<const std::byte> bytes) {
  if (bytes.size() % (2 * sizeof(std::uint64_t)) != 0) return {};
  std::vector<std::uint64_t> halves(bytes.size() / sizeof(std::uint64_t));
  if (!halves.empty()) std::memcpy(halves.data(), bytes.data(), bytes.size());
  std::vector<double> numbers;
  for (std::size_t k = 0; k < halves.size(); k += 2) {
    const auto high = static_cast<double>(std::bit_cast<std::int64_t>(halves[k + 1]));
    numbers.push_back(std::ldexp(high, 64 - 80) + std::ldexp(static_cast<double>(halves[k]), -80));
  }
  return numbers;
}

// ---------------------------------------------------------------------------------------------------------------------

Rounds summands_received(const Knowledge& knowledge, const Transcript& messages) {
  Rounds summands;
  for (const Message& message : between(messages, knowledge.victim, knowledge.curious)) {
    if (!is_of_a_round(message)) continue;
    std::vector<double> numbers = knowledge.read(message.bytes);
    if (numbers.size() == knowledge.columns[knowledge.curious]) summands.push_back(std::move(numbers));
  }
  return summands;
}

// v comes first, notes follow. No round starts from the last one.
Rounds scalings_sent(const Knowledge& knowledge, const Transcript& messages) {
  Rounds scalings;
  const std::size_t columns = knowledge.columns[knowledge.curious];
  for (const Message& message : between(messages, knowledge.curious, knowledge.victim)) {
    if (!is_of_a_round(message)) continue;
    const std::vector<double> numbers = knowledge.read(message.bytes);
    if (numbers.size() >= columns + kNoteNumbers) scalings.push_back(first(numbers, columns));
  }
  if (!scalings.empty()) scalings.pop_back();
  return scalings;
}

std::optional<std::vector<double>> costs_of_one_row(const Knowledge& knowledge, std::span<const double> summand) {
  return costs_of_multiple(knowledge.epsilon, summand);
}

namespace {

/// Two orthonormal vectors; all summands are combinations of them.
struct Span {
  std::vector<double> e1, e2;
};

std::optional<Span> span_of(const Rounds& summands) {
  Span span{summands.front(), {}};
  const double length = std::sqrt(product(span.e1, span.e1));
  for (double& x : span.e1) x /= length;
  double farthest = 0;
  for (const std::vector<double>& summand : summands) {
    std::vector<double> rest = summand;
    // Once more: the first time leaves rounding errors of the long part.
    for (int pass = 0; pass < 2; ++pass) {
      const double along = product(rest, span.e1);
      for (std::size_t j = 0; j < rest.size(); ++j) rest[j] -= along * span.e1[j];
    }
    const double size = std::sqrt(product(rest, rest));
    if (!(size > farthest)) continue;
    farthest = size;
    for (double& x : rest) x /= size;
    span.e2 = std::move(rest);
  }
  if (span.e2.empty() || !are_finite(span.e1) || !are_finite(span.e2)) return std::nullopt;
  return span;
}

}  // namespace

// Row i is a multiple of e1 + t_i e2. A summand s has the coordinates c = (e1.s, e2.s) and its v acts on the span as
// w = (e1.v, e2.v). With tau = w2 / w1 and z = c2 w1,
//   z = sum_i a_i t_i / (1 + t_i tau)   and   A = a_1 + a_2 = c.w.
// Multiplied by both denominators that is linear in S = t_1 + t_2, P = t_1 t_2 and M = a_1 t_1 + a_2 t_2:
//   z tau S + (z tau^2 - A tau) P - M = -z.
std::optional<TwoRows> two_rows(const Knowledge& knowledge, const Rounds& scalings, const Rounds& summands) {
  const std::size_t rounds = std::min(scalings.size(), summands.size());
  if (rounds < 3) return std::nullopt;
  const auto has_all_columns = [&](const auto& values) { return values.size() == summands.front().size(); };
  if (!std::ranges::all_of(scalings, has_all_columns) || !std::ranges::all_of(summands, has_all_columns)) {
    return std::nullopt;
  }
  const auto span = span_of(summands);
  if (!span) return std::nullopt;
  double mass = 0;
  for (std::size_t t = 0; t < rounds; ++t) mass += product(scalings[t], summands[t]) / static_cast<double>(rounds);
  LeastSquares equations(3);
  for (std::size_t t = 0; t < rounds; ++t) {
    const double w1 = product(span->e1, scalings[t]);
    const double tau = product(span->e2, scalings[t]) / w1;
    const double z = product(span->e2, summands[t]) * w1;
    equations.add({z * tau, z * tau * tau - mass * tau, -1}, -z);
  }
  const auto found = equations.solve();
  if (!found) return std::nullopt;
  const double half = (*found)[0] / 2;
  const double root = std::sqrt(half * half - (*found)[1]);
  if (!(root > 0)) return std::nullopt;
  const std::array<double, 2> t = {half + root, half - root};
  TwoRows result;
  result.masses[0] = ((*found)[2] - mass * t[1]) / (t[0] - t[1]);
  result.masses[1] = mass - result.masses[0];
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<double> row = span->e1;
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += t[i] * span->e2[j];
    auto costs = costs_of_multiple(knowledge.epsilon, row);
    if (!costs) return std::nullopt;
    result.costs[i] = std::move(*costs);
  }
  return result;
}

// ---------------------------------------------------------------------------------------------------------------------

namespace {

/// What one of the two clients has published.
struct Stream {
  Rounds potentials;
  Rounds u, v;
};

/// In every round u follows v, and v with notes follows u. (At the end, slices without notes are sent to measure.)
Stream stream_of(const Knowledge& knowledge, const Transcript& messages, std::size_t from, std::size_t to) {
  const std::size_t rows = knowledge.rows[from];
  const std::size_t columns = knowledge.columns[from];
  Stream stream;
  std::vector<double> u;
  for (const Message& message : between(messages, from, to)) {
    const std::vector<double> numbers = knowledge.read(message.bytes);
    if (message.kind == Payload::potential) stream.potentials.push_back(numbers);
    if (!is_of_a_round(message)) continue;
    if (numbers.size() == rows) {
      u = numbers;
    } else if (numbers.size() == columns + kNoteNumbers) {
      if (!stream.v.empty()) stream.u.push_back(std::exchange(u, {}));
      stream.v.push_back(first(numbers, columns));
    }
  }
  return stream;
}

std::vector<double> joined(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> both = x;
  both.insert(both.end(), y.begin(), y.end());
  return both;
}

// The first half-step is made in logs: psi = 0, phi, log a. The kernel is then built around phi and psi.
constexpr std::size_t kLogA = 2;
constexpr std::size_t kPhi = 3;
constexpr std::size_t kPsi = 4;

bool is_whole(const Knowledge& knowledge, const Stream& stream, std::size_t client) {
  const std::size_t rows = knowledge.rows[client];
  return stream.potentials.size() > kPsi && stream.potentials[kLogA].size() == rows &&
         stream.potentials[kPhi].size() == rows && stream.potentials[kPsi].size() == knowledge.columns[client] &&
         std::ranges::all_of(stream.u, [&](const auto& u) { return u.size() == rows; });
}

}  // namespace

std::optional<Published> published_rounds(const Knowledge& knowledge, const Transcript& messages) {
  const Stream own = stream_of(knowledge, messages, knowledge.curious, knowledge.victim);
  const Stream other = stream_of(knowledge, messages, knowledge.victim, knowledge.curious);
  if (!is_whole(knowledge, own, knowledge.curious) || !is_whole(knowledge, other, knowledge.victim)) {
    return std::nullopt;
  }
  Published published;
  published.log_a = other.potentials[kLogA];
  published.phi = joined(own.potentials[kPhi], other.potentials[kPhi]);
  published.psi = joined(own.potentials[kPsi], other.potentials[kPsi]);
  const std::size_t rounds = std::min(own.u.size(), other.u.size());
  for (std::size_t t = 0; t < rounds; ++t) {
    published.v.push_back(joined(own.v[t], other.v[t]));
    published.u.push_back(joined(own.u[t], other.u[t]));
  }
  return published;
}

// (K v)_i = a_i / u_i is linear in the victim's row i, of which the part in the curious client's columns is known.
std::optional<std::vector<double>> private_block(const Knowledge& knowledge, const Published& published,
                                                 std::span<const double> known) {
  const std::size_t rows = knowledge.rows[knowledge.victim];
  const std::size_t columns = knowledge.columns[knowledge.victim];
  const std::size_t own_rows = knowledge.rows[knowledge.curious];
  const std::size_t own_columns = knowledge.columns[knowledge.curious];
  std::vector<double> block;
  for (std::size_t i = 0; i < rows; ++i) {
    const double phi = published.phi[own_rows + i];
    LeastSquares equations(columns);
    for (std::size_t t = 0; t < published.v.size(); ++t) {
      const std::vector<double>& v = published.v[t];
      double rest = std::exp(published.log_a[i]) / published.u[t][own_rows + i];
      for (std::size_t j = 0; j < own_columns; ++j) {
        rest -= std::exp((phi + published.psi[j] - known[i * own_columns + j]) / knowledge.epsilon) * v[j];
      }
      equations.add({v.begin() + static_cast<std::ptrdiff_t>(own_columns), v.end()}, rest);
    }
    const auto kernel = equations.solve();
    if (!kernel) return std::nullopt;
    for (std::size_t j = 0; j < columns; ++j) {
      block.push_back(phi + published.psi[own_columns + j] - knowledge.epsilon * std::log(std::abs((*kernel)[j])));
    }
  }
  if (!are_finite(block)) return std::nullopt;
  return block;
}

// ---------------------------------------------------------------------------------------------------------------------

namespace {

// As in src/cost/cost_scan.cpp, which is public like all of the program.
constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 32U;
  x *= kFactor;
  return x ^ (x >> 29U);
}
std::uint64_t row_weight(std::uint64_t seed, std::size_t i) { return mixed(seed ^ mixed(2 * i + 1)) | 1U; }
std::uint64_t column_weight(std::uint64_t seed, std::size_t j) { return mixed(seed ^ mixed(2 * j + 2)) | 1U; }

/// It follows from the number that client 0 draws for the session and sends to all.
std::optional<std::uint64_t> seed_of_weights(const Transcript& messages) {
  for (const Message& message : messages) {
    if (message.kind != Payload::options || message.bytes.size() != SecretKey::kSize) continue;
    SecretKey key;
    std::memcpy(key.data(), message.bytes.data(), SecretKey::kSize);
    return digest_of(key, "symmetric costs", {})[0];
  }
  return std::nullopt;
}

/// Of an odd number, modulo 2^64 (Newton's method doubles the number of bits that are right).
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t x = odd;  // right in 3 bits
  for (int step = 0; step < 5; ++step) x *= 2 - odd * x;
  return x;
}

std::uint64_t unmixed(std::uint64_t x) {
  x ^= (x >> 29U) ^ (x >> 58U);
  x *= inverse(kFactor);
  return x ^ (x >> 32U);
}

/// Modulo 2^64.
struct Prints {
  std::uint64_t straight = 0;
  std::uint64_t transposed = 0;

  void add(std::uint64_t bits, std::uint64_t seed, const Entry& at) {
    straight += bits * row_weight(seed, at.row) * column_weight(seed, at.column);
    transposed += bits * column_weight(seed, at.row) * row_weight(seed, at.column);
  }
};

/// Of the victim's rows without the unknown entries.
Prints known_prints(const Knowledge& knowledge, std::uint64_t seed, std::span<const double> whole,
                    std::span<const Entry> unknown) {
  const auto before = knowledge.rows.begin() + static_cast<std::ptrdiff_t>(knowledge.victim);
  const std::size_t first_row = std::accumulate(knowledge.rows.begin(), before, std::size_t{0});
  const std::size_t n = std::accumulate(before, knowledge.rows.end(), first_row);
  Prints prints;
  for (std::size_t row = first_row; row < first_row + knowledge.rows[knowledge.victim]; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      if (std::ranges::count(unknown, Entry{row, column}) > 0) continue;
      prints.add(mixed(std::bit_cast<std::uint64_t>(whole[row * n + column] + 0.0)), seed, {row, column});
    }
  }
  return prints;
}

/// x with mixed(x) times the weights = prints. An even weight leaves high bits of mixed(x) open, so there may be
/// several: doubles of all sizes. The greatest that is no greater than the largest cost is by far the most likely.
std::optional<double> cost_with(const Prints& prints, const Prints& weights, double largest_cost) {
  constexpr int most_open_bits = 16;
  const int open = std::countr_zero(weights.straight);
  if (open > most_open_bits) return std::nullopt;
  const std::uint64_t low = ((prints.straight >> open) * inverse(weights.straight >> open)) << open >> open;
  std::optional<double> cost;
  for (std::uint64_t high = 0; high < (std::uint64_t{1} << open); ++high) {
    const std::uint64_t bits = open == 0 ? low : low | high << (64 - open);
    if (bits * weights.straight != prints.straight || bits * weights.transposed != prints.transposed) continue;
    const auto candidate = std::bit_cast<double>(unmixed(bits));
    if (candidate >= 0 && candidate <= largest_cost && candidate > cost.value_or(-1)) cost = candidate;
  }
  return cost;
}

}  // namespace

// Any 16 bytes may be the prints; others do not fit both weights. The victim's largest cost is the first number of the
// message of that size before.
std::optional<double> entry_from_fingerprint(const Knowledge& knowledge, const Transcript& messages,
                                             std::span<const double> whole, std::span<const Entry> unknown) {
  const std::optional<std::uint64_t> seed = seed_of_weights(messages);
  if (!seed) return std::nullopt;
  const Prints known = known_prints(knowledge, *seed, whole, unknown);
  Prints weights;
  for (const Entry& entry : unknown) weights.add(1, *seed, entry);
  double largest_cost = 0;
  for (const Message& message : between(messages, knowledge.victim, knowledge.curious)) {
    Prints prints;
    if (message.bytes.size() != sizeof prints) continue;
    std::memcpy(&prints, message.bytes.data(), sizeof prints);
    const Prints rest{prints.straight - known.straight, prints.transposed - known.transposed};
    if (const auto cost = cost_with(rest, weights, largest_cost)) return cost;
    largest_cost = std::bit_cast<double>(prints.straight);
  }
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------------------------------

std::size_t times_verbatim(const Transcript& messages, double value) {
  const auto pattern = std::bit_cast<std::array<std::byte, sizeof value>>(value);
  return static_cast<std::size_t>(std::ranges::count_if(messages, [&](const Message& message) {
    const std::vector<std::byte>& bytes = message.bytes;
    return std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end()) != bytes.end();
  }));
}

std::optional<double> nearest(const Knowledge& knowledge, const Transcript& messages, double value) {
  std::optional<double> best;
  for (const Message& message : messages) {
    for (const double number : knowledge.read(message.bytes)) {
      if (std::isfinite(number) && (!best || std::abs(number - value) < std::abs(*best - value))) best = number;
    }
  }
  return best;
}

std::vector<double> row_sums_in_notes(const Knowledge& knowledge, const Transcript& messages) {
  // Five sums of two numbers and two maxima at least; the first sum is that of the rows, then of the columns.
  constexpr std::size_t least = kNoteNumbers + 12;
  std::vector<double> sums;
  for (const Message& message : between(messages, knowledge.victim, knowledge.curious)) {
    const std::vector<double> note = knowledge.read(message.bytes);
    if (!is_of_a_round(message) || note.size() == knowledge.columns[knowledge.curious]) continue;
    if (note.size() >= least) sums.push_back(note[kNoteNumbers] + note[kNoteNumbers + 1]);
  }
  return sums;
}

}  // namespace fedsinkhorn::testing
