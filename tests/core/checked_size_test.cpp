#include "core/checked_size.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace fedsinkhorn {
namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

TEST(CheckedSize, ProductsThatFit) {
  EXPECT_EQ(product_of({}), 1U);
  EXPECT_EQ(product_of({3, 4, 5}), 60U);
  EXPECT_EQ(product_of({kMost, 1}), kMost);
  EXPECT_EQ(product_of({kMost / 2, 2}), kMost - 1);
}

TEST(CheckedSize, ProductsThatDoNot) {
  EXPECT_EQ(product_of({kMost / 2 + 1, 2}), std::nullopt);  // wraps to 0
  EXPECT_EQ(product_of({kMost / 2 + 2, 2}), std::nullopt);  // wraps to 2
  EXPECT_EQ(product_of({kMost, kMost}), std::nullopt);
}

TEST(CheckedSize, AFactorOfZeroMakesTheOthersHarmless) {
  EXPECT_EQ(product_of({kMost, kMost, 0}), 0U);
  EXPECT_EQ(product_of({0, kMost, kMost}), 0U);
}

TEST(CheckedSize, Sums) {
  EXPECT_EQ(sum_of({}), 0U);
  EXPECT_EQ(sum_of({kMost - 1, 1}), kMost);
  EXPECT_EQ(sum_of({kMost, 1}), std::nullopt);
}

}  // namespace
}  // namespace fedsinkhorn
