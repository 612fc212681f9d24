// Rows of costs tilted by losses, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "simd/simd.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn::cpu {
namespace {

using testing::kInfinity;

class EveryTilt : public ::testing::TestWithParam<std::string> {
 protected:
  const TiltOps& ops_ = simd(GetParam()).tilts;
};
INSTANTIATE_TEST_SUITE_P(Simd, EveryTilt, ::testing::ValuesIn(simd_variants()),
                         [](const auto& info) { return info.param; });

struct Row {
  std::vector<double> cost;
  std::vector<double> loss;
  double least = 0;
};

Row random_row(std::size_t columns, double scale, double forbidden, Random& random) {
  Row row;
  row.least = kInfinity;
  for (std::size_t j = 0; j < columns; ++j) {
    row.cost.push_back(random.uniform() < forbidden ? kInfinity : scale * random.uniform());
    row.loss.push_back(random.uniform(-1, 1));
    row.least = std::min(row.least, row.cost.back());
  }
  if (!std::isfinite(row.least)) row.least = 0;  // all are forbidden: as of a day that may stay
  return row;
}

double plain_maximum(const Row& row, double lambda) {
  double best = -kInfinity;
  for (std::size_t j = 0; j < row.cost.size(); ++j) {
    if (row.cost[j] < kInfinity) best = std::max(best, row.loss[j] - lambda * (row.cost[j] - row.least));
  }
  return best;
}

void check(const TiltOps& ops, const Row& row, double lambda, double epsilon) {
  const std::size_t columns = row.cost.size();
  const double maximum = ops.maximum(row.cost.data(), row.least, columns, row.loss.data(), lambda);
  const double wanted = plain_maximum(row, lambda);
  if (std::isfinite(wanted)) {
    EXPECT_NEAR(maximum, wanted, 4e-16 * std::max(1.0, std::abs(wanted)));
  } else {
    EXPECT_EQ(maximum, wanted);
  }
  const double shift = std::isfinite(maximum) ? maximum : 0.0;
  constexpr double guard = 12345;
  std::vector<double> weights(columns + 8, guard);
  const TiltedSums sums =
      ops.sums(row.cost.data(), row.least, columns, row.loss.data(), lambda, shift, 1 / epsilon, weights.data());
  long double weight = 0;
  long double excess = 0;
  long double squared = 0;
  long double loss = 0;
  long double product = 0;
  long double size_of_loss = 0;
  long double size_of_product = 0;
  double worst = 0;  // what is rounded in exponents
  for (std::size_t j = 0; j < columns; ++j) {
    if (row.cost[j] == kInfinity) {
      EXPECT_EQ(weights[j], 0) << j;
      continue;
    }
    const double e = row.cost[j] - row.least;
    const double exponent = (row.loss[j] - lambda * e - shift) / epsilon;
    const long double w = std::exp(static_cast<long double>(exponent));
    const double size = (std::abs(row.loss[j]) + lambda * e + std::abs(shift)) / epsilon;
    if (exponent > -600) worst = std::max(worst, size);
    if (exponent > -600) {
      EXPECT_NEAR(weights[j], static_cast<double>(w), static_cast<double>(w) * (1e-15 + 1e-15 * size)) << j;
    } else {
      EXPECT_LE(weights[j], 1e-250) << j;
      EXPECT_GE(weights[j], 0);
    }
    weight += w;
    excess += w * e;
    squared += w * e * e;
    loss += w * row.loss[j];
    product += w * e * row.loss[j];
    size_of_loss += w * std::abs(row.loss[j]);
    size_of_product += w * e * std::abs(row.loss[j]);
  }
  const double relative = 1e-14 + 1e-15 * worst;
  const auto expect = [&](double got, long double exact, long double size) {
    EXPECT_NEAR(got, static_cast<double>(exact), relative * static_cast<double>(size) + 1e-200);
  };
  expect(sums.weight, weight, weight);
  expect(sums.excess, excess, excess + weight * 1e-30L);
  expect(sums.squared_excess, squared, squared + weight * 1e-60L);
  expect(sums.loss, loss, size_of_loss);
  expect(sums.product, product, size_of_product + weight * 1e-30L);
  for (std::size_t j = columns; j < weights.size(); ++j) EXPECT_EQ(weights[j], guard) << "beyond the end";
}

TEST_P(EveryTilt, AsAPlainLoop) {
  Random random(9);
  for (std::size_t columns = 0; columns <= 40; ++columns) {
    for (const double forbidden : {0.0, 0.3, 1.0}) {
      const Row row = random_row(columns, 1, forbidden, random);
      for (const double lambda : {0.0, 0.01, 3.0, 1e4}) {
        for (const double epsilon : {10.0, 0.1, 1e-3, 1e-6}) {
          SCOPED_TRACE(std::to_string(columns) + " columns, forbidden " + std::to_string(forbidden) + ", lambda " +
                       std::to_string(lambda) + ", epsilon " + std::to_string(epsilon));
          check(ops_, row, lambda, epsilon);
        }
      }
    }
  }
}

TEST_P(EveryTilt, HugeAndTiny) {
  Random random(10);
  for (const double scale : {1e-150, 1e-12, 1e12, 1e100}) {
    const Row row = random_row(37, scale, 0.2, random);
    for (const double lambda : {0.0, 1 / scale, 1e3 / scale}) {
      for (const double epsilon : {1e9, 0.1, 1e-9}) {
        SCOPED_TRACE(std::to_string(std::log10(scale)) + ", lambda " + std::to_string(lambda) + ", epsilon " +
                     std::to_string(epsilon));
        check(ops_, row, lambda, epsilon);
      }
    }
  }
}

TEST_P(EveryTilt, ChoosesThoseThatReachACut) {
  Random random(12);
  for (std::size_t columns = 0; columns <= 40; ++columns) {
    for (const double forbidden : {0.0, 0.3, 1.0}) {
      const Row row = random_row(columns, 2, forbidden, random);
      for (const double height : {-10.0, -0.5, 0.0, 0.5, 10.0}) {
        SCOPED_TRACE(std::to_string(columns) + " columns, forbidden " + std::to_string(forbidden) + ", height " +
                     std::to_string(height));
        const TiltedCut one = {0.5, height};
        const TiltedCut other = {2, height - 0.3};
        std::vector<std::uint32_t> wanted;
        double largest = 0;
        for (std::size_t j = 0; j < columns; ++j) {
          if (row.cost[j] == kInfinity) continue;
          const double e = row.cost[j] - row.least;
          largest = std::max(largest, e);
          const bool reaches = std::fma(-one.lambda, e, row.loss[j]) >= one.value ||
                               std::fma(-other.lambda, e, row.loss[j]) >= other.value;
          if (reaches) wanted.push_back(static_cast<std::uint32_t>(j));
        }
        constexpr std::uint32_t guard = 12345;
        std::vector<std::uint32_t> chosen(columns + 8, guard);
        const TiltedChoice choice =
            ops_.choose(row.cost.data(), row.least, columns, row.loss.data(), one, other, chosen.data());
        EXPECT_EQ(choice.largest_excess, largest);
        ASSERT_EQ(choice.count, wanted.size());
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), chosen.begin()));
        for (std::size_t j = columns; j < chosen.size(); ++j) EXPECT_EQ(chosen[j], guard) << "beyond the end";
      }
    }
  }
}

/// Every variant of a multiplier that leaves the nearest alone.
TEST_P(EveryTilt, TheNearestAlone) {
  const std::vector<double> cost = {3, 1, 2, 1, kInfinity, 1.5};
  const std::vector<double> loss = {9, 1, 9, 1, 9, 9};
  std::vector<double> weights(6);
  EXPECT_EQ(ops_.maximum(cost.data(), 1, 6, loss.data(), 1e250), 1);
  const TiltedSums sums = ops_.sums(cost.data(), 1, 6, loss.data(), 1e250, 1, 1e3, weights.data());
  EXPECT_EQ(weights, (std::vector<double>{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(sums.weight, 2);
  EXPECT_EQ(sums.excess, 0);
  EXPECT_EQ(sums.loss, 2);
}

}  // namespace
}  // namespace fedsinkhorn::cpu
