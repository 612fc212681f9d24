#include "comm/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "comm/secure_sums.hpp"
#include "core/log_of_sum.hpp"
#include "core/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

/// Powers of two in order: 0 stands for nothing positive, the last one for infinity. Found digit by digit.
constexpr int kLeastExponent = -1074;
constexpr std::size_t kRadix = 46;
static_assert(kRadix * kRadix > 1 + 1024 - kLeastExponent + 1);

std::size_t step_of(double x) {
  if (x <= 0) return 0;
  if (!std::isfinite(x)) return kRadix * kRadix - 1;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  if (fraction == 0.5) --exponent;  // 2^exponent >= x
  const int step = exponent - kLeastExponent + 1;
  return static_cast<std::size_t>(step);
}

double value_of(std::size_t step) {
  if (step == 0) return 0;
  if (step == kRadix * kRadix - 1) return kInfinity;
  return std::ldexp(1.0, static_cast<int>(step) - 1 + kLeastExponent);
}

/// The greatest of the clients' digits from 0 to kRadix - 1: flags are set up to the own one, so that the union shows
/// nothing else. taking_part: whether the own digit counts. shows: see SecureSums.
std::vector<std::size_t> greatest_digits(SecureSums& sums, const std::vector<std::size_t>& own,
                                         const std::vector<bool>& taking_part, std::uint64_t shows) {
  std::vector<bool> flags(own.size() * kRadix);
  for (std::size_t k = 0; k < own.size(); ++k) {
    for (std::size_t digit = 1; taking_part[k] && digit <= own[k]; ++digit) flags[k * kRadix + digit] = true;
  }
  sums.any(Payload::note, flags, shows);
  std::vector<std::size_t> greatest(own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    while (greatest[k] + 1 < kRadix && flags[k * kRadix + greatest[k] + 1]) ++greatest[k];
  }
  return greatest;
}

void greatest_by_sums(SecureSums& sums, std::vector<double>& values) {
  std::vector<std::size_t> high;
  std::vector<std::size_t> low;
  for (const double x : values) {
    high.push_back(step_of(x) / kRadix);
    low.push_back(step_of(x) % kRadix);
  }
  const std::vector<std::size_t> greatest_high =
      greatest_digits(sums, high, std::vector<bool>(values.size(), true), values.size());
  std::vector<bool> takes_part(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) takes_part[k] = high[k] == greatest_high[k];
  const std::vector<std::size_t> greatest_low = greatest_digits(sums, low, takes_part, 0);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = value_of(greatest_high[k] * kRadix + greatest_low[k]);
}

// In the order of the clients, whichever this is; a NaN is the greatest.
void greatest_in(const std::vector<double>& all, std::vector<double>& values) {
  std::copy_n(all.begin(), values.size(), values.begin());
  for (std::size_t k = values.size(); k < all.size(); ++k) {
    values[k % values.size()] = worse(values[k % values.size()], all[k]);
  }
}

/// exp(kLogWindow) at most; far below 1, terms do not count.
constexpr FixedPoint kTerm{9, -104, 744};

/// The sum itself shows where the greatest addend is, to the logarithm of their number.
std::vector<double> common_windows(SecureSums& sums, std::span<const double> logs, Payload kind) {
  std::vector<double> largest(1);
  for (const double x : logs) {
    if (std::isfinite(x)) largest[0] = std::max(largest[0], std::abs(x));
  }
  greatest_by_sums(sums, largest);
  // Invariant: some client reaches `reached`, or none reaches anything above it; nobody reaches `beyond`.
  std::vector<double> reached(logs.size(), -std::ceil(largest[0] / kLogWindow));
  std::vector<double> beyond(logs.size(), std::floor(largest[0] / kLogWindow) + 1);
  if (reached.empty()) return reached;
  double width = beyond[0] - reached[0];
  while (width > 1) {
    std::vector<bool> flags(logs.size());
    for (std::size_t j = 0; j < logs.size(); ++j) {
      flags[j] = logs[j] >= kLogWindow * std::floor((reached[j] + beyond[j]) / 2);
    }
    sums.any(kind, flags, 0);
    for (std::size_t j = 0; j < logs.size(); ++j) {
      const double middle = std::floor((reached[j] + beyond[j]) / 2);
      if (middle > reached[j]) (flags[j] ? reached[j] : beyond[j]) = middle;
    }
    width = std::ceil(width / 2);
  }
  for (double& w : reached) w *= kLogWindow;
  return reached;
}

}  // namespace

