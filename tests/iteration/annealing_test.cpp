#include "iteration/annealing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace fedsinkhorn {
namespace {

constexpr std::int64_t kManyRounds = 100'000;

/// Told of the same gain in every round until it asks for levels; the iteration at which it did, or the last.
std::int64_t watch_until_slow(Annealing& annealing, double gain, std::int64_t last) {
  for (std::int64_t iteration = 1; iteration <= last; ++iteration) {
    if (annealing.watch(iteration, gain)) return iteration;
  }
  return last;
}

/// One that was slow and has begun with levels.
Annealing begun_annealing(double last_epsilon, std::int64_t budget = kManyRounds) {
  Annealing annealing(last_epsilon, 1.0, 1.0, 3 * budget);
  const std::int64_t iteration = watch_until_slow(annealing, 1.0, 100);
  EXPECT_TRUE(annealing.begins(iteration));
  return annealing;
}

TEST(Annealing, StaysWhereItIsUnlessItMayLeave) {
  Annealing annealing(1e-4);
  EXPECT_EQ(annealing.epsilon(), 1e-4);
  EXPECT_TRUE(annealing.is_last());
  EXPECT_EQ(watch_until_slow(annealing, 1.0, 1000), 1000);
  EXPECT_FALSE(annealing.begins(1000));
}

TEST(Annealing, ALargeEpsilonNeedsNoLevels) {
  Annealing annealing(0.06, 1.0, 1.0, 3 * kManyRounds);
  EXPECT_EQ(watch_until_slow(annealing, 1.0, 1000), 1000);
  EXPECT_FALSE(annealing.begins(1000));
}

TEST(Annealing, BeginsAtATenthOfTheCostsOnceItIsSlow) {
  Annealing annealing(1e-4, 3.0, 1.0, 3 * kManyRounds);
  EXPECT_FALSE(annealing.begins(0)) << "not before it has been tried without";
  const std::int64_t slow_at = watch_until_slow(annealing, 1.0, 1000);
  EXPECT_LE(slow_at, 3 * annealing.patience());
  ASSERT_TRUE(annealing.begins(slow_at));
  EXPECT_DOUBLE_EQ(annealing.epsilon(), 0.3);
  EXPECT_FALSE(annealing.is_last());
}

TEST(Annealing, DoesNotBeginWhileErrorsHalve) {
  Annealing annealing(1e-4, 1.0, 1.0, 3 * kManyRounds);
  double gain = 1e10;
  for (std::int64_t iteration = 1; iteration <= 200; ++iteration, gain *= 0.8) {  // KL to 0.17 of it in eight rounds
    EXPECT_FALSE(annealing.watch(iteration, gain)) << iteration;
  }
}

TEST(Annealing, DoesNotBeginWhenTheErrorIsSmallOrTheBudgetSpent) {
  Annealing near(1e-4, 1.0, 1.0, 3 * kManyRounds);
  EXPECT_EQ(watch_until_slow(near, 0.9 * near.goal(), 1000), 1000);
  Annealing late(1e-4, 1.0, 1.0, 15);
  EXPECT_EQ(watch_until_slow(late, 1.0, 1000), 1000);
}

TEST(Annealing, ComesDownByFactorsOfAboutFourToExactlyTheLast) {
  for (const double last : {0.04, 1e-3, 3.7e-5}) {
    Annealing annealing = begun_annealing(last);
    std::int64_t iteration = 100;
    int levels = 0;
    while (!annealing.is_last()) {
      const double before = annealing.epsilon();
      annealing.descend(iteration += 50);  // not easy
      EXPECT_LT(annealing.epsilon(), before);
      EXPECT_GE(annealing.epsilon(), 0.25 * before * (1 - 1e-9));
      ASSERT_LT(++levels, 20);
    }
    EXPECT_EQ(annealing.epsilon(), last);
  }
}

TEST(Annealing, EasyLevelsAreFollowedByLargerJumps) {
  const auto levels = [](std::int64_t rounds_each) {
    Annealing annealing = begun_annealing(1e-6);
    std::int64_t iteration = 100;
    int count = 0;
    for (; !annealing.is_last(); ++count) annealing.descend(iteration += rounds_each);
    return count;
  };
  EXPECT_LE(levels(2), levels(50) / 2);
}

TEST(Annealing, GoesStraightToTheLastWhenTheBudgetIsSpent) {
  Annealing annealing = begun_annealing(1e-6, 200);
  EXPECT_FALSE(annealing.is_done(150, 1.0));
  EXPECT_TRUE(annealing.is_done(150, annealing.goal()));
  EXPECT_TRUE(annealing.is_done(200, 1.0));
  annealing.descend(200);
  EXPECT_TRUE(annealing.is_last());
}

TEST(Annealing, ThereAreLevelsOnce) {
  Annealing annealing = begun_annealing(1e-2);
  while (!annealing.is_last()) annealing.descend(1000);
  EXPECT_EQ(watch_until_slow(annealing, 1.0, 2000), 2000);
  EXPECT_FALSE(annealing.begins(2000));
  annealing.begin_again(1e-2, 3000);  // for another target
  EXPECT_FALSE(annealing.watch(3001, 1.0)) << "it has just begun";
  bool is_slow = false;
  for (std::int64_t iteration = 3002; iteration < 3100; ++iteration) is_slow = annealing.watch(iteration, 1.0);
  EXPECT_TRUE(is_slow);
}

TEST(Annealing, AThoroughOneBeginsWithTheFirstLevel) {
  Annealing annealing(1e-4, 3.0, 1.0, kManyRounds);
  annealing.start_high();
  EXPECT_TRUE(annealing.is_thorough());
  EXPECT_DOUBLE_EQ(annealing.epsilon(), 0.3);
  Annealing large(0.2, 3.0, 1.0, kManyRounds);
  large.start_high();
  EXPECT_TRUE(large.is_last()) << "no levels are needed";
}

TEST(Annealing, BecomingThoroughMeansASmallerGoal) {
  Annealing annealing = begun_annealing(1e-4);
  EXPECT_FALSE(annealing.is_thorough());
  const double goal = annealing.goal();
  annealing.be_thorough();
  EXPECT_TRUE(annealing.is_thorough());
  EXPECT_LT(annealing.goal(), goal / 1000);
}

TEST(Annealing, LevelsStartOverOnce) {
  Annealing annealing = begun_annealing(1e-4);
  annealing.descend(1000);
  ASSERT_FALSE(annealing.is_last());
  annealing.start_over(1000);
  EXPECT_FALSE(annealing.is_last()) << "this level is none to end at";
  ASSERT_TRUE(annealing.begins(1001));
  EXPECT_DOUBLE_EQ(annealing.epsilon(), 0.1);
  annealing.descend(1100);
  const double epsilon = annealing.epsilon();
  annealing.start_over(1000);
  EXPECT_EQ(annealing.epsilon(), epsilon);
  EXPECT_FALSE(annealing.begins(1101));
}

}  // namespace
}  // namespace fedsinkhorn
