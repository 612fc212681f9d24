#include "privacy/discrete_gaussian.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

namespace fedsinkhorn {
namespace {

constexpr std::uint64_t kMostSigma = std::uint64_t{1} << 40U;
constexpr std::uint64_t kMostDenominator = std::uint64_t{1} << 40U;
constexpr std::uint64_t kMostUnit = std::uint64_t{1} << 63U;
/// Of the Laplace; what lies beyond is left out.
constexpr std::uint64_t kMostScales = std::uint64_t{1} << 20U;

bool one_in(std::uint64_t k, RandomBits& random) {
  if (k <= 2) return k == 1 || random.coin();
  return random.below(k) == 0;
}

/// True with probability numerator / denominator. numerator <= denominator.
bool happens(std::uint64_t numerator, std::uint64_t denominator, RandomBits& random) {
  return random.below(denominator) < numerator;
}

/// True with probability exp(-gamma), where `event` is true with probability gamma, at most 1, each time. The number of
/// successes of gamma, gamma/2, gamma/3, ... in a row is even with probability 1 - gamma + gamma^2/2! - ...
template <class Event>
bool exp_minus(const Event& event, RandomBits& random) {
  bool is_even = true;
  for (std::uint64_t k = 1; one_in(k, random) && event(); ++k) is_even = !is_even;
  return is_even;
}

/// True with probability 1 / e.
bool one_over_e(RandomBits& random) {
  return exp_minus([] { return true; }, random);
}

/// True if all `count` draws are.
template <class Draw>
bool all_of(Word count, const Draw& draw) {
  for (; count > 0; --count) {
    if (!draw()) return false;
  }
  return true;
}

}  // namespace

DiscreteGaussian::DiscreteGaussian(std::uint64_t numerator, std::uint64_t denominator) {
  const auto require = [&](bool holds, const char* reason) {
    if (!holds) throw std::invalid_argument(fmt::format("sigma {} / {}: {}", numerator, denominator, reason));
  };
  require(numerator > 0 && denominator > 0, "must be positive");
  const std::uint64_t common = std::gcd(numerator, denominator);
  const std::uint64_t n = numerator / common;
  const std::uint64_t d = denominator / common;
  t_ = n / d + (n % d == 0 ? 0 : 1);
  require(t_ <= kMostSigma, "is above 2^40");
  require(d <= kMostDenominator, "the denominator is above 2^40");
  // (|y| - sigma^2/t) / sigma = |y| d/n - n/(d t), over the least common multiple of n and d t. The latter is less than
  // n + d, and may be n.
  const Word scaled = Word{d} * t_;
  const bool is_integer = d == 1;
  require(is_integer || scaled <= kMostUnit / n, "is too fine a fraction: its products do not fit");
  unit_ = is_integer ? n : static_cast<std::uint64_t>(scaled * n);
  slope_ = Word{d} * (unit_ / n);
  centre_ = Word{n} * (unit_ / static_cast<std::uint64_t>(scaled));
}

std::int64_t DiscreteGaussian::operator()(RandomBits& random) const {
  for (;;) {
    const Magnitude y = laplace_magnitude(random);
    const bool is_negative = random.coin();
    if (is_negative && y.u == 0 && y.v == 0) continue;  // else 0 would come twice as often
    if (y.v > kMostScales) continue;
    const std::uint64_t magnitude = y.u + t_ * y.v;  // at most 2^61
    if (!is_accepted(magnitude, random)) continue;
    const auto value = static_cast<std::int64_t>(magnitude);
    return is_negative ? -value : value;
  }
}

DiscreteGaussian::Magnitude DiscreteGaussian::laplace_magnitude(RandomBits& random) const {
  Magnitude y{0, 0};
  do {
    y.u = random.below(t_);
  } while (!exp_minus([&] { return happens(y.u, t_, random); }, random));
  while (one_over_e(random)) ++y.v;
  return y;
}

// With (slope |y| - centre) / unit = c + r, c an integer and 0 <= r < 1, the probability is the product of
// exp(-c^2/2), exp(-r)^c and exp(-r^2/2). Each r, r^2 and 1/2 is an event of its own; nothing is multiplied.
bool DiscreteGaussian::is_accepted(std::uint64_t magnitude, RandomBits& random) const {
  // slope |y|: for integers |y| alone. Else slope = d^2 t, where d <= 2^40, d t <= 2^63 and |y| <= t 2^21.
  const Word scaled = slope_ * magnitude;
  const Word distance = scaled > centre_ ? scaled - centre_ : centre_ - scaled;
  const Word c = distance / unit_;
  const auto rest = static_cast<std::uint64_t>(distance % unit_);
  const auto half = [&] { return random.coin(); };
  const auto r = [&] { return happens(rest, unit_, random); };
  if (c > 0) {
    if (!all_of(c * c / 2, [&] { return one_over_e(random); })) return false;
    if (c % 2 == 1 && !exp_minus(half, random)) return false;
    if (!all_of(c, [&] { return exp_minus(r, random); })) return false;
  }
  return exp_minus([&] { return half() && r() && r(); }, random);
}

}  // namespace fedsinkhorn
