#include "iteration/deviations.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace fedsinkhorn {
namespace {

using Values = std::vector<double>;

/// Two targets of three columns, the second without mass in the last one.
const Values kFirstMasses = {0.5, 0.25, 0.25};
const Values kSecondMasses = {0.75, 0.25, 0};

std::vector<const double*> masses() { return {kFirstMasses.data(), kSecondMasses.data()}; }

Values scalings_of(const Deviations& deviations, std::size_t target) {
  Values scalings(3);
  deviations.write_scalings(target, scalings);
  return scalings;
}

void expect_relatively_near(const Values& x, const Values& y) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-14 * std::abs(y[i])) << i;
}

TEST(Deviations, MassesDoNotDeviate) {
  const Deviations deviations(3, masses());
  EXPECT_EQ(scalings_of(deviations, 0), kFirstMasses);
  EXPECT_EQ(scalings_of(deviations, 1), kSecondMasses);
  EXPECT_FALSE(deviations.any_beyond(0, 0));
  EXPECT_FALSE(deviations.any_beyond(1, 0)) << "no mass is no deviation";
}

TEST(Deviations, ScalingsComeBack) {
  const Values scalings = {1e-30, 2, 3e40, 5, 1e-3, 77};
  const Deviations deviations(scalings, 3, masses());
  expect_relatively_near(scalings_of(deviations, 0), {1e-30, 2, 3e40});
  expect_relatively_near(scalings_of(deviations, 1), {5, 1e-3, 0});
}

TEST(Deviations, TheLargestCountsInEitherDirection) {
  const Deviations deviations(3, masses(), {0, -3, 1, 0.5, 0.25, -INFINITY});
  EXPECT_TRUE(deviations.any_beyond(0, 2.9));
  EXPECT_FALSE(deviations.any_beyond(0, 3));
  EXPECT_TRUE(deviations.any_beyond(1, 0.4));
  EXPECT_FALSE(deviations.any_beyond(1, 0.5));
}

TEST(Deviations, TheCentreIsInTheMiddleOfTheTargets) {
  const Deviations deviations(3, masses(), {1, -3, 5, 3, 3, -INFINITY});
  const Values centre = deviations.centre(Values{10, 20, 30}, 0.5);
  EXPECT_EQ(centre, (Values{11, 20, 32.5}));
}

TEST(Deviations, WithoutMassInAnyTargetTheBaseStays) {
  const Values none = {0, 1};
  const Deviations deviations(2, {none.data()});
  EXPECT_EQ(deviations.centre(Values{7, 8}, 0.5), (Values{7, 8}));
}

// The potential is base + epsilon log(scaling): moving the base must not change it.
TEST(Deviations, MovingTheBaseKeepsThePotential) {
  constexpr double epsilon = 0.25;
  Deviations deviations(3, masses(), {1, -3, 5, 3, 3, -INFINITY});
  const Values from = {10, 20, 30};
  const Values to = deviations.centre(from, epsilon);
  const Values before = scalings_of(deviations, 0);
  deviations.move(from, to, epsilon);
  const Values after = scalings_of(deviations, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(to[i] + epsilon * std::log(after[i]), from[i] + epsilon * std::log(before[i]), 1e-13) << i;
  }
  EXPECT_FALSE(deviations.any_beyond(0, 3.01)) << "they were up to 5";
  EXPECT_EQ(scalings_of(deviations, 1)[2], 0);
}

TEST(Deviations, InUnitsOfAnotherEpsilonTheyAreMultiplied) {
  Deviations deviations(3, masses(), {1, -3, 5, 3, 3, -INFINITY});
  deviations.scale(4);
  expect_relatively_near(scalings_of(deviations, 0), {0.5 * std::exp(4), 0.25 * std::exp(-12), 0.25 * std::exp(20)});
  EXPECT_EQ(scalings_of(deviations, 1)[2], 0);
}

TEST(Deviations, TargetsAfterOneThatIsRemovedMoveDown) {
  Deviations deviations(3, masses(), {1, 1, 1, 2, 2, -INFINITY});
  const Values second = scalings_of(deviations, 1);
  deviations.remove(0);
  EXPECT_EQ(scalings_of(deviations, 0), second);
}

}  // namespace
}  // namespace fedsinkhorn
