#include "core/half_step.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

using testing::kInfinity;
using testing::kNan;

using Values = std::vector<double>;

TEST(HalfStep, GivesEveryLineItsMass) {
  const Values masses = {0.5, 0.25, 0.25};
  const Values products = {2, 0.125, 1e-200};
  Values scalings(3);
  HalfStep{masses}.scale(products, scalings);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(scalings[i] * products[i], masses[i]);
}

TEST(HalfStep, WithoutMassIsZeroWhateverTheProduct) {
  const Values masses = {0, 0, 0, 1};
  const Values products = {0, kInfinity, kNan, 4};
  Values scalings(4, 7.0);
  HalfStep{masses}.scale(products, scalings);
  EXPECT_EQ(scalings, (Values{0, 0, 0, 0.25}));
}

TEST(HalfStep, IsTakenWholeUnlessToldOtherwise) {
  const Values masses = {1, 1};
  Values next = {3, 0.1};
  HalfStep{masses}.shorten(Values{1, 1}, next);
  EXPECT_EQ(next, (Values{3, 0.1}));
}

TEST(HalfStep, RelaxedGoesBeyond) {
  const Values masses = {1, 1, 0};
  Values next = {4, 0.25, 0};
  HalfStep step{masses};
  step.relaxation = 1.5;
  step.shorten(Values{1, 1, 0}, next);
  EXPECT_DOUBLE_EQ(next[0], 8);
  EXPECT_DOUBLE_EQ(next[1], 0.125);
  EXPECT_EQ(next[2], 0);
}

TEST(HalfStep, DampedStaysBehindInEitherMean) {
  const Values masses = {1, 0};
  const Values before = {1, 0};
  HalfStep step{masses};
  step.damping = 0.5;
  Values geometric = {4, 0};
  step.shorten(before, geometric);
  EXPECT_DOUBLE_EQ(geometric[0], 2);
  EXPECT_EQ(geometric[1], 0);
  step.damping_kind = DampingKind::arithmetic;
  Values arithmetic = {4, 0};
  step.shorten(before, arithmetic);
  EXPECT_DOUBLE_EQ(arithmetic[0], 2.5);
  EXPECT_EQ(arithmetic[1], 0);
}

TEST(ScalingRule, SaysTheSameInLogarithms) {
  const ScalingRule rule;
  constexpr double epsilon = 0.25;
  EXPECT_NEAR(rule.potential(epsilon, 0.3, std::log(5.0)), epsilon * std::log(rule.scaling(0.3, 5.0)), 1e-15);
  EXPECT_NEAR(rule.relative_potential(epsilon, std::log(5.0)), epsilon * std::log(rule.scaling(0.3, 5.0) / 0.3), 1e-15);
  EXPECT_EQ(rule.potential(epsilon, 0, 1), -kInfinity);
  EXPECT_EQ(rule.potential(epsilon, 0.3, -800), epsilon * (std::log(0.3) + 800)) << "beyond what exp can say";
}

}  // namespace
}  // namespace fedsinkhorn
