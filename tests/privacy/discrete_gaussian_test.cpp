// Draws of the discrete Gaussian against its probabilities, and the bits they are made of.
#include "privacy/discrete_gaussian.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "privacy/random_bits.hpp"

namespace fedsinkhorn::test {
namespace {

using Draw = std::function<std::int64_t()>;

/// The probabilities, and the moments that follow from them.
class DiscreteLaw {
 public:
  /// Beyond nine deviations there is 1e-18.
  explicit DiscreteLaw(double sigma) : half_(static_cast<std::size_t>(std::ceil(9 * sigma)) + 10) {
    double total = 0;
    for (std::size_t x = 0; x < half_.size(); ++x) {
      const double z = static_cast<double>(x) / sigma;
      half_[x] = std::exp(-z * z / 2);
      total += (x == 0 ? 1 : 2) * half_[x];
    }
    for (double& p : half_) p /= total;
    for (std::size_t x = 1; x < half_.size(); ++x) {
      const double square = static_cast<double>(x) * static_cast<double>(x);
      variance_ += 2 * half_[x] * square;
      fourth_moment_ += 2 * half_[x] * square * square;
    }
  }

  [[nodiscard]] std::int64_t end() const { return static_cast<std::int64_t>(half_.size()); }
  [[nodiscard]] double operator()(std::int64_t x) const { return half_[static_cast<std::size_t>(std::abs(x))]; }
  [[nodiscard]] double variance() const { return variance_; }
  [[nodiscard]] double fourth_moment() const { return fourth_moment_; }

