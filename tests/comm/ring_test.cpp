// Fixed point: numbers come back as they were, and sums are exact whatever the order.
#include "comm/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

using testing::kLargest;
using testing::kSmallest;
/// Clients, at most.
constexpr int kMost = 4096;

std::vector<Word> encoded(const FixedPoint& format, double x) {
  std::vector<Word> words(format.words);
  add_to(format, x, words);
  return words;
}

double decoded(const FixedPoint& format, const std::vector<Word>& words) { return number_of(format, words).total(); }

void add(std::vector<Word>& sum, const std::vector<Word>& words) {
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += words[k];
}

struct Named {
  const char* name;
  FixedPoint format;
};
class Formats : public ::testing::TestWithParam<Named> {
 protected:
  static const FixedPoint& format() { return GetParam().format; }
  /// Of a number below the limit whose last bit is at least a unit, so that nothing is lost.
  static double draw(Random& random) {
    const int least = std::max(format().unit + 53, -1021);
    const auto exponents = static_cast<std::size_t>(format().limit - least) + 1;
    const int exponent = least + static_cast<int>(random.below(exponents));
    const double x = std::ldexp(random.uniform(0.5, 1), exponent);
    return random.below(2) == 0 ? x : -x;
  }
};
INSTANTIATE_TEST_SUITE_P(Ring, Formats,
                         ::testing::Values(Named{"Share", kShare}, Named{"Statistic", kStatistic},
                                           Named{"AnyNumber", kAnyNumber}, Named{"LogTerms", {9, -104, 744}}),
                         [](const auto& info) { return info.param.name; });

TEST_P(Formats, GiveBackWhatTheyGot) {
  Random random(1);
  for (int time = 0; time < 20'000; ++time) {
    const double x = draw(random);
    ASSERT_TRUE(format().holds(x)) << x;
    ASSERT_EQ(decoded(format(), encoded(format(), x)), x);
    ASSERT_EQ(decoded(format(), encoded(format(), -x)), -x);
  }
  for (const double x : {0.0, 1.0, -1.0, 0.1, 3.0}) EXPECT_EQ(decoded(format(), encoded(format(), x)), x);
}

TEST_P(Formats, RoundToTheNearestUnit) {
  if (format().unit < -1074) return;  // nothing is below a unit
  const double unit = std::ldexp(1.0, format().unit);
  for (const double sign : {1.0, -1.0}) {
    EXPECT_EQ(decoded(format(), encoded(format(), sign * unit)), sign * unit);
    EXPECT_EQ(decoded(format(), encoded(format(), sign * 0.75 * unit)), sign * unit);
    EXPECT_EQ(decoded(format(), encoded(format(), sign * 0.5 * unit)), sign * unit);
    EXPECT_EQ(decoded(format(), encoded(format(), sign * 0.499 * unit)), 0);
    EXPECT_EQ(decoded(format(), encoded(format(), sign * 1.25 * unit)), sign * unit);
    EXPECT_EQ(decoded(format(), encoded(format(), sign * 5.75 * unit)), sign * 6 * unit);
    EXPECT_EQ(decoded(format(), encoded(format(), sign * 1e-300 * unit)), 0);
  }
  // Anywhere: by half a unit at most.
  Random random(2);
  for (int time = 0; time < 5'000; ++time) {
    const double x = std::ldexp(random.uniform(-1, 1), format().unit + static_cast<int>(random.below(60)) - 3);
    EXPECT_LE(std::abs(decoded(format(), encoded(format(), x)) - x), 0.5 * unit + std::abs(x) * 0x1p-53) << x;
  }
}