// All clients leave out what is not finite at one of them: a sum over the others alone would tell more than one over
// all.
void add_up_any(SecureSums& sums, std::span<ExactSum> numbers, Payload kind) {
  std::vector<bool> is_not_finite(numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    is_not_finite[k] = !std::isfinite(numbers[k].value) || !std::isfinite(numbers[k].rest);
  }
  sums.any(kind, is_not_finite, 0);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (is_not_finite[k]) numbers[k] = {};
  }
  sums.add_up(kind, kAnyNumber, numbers);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (is_not_finite[k]) numbers[k] = {std::numeric_limits<double>::quiet_NaN(), 0};
  }
}

void add_up_logs(SecureSums& sums, std::span<double> logs, Payload kind) {
  std::vector<bool> is_nonsense = {std::ranges::any_of(
      logs, [](double x) { return std::isnan(x) || x == kInfinity || (std::isfinite(x) && std::abs(x) > 0x1p1000); })};
  sums.any(kind, is_nonsense, 0);
  if (is_nonsense[0]) {
    std::ranges::fill(logs, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const std::vector<double> windows = common_windows(sums, logs, kind);
  std::vector<ExactSum> terms(logs.size());
  for (std::size_t j = 0; j < logs.size(); ++j) terms[j].value = std::exp(logs[j] - windows[j]);
  sums.add_up(kind, kTerm, terms);
  for (std::size_t j = 0; j < logs.size(); ++j) {
    const double total = terms[j].total();
    logs[j] = total > 0 ? windows[j] + std::log(total) : -kInfinity;
  }
}

double greatest_of_all(const Collectives& clients, double x) {
  std::vector<double> value = {x};
  greatest_of_all(clients, value);
  return value[0];
}

void greatest_of_all(const Collectives& clients, std::vector<double>& values) {
  if (clients.sums() != nullptr) return greatest_by_sums(*clients.sums(), values);
  greatest_in(clients.of(Payload::note).allgather_numbers(values), values);
}

double greatest_of_known(const Collectives& clients, double x) {
  std::vector<double> value = {x};
  greatest_of_known(clients, value);
  return value[0];
}

void greatest_of_known(const Collectives& clients, std::vector<double>& values) {
  std::vector<double> all(clients.size() * values.size());
  std::ranges::copy(values, all.begin() + static_cast<std::ptrdiff_t>(clients.rank() * values.size()));
  const std::vector<std::size_t> counts(clients.size(), values.size());
  gather_known(clients.of(Payload::note), all, counts);
  greatest_in(all, values);
}

void any_of_all(const Collectives& clients, std::vector<bool>& flags) {
  if (clients.sums() != nullptr) return clients.sums()->any(Payload::note, flags, numbers_of_flags(flags.size()));
  std::vector<double> mine(flags.begin(), flags.end());
  const std::vector<double> all = clients.of(Payload::note).allgather_numbers(mine);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k] != 0) flags[k % flags.size()] = true;
  }
}

void combine_of_all(const Collectives& clients, Norm norm, std::span<ErrorPart> parts, Payload kind) {
  if (clients.sums() != nullptr) {
    if (norm == Norm::linf) throw std::logic_error("the largest error of any client is no sum");
    return add_up_any(*clients.sums(), parts, kind);
  }
  std::vector<double> mine;
  for (const ErrorPart& part : parts) mine.insert(mine.end(), {part.value, part.rest});
  const std::vector<double> all = clients.of(kind).allgather_numbers(mine);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    parts[k] = {all[2 * k], all[2 * k + 1]};
    for (std::size_t client = 1; client < clients.size(); ++client) {
      const double* at = all.data() + client * mine.size() + 2 * k;
      parts[k] = combined(norm, parts[k], {at[0], at[1]});
    }
  }
}

void add_up_of_all(const Collectives& clients, std::span<ExactSum> sums, Payload kind) {
  combine_of_all(clients, Norm::l1, sums, kind);
}

void add_up_logs_of_all(const Collectives& clients, std::span<double> logs, Payload kind) {
  if (clients.sums() != nullptr) return add_up_logs(*clients.sums(), logs, kind);
  const std::vector<double> all = clients.of(kind).allgather_numbers(logs);
  for (std::size_t j = 0; j < logs.size(); ++j) logs[j] = log_of_sum(all.data() + j, clients.size(), logs.size());
}

void gather_known(const Collectives& clients, std::span<double> whole, std::span<const std::size_t> counts) {
  if (clients.sums() == nullptr) return clients.allgather(whole, counts);
  std::size_t first = 0;
  for (std::size_t k = 0; k < clients.rank(); ++k) first += counts[k];
  const Range own{first * sizeof(double), (first + counts[clients.rank()]) * sizeof(double)};
  clients.sums()->gather(clients.label().kind, std::as_writable_bytes(whole), own);
}

}  // namespace fedsinkhorn