 private:
  std::vector<double> half_;  // from 0 on
  double variance_ = 0;
  double fourth_moment_ = 0;
};

/// The p-value of Pearson's test. Neighbours are put together until at least `least` draws are expected.
double chi_square_p(const DiscreteLaw& law, std::vector<std::int64_t> draws, double least) {
  std::sort(draws.begin(), draws.end());
  const auto n = static_cast<double>(draws.size());
  double statistic = 0;
  int cells = 0;
  double expected = 0;
  double left = n;  // expected in cells to come
  auto first = draws.begin();
  for (std::int64_t x = 1 - law.end(); x < law.end(); ++x) {
    expected += n * law(x);
    if (expected < least || left - expected < least) continue;
    const auto end = std::upper_bound(first, draws.end(), x);
    const double difference = static_cast<double>(end - first) - expected;
    statistic += difference * difference / expected;
    ++cells;
    left -= expected;
    expected = 0;
    first = end;
  }
  const double difference = static_cast<double>(draws.end() - first) - left;
  statistic += difference * difference / left;
  return boost::math::gamma_q(cells / 2.0, statistic / 2);
}

/// What is wrong with a sampler; empty if nothing is found. A right one fails with a probability below 1e-9.
std::string fault_of(const Draw& draw, double sigma) {
  constexpr std::size_t kDraws = 2'000'000;
  constexpr double kMostDeviations = 6.5;  // 8e-11 of a normal variable lie beyond
  constexpr double kLeastP = 1e-10;
  const DiscreteLaw law(sigma);
  const auto n = static_cast<double>(kDraws);
  std::vector<std::int64_t> draws(kDraws);
  double sum = 0;
  double squares = 0;
  for (std::int64_t& x : draws) {
    x = draw();
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  const double mean = sum / std::sqrt(n * law.variance());
  if (std::abs(mean) > kMostDeviations) return "mean";
  const double spread = std::sqrt(n * (law.fourth_moment() - law.variance() * law.variance()));
  if (std::abs(squares - n * law.variance()) > kMostDeviations * spread) return "variance";
  // At most a hundred cells.
  if (chi_square_p(law, std::move(draws), n / 100) < kLeastP) return "chi-square";
  return "";
}

std::vector<std::unique_ptr<RandomBits>> sources() {
  std::vector<std::unique_ptr<RandomBits>> all;
  all.push_back(std::make_unique<SystemBits>());
  all.push_back(std::make_unique<SeededBits>(1, 2));
  return all;
}

struct Sigma {
  std::uint64_t numerator;
  std::uint64_t denominator = 1;
  [[nodiscard]] double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};

TEST(DiscreteGaussian, HasItsMomentsAndProbabilities) {
  for (const std::unique_ptr<RandomBits>& random : sources()) {
    for (const Sigma sigma : {Sigma{1, 2}, Sigma{3}, Sigma{1'000'000}, Sigma{22, 7}}) {
      const DiscreteGaussian gaussian(sigma.numerator, sigma.denominator);
      EXPECT_EQ(fault_of([&] { return gaussian(*random); }, sigma.value()), "")
          << sigma.value() << (random->is_private() ? " system" : " seeded");
    }
  }
}

TEST(DiscreteGaussian, AWrongOneIsNoticed) {
  Random random(3);
  const auto rounded = [&](double sigma) {
    return fault_of([&] { return std::llround(sigma * random.normal()); }, sigma);
  };
  EXPECT_NE(rounded(0.5), "");
  EXPECT_EQ(rounded(1e6), "");  // there rounding is harmless

  // A variance 1 % too large.
  SeededBits bits(4, 0);
  for (const Sigma sigma : {Sigma{1, 2}, Sigma{3}, Sigma{1'000'000}}) {
    const DiscreteGaussian wide(201 * sigma.numerator, 200 * sigma.denominator);
    EXPECT_NE(fault_of([&] { return wide(bits); }, sigma.value()), "") << sigma.value();
  }
  const DiscreteGaussian gaussian(3);
  EXPECT_EQ(fault_of([&] { return gaussian(bits) + (bits.below(50) == 0 ? 1 : 0); }, 3), "mean");
  // Some odd numbers become even: mean and variance stay nearly the same.
  const Draw dented = [&] {
    const std::int64_t x = gaussian(bits);
    if (x % 2 == 0 || bits.below(20) != 0) return x;
    return bits.coin() ? x + 1 : x - 1;
  };
  EXPECT_EQ(fault_of(dented, 3), "chi-square");
}

TEST(DiscreteGaussian, DrawsOfASeedRepeat) {
  const auto draws = [](std::uint64_t seed, std::uint64_t stream) {
    SeededBits bits(seed, stream);
    const DiscreteGaussian gaussian(std::uint64_t{1} << 40U);
    std::vector<std::int64_t> all(2000);
    for (std::int64_t& x : all) x = gaussian(bits);
    return all;
  };
  EXPECT_EQ(draws(5, 6), draws(5, 6));
  EXPECT_NE(draws(5, 6), draws(5, 7));
  EXPECT_NE(draws(5, 6), draws(6, 6));
  double squares = 0;
  for (const std::int64_t x : draws(5, 6)) squares += std::pow(static_cast<double>(x) * 0x1p-40, 2);
  EXPECT_NEAR(squares / 2000, 1, 0.2);
}

TEST(DiscreteGaussian, RefusesWhatDoesNotFit) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
  const auto is_refused = [](std::uint64_t numerator, std::uint64_t denominator) {
    try {
      SeededBits bits(9, 0);
      for (int k = 0; k < 10; ++k) (void)DiscreteGaussian(numerator, denominator)(bits);
      return false;
    } catch (const std::invalid_argument&) {
      return true;
    }
  };
  EXPECT_TRUE(is_refused(0, 1));
  EXPECT_TRUE(is_refused(1, 0));
  EXPECT_TRUE(is_refused(kMost + 1, 1));
  EXPECT_TRUE(is_refused(~std::uint64_t{0}, (std::uint64_t{1} << 62U) + 1));
  EXPECT_TRUE(is_refused(1, 2 * kMost));
  EXPECT_TRUE(is_refused(2 * kMost - 1, 2));
  EXPECT_FALSE(is_refused(kMost, 1));
  EXPECT_FALSE(is_refused(kMost << 20U, std::uint64_t{1} << 20U));  // reduced first
  EXPECT_FALSE(is_refused(1'000'001, 1000));
}

TEST(DiscreteGaussian, IsZeroWhereSigmaIsSmall) {
  SeededBits bits(8, 0);
  const DiscreteGaussian gaussian(1, std::uint64_t{1} << 40U);
  for (int k = 0; k < 1000; ++k) EXPECT_EQ(gaussian(bits), 0);
}

TEST(RandomBits, AreUniformBelowABound) {
  for (const std::unique_ptr<RandomBits>& random : sources()) {
    constexpr int kDraws = 300'000;
    for (const std::uint64_t bound : {1U, 2U, 3U, 10U}) {
      std::vector<int> counts(bound);
      std::vector<int> wide_counts(bound);
      for (int k = 0; k < kDraws; ++k) {
        ++counts.at(random->below(bound));
        // Of a bound that is no power of two, and has more than 64 bits.
        ++wide_counts.at(static_cast<std::size_t>(random->wide_below(Word{bound} << 99U) >> 99U));
      }
      const double expected = static_cast<double>(kDraws) / static_cast<double>(bound);
      for (const int count : counts) EXPECT_NEAR(count, expected, 7 * std::sqrt(expected));
      for (const int count : wide_counts) EXPECT_NEAR(count, expected, 7 * std::sqrt(expected));
    }
    int heads = 0;
    for (int k = 0; k < kDraws; ++k) heads += random->coin() ? 1 : 0;
    EXPECT_NEAR(heads, kDraws / 2.0, 3.5 * std::sqrt(kDraws));
  }
}

TEST(RandomBits, WideOnesReachEveryBit) {
  SeededBits bits(1, 1);
  for (const Word bound : {Word{1} << 64U, (Word{1} << 64U) + 1, Word{3} << 126U, ~Word{0}}) {
    Word seen = 0;
    for (int k = 0; k < 2000; ++k) {
      const Word draw = bits.wide_below(bound);
      ASSERT_TRUE(draw < bound);
      seen |= draw;
    }
    EXPECT_TRUE((seen | (Word{1} << 64U)) >= bound - 1);
  }
}

TEST(RandomBits, SeededOnesAreChaCha) {
  SeededBits bits(0, 0);
  EXPECT_FALSE(bits.is_private());
  EXPECT_TRUE(SystemBits().is_private());
  EXPECT_EQ(bits.bits(), 0x903df1a0ade0b876U);  // of RFC 7539: zero key, zero nonce, block 0
  std::set<std::uint64_t> seen;
  for (int k = 0; k < 5000; ++k) seen.insert(bits.bits());
  EXPECT_EQ(seen.size(), 5000U);  // no part of the stream comes twice
}

}  // namespace
}  // namespace fedsinkhorn::test