TEST_P(Formats, HoldWhatIsBelowTheirLimit) {
  const double limit = std::ldexp(1.0, format().limit);  // infinite for kAnyNumber
  EXPECT_FALSE(format().holds(limit));
  EXPECT_FALSE(format().holds(-limit));
  EXPECT_FALSE(format().holds(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(format().holds(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(format().holds(std::nextafter(limit, 0)));
}

// As many clients as there may be, all at the limit: the last word has room for them.
TEST_P(Formats, HaveRoomForAllClients) {
  const double x = std::nextafter(std::ldexp(1.0, format().limit - (format().limit == 1024 ? 12 : 0)), 0);
  for (const double sign : {1.0, -1.0}) {
    std::vector<Word> sum(format().words);
    for (int k = 0; k < kMost; ++k) add(sum, encoded(format(), sign * x));
    EXPECT_EQ(decoded(format(), sum), sign * x * kMost);
    for (int k = 0; k + 1 < kMost; ++k) add(sum, encoded(format(), -sign * x));
    EXPECT_EQ(decoded(format(), sum), sign * x);
  }
  // Digits in all places but the last, at every client.
  double ones = 0;
  for (int bit = 0; bit < 52; ++bit) ones += std::ldexp(1.0, -bit - 1);
  for (int exponent = std::max(format().unit + 60, -1000); exponent < format().limit - 12; exponent += 7) {
    std::vector<Word> sum(format().words);
    for (int k = 0; k < kMost; ++k) add(sum, encoded(format(), std::ldexp(ones, exponent)));
    ASSERT_EQ(decoded(format(), sum), std::ldexp(ones, exponent) * kMost) << exponent;
  }
}

TEST_P(Formats, AddUpExactlyInAnyOrder) {
  Random random(3);
  for (int time = 0; time < 200; ++time) {
    // Pairs that cancel, and one number that is left.
    std::vector<double> numbers = {draw(random)};
    const double left = numbers[0];
    for (int pair = 0; pair < 20; ++pair) {
      numbers.push_back(draw(random));
      numbers.push_back(-numbers.back());
    }
    for (std::size_t k = numbers.size(); k-- > 1;) std::swap(numbers[k], numbers[random.below(k + 1)]);
    std::vector<Word> sum(format().words);
    for (const double x : numbers) add(sum, encoded(format(), x));
    ASSERT_EQ(decoded(format(), sum), left);
    std::vector<Word> other(format().words);
    for (std::size_t k = numbers.size(); k-- > 0;) add_to(format(), numbers[k], other);
    ASSERT_EQ(sum, other);
  }
}

// Digits of different signs, in neighbouring words: 2^e - 2^(e - d) for all distances.
TEST_P(Formats, AddUpNumbersOfDifferentSigns) {
  const int least = std::max(format().unit, -1074);
  for (int high = format().limit - 1; high > least; high -= 5) {
    for (int low = high - 1; low >= least; low -= 11) {
      std::vector<Word> sum = encoded(format(), std::ldexp(1.0, high));
      add(sum, encoded(format(), -std::ldexp(1.0, low)));
      const ExactSum got = number_of(format(), sum);
      ASSERT_EQ(got.value + got.rest, std::ldexp(1.0, high) - std::ldexp(1.0, low)) << high << ", " << low;
      // To more than a hundred digits.
      ASSERT_EQ((got.value - std::ldexp(1.0, high)) + got.rest, -std::ldexp(1.0, low)) << high << ", " << low;
    }
  }
}

TEST(AnyNumber, IsAnyNumber) {
  for (const double x : {kLargest, -kLargest, kSmallest, -kSmallest, 3 * kSmallest, 0x1.8p-1050, 0x1p-1022, 1e-320}) {
    EXPECT_TRUE(kAnyNumber.holds(x));
    EXPECT_EQ(decoded(kAnyNumber, encoded(kAnyNumber, x)), x);
  }
  Random random(4);
  for (int time = 0; time < 20'000; ++time) {
    const double x = std::ldexp(random.uniform(-1, 1), static_cast<int>(random.below(2098)) - 1074);
    ASSERT_EQ(decoded(kAnyNumber, encoded(kAnyNumber, x)), x);
  }
  // The largest and the smallest together.
  std::vector<Word> sum = encoded(kAnyNumber, kLargest);
  add(sum, encoded(kAnyNumber, kSmallest));
  add(sum, encoded(kAnyNumber, -kLargest));
  EXPECT_EQ(decoded(kAnyNumber, sum), kSmallest);
}

}  // namespace
}  // namespace fedsinkhorn
