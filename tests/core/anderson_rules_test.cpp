#include "core/anderson_rules.hpp"

#include <gtest/gtest.h>

namespace fedsinkhorn::anderson {
namespace {

constexpr double kReach = 8;

/// After a plain round that came to a value of `dual`, with a residual of 1.
StepControl after_a_round(double dual, double mass = 1) {
  StepControl control(kReach, mass);
  EXPECT_FALSE(control.accept({true, dual - 0.1, dual, 1, 1}, true));
  return control;
}

TEST(StepControl, RoundsThatLoseDoNotCount) {
  const StepControl control = after_a_round(5);
  EXPECT_TRUE(control.accepts({true, 5.1, 5.2, 1e9, 1}));
  EXPECT_FALSE(control.accepts({true, 4.9, 5.2, 0.1, 0.1}));
  EXPECT_FALSE(control.accepts({false, 5.1, 5.2, 0.1, 0.1})) << "not numbers";
}

TEST(StepControl, WhereTheValueCannotTellTheResidualDoes) {
  const StepControl control = after_a_round(5);
  EXPECT_TRUE(control.accepts({true, 5, 5, kResidualGrowth, 1}));
  EXPECT_FALSE(control.accepts({true, 5, 5, 1.01 * kResidualGrowth, 1}));
}

TEST(StepControl, RoundingIsRelativeToTheMass) {
  const Seen seen{true, 5 - 1e-10, 5, 1, 1};
  EXPECT_FALSE(after_a_round(5).accepts(seen));
  EXPECT_TRUE(after_a_round(5, 1000).accepts(seen));
}

TEST(StepControl, StepsAreCutToTheRadiusWhichGrowsAgain) {
  StepControl control = after_a_round(5);
  EXPECT_EQ(control.share_of_step(2), 1) << "short enough";
  EXPECT_EQ(control.share_of_step(4 * kReach), 0.25);
  EXPECT_EQ(control.length, kReach);
  EXPECT_TRUE(control.reject());
  EXPECT_EQ(control.radius, kShrink * kReach);
  EXPECT_EQ(control.share_of_step(kReach), kShrink);
  EXPECT_TRUE(control.accept({true, 5.1, 5.2, 1, 1}, false)) << "one was rejected before";
  EXPECT_EQ(control.radius, kGrow * kShrink * kReach);
  EXPECT_FALSE(control.accept({true, 5.2, 5.3, 1, 1}, false));
  EXPECT_LE(control.radius, kReach);
}

TEST(StepControl, AStepShorterThanThePlainOneIsNotTriedAgain) {
  StepControl control = after_a_round(5);
  EXPECT_EQ(control.share_of_step(3), 1);
  EXPECT_FALSE(control.reject()) << "a quarter of it is less than the residual";
}

TEST(StepControl, RejectionsDoNotOutnumberTheRest) {
  StepControl control(kReach, 1);
  int tried_again = 0;
  for (int k = 0; k < 100; ++k) {
    (void)control.share_of_step(kReach);
    if (control.reject()) ++tried_again;
    control.radius = kReach;
  }
  EXPECT_EQ(tried_again, kRejectionsForFree);
}

// A plain round cannot fall short: how far it does is noise, and differences as small are nothing else.
TEST(StepControl, LearnsOfNoiseFromPlainRounds) {
  StepControl control = after_a_round(5);
  EXPECT_FALSE(control.is_all_noise());
  (void)control.accept({true, 4.99, 4.995, 1, 1}, true);
  EXPECT_NEAR(control.slack, 0.02, 1e-12);
  EXPECT_TRUE(control.is_all_noise()) << "a gain of 0.005";
  EXPECT_TRUE(control.accepts({true, 4.98, 5, 1, 1}));
  (void)control.accept({true, 5, 6, 1, 1}, true);
  EXPECT_FALSE(control.is_all_noise()) << "a gain of 1";
}

TEST(StepControl, ARestartForgetsAllButTheNoiseAndTheCounts) {
  StepControl control = after_a_round(5);
  (void)control.accept({true, 4.99, 4.995, 1, 1}, true);
  const double slack = control.slack;
  (void)control.share_of_step(4);
  (void)control.reject();
  control.restart();
  EXPECT_EQ(control.radius, kReach);
  EXPECT_EQ(control.length, 0);
  EXPECT_EQ(control.gain, kInfinity);
  EXPECT_TRUE(control.accepts({true, -1000, -999, 1, 1})) << "other potentials, other values";
  EXPECT_EQ(control.slack, slack);
  EXPECT_EQ(control.accepted, 2);
  EXPECT_EQ(control.rejected, 1);
}

}  // namespace
}  // namespace fedsinkhorn::anderson
