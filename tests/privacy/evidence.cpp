#include "privacy/evidence.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

namespace fedsinkhorn::testing {
namespace {

constexpr std::size_t kByteBits = 8;
constexpr std::size_t kWordBits = 128;

/// Whether so many ones among fair coins have a chance below 1e-12: Hoeffding's bound, 2 exp(-2 d^2 / n) for a
/// deviation d from n / 2, holds for every n.
bool is_unfair(std::size_t ones, std::size_t coins) {
  const double deviation = static_cast<double>(ones) - static_cast<double>(coins) / 2;
  return deviation * deviation > std::log(2e12) / 2 * static_cast<double>(coins);
}

bool bit(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at / kByteBits] >> (at % kByteBits) & std::byte{1}) != 0;
}

bool has_even_bytes(std::span<const std::byte> bytes) {
  constexpr std::size_t values = 256;
  // With fewer expected of each, the statistic below is not near its limit.
  if (bytes.size() < 5 * values) return true;
  std::array<std::size_t, values> counts{};
  for (const std::byte byte : bytes) ++counts[std::to_integer<std::size_t>(byte)];
  const double expected = static_cast<double>(bytes.size()) / values;
  double chi_square = 0;
  for (const std::size_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    chi_square += difference * difference / expected;
  }
  // Mean 255, standard deviation 22.6. Ten of those above the mean: chance below 1e-14.
  return chi_square < 481;
}

bool has_fair_bits(std::span<const std::byte> bytes) {
  const std::size_t bits = bytes.size() * kByteBits;
  std::array<std::size_t, kWordBits> ones{};
  std::array<std::size_t, kWordBits> coins{};
  for (std::size_t i = 0; i < bits; ++i) {
    ones[i % kWordBits] += bit(bytes, i) ? 1 : 0;
    ++coins[i % kWordBits];
  }
  if (is_unfair(std::accumulate(ones.begin(), ones.end(), std::size_t{0}), bits)) return false;
  for (std::size_t place = 0; place < kWordBits; ++place) {
    if (is_unfair(ones[place], coins[place])) return false;
  }
  return true;
}

/// Whether a bit agrees with a later one is a fair coin, too, and all of them are independent.
bool is_free_of_echoes(std::span<const std::byte> bytes) {
  const std::size_t bits = bytes.size() * kByteBits;
  for (const std::size_t lag : {1U, 8U, 64U, 128U}) {
    std::size_t agreements = 0;
    for (std::size_t i = 0; i + lag < bits; ++i) agreements += bit(bytes, i) == bit(bytes, i + lag) ? 1 : 0;
    if (bits > lag && is_unfair(agreements, bits - lag)) return false;
  }
  return true;
}

}  // namespace

double error_of_estimate(std::span<const double> estimate, std::span<const double> truth) {
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) sum += (estimate[i] - truth[i]) * (estimate[i] - truth[i]);
  return std::sqrt(sum / static_cast<double>(truth.size()));
}

bool better_than_a_guess(std::span<const double> estimate, std::span<const double> truth) {
  if (truth.size() < 5 || estimate.size() != truth.size()) return false;
  const auto size = static_cast<double>(truth.size());
  const double mean = std::accumulate(truth.begin(), truth.end(), 0.0) / size;
  const double guess = error_of_estimate(std::vector<double>(truth.size(), mean), truth);
  // An estimate that correlates with the truth by r has at least sqrt(1 - r^2) of that error. For unrelated ones
  // atanh(r) is about normal with variance 1 / (size - 3) (Fisher), and six standard deviations have a chance of 1e-9.
  const double r = std::tanh(6 / std::sqrt(size - 3));
  return error_of_estimate(estimate, truth) < std::sqrt(1 - r * r) * guess;
}

bool looks_uniform(std::span<const std::byte> bytes) {
  return has_even_bytes(bytes) && has_fair_bits(bytes) && is_free_of_echoes(bytes);
}

}  // namespace fedsinkhorn::testing
