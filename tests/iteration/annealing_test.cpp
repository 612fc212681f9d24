#include "iteration/annealing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace fedsinkhorn {
namespace {

constexpr std::int64_t kManyRounds = 100'000;

/// Told of the same gain in every round until it moves; the iteration at which it does, or the last.
std::int64_t rounds_until_moved(Annealing& annealing, double gain, std::int64_t last, std::int64_t first = 1) {
  for (std::int64_t iteration = first; iteration <= last; ++iteration) {
    if (annealing.after_round(iteration, gain) != Move::stay) return iteration;
  }
  return last;
}

/// One that was slow and has begun with levels.
Annealing begun_annealing(double last_epsilon, std::int64_t budget = kManyRounds) {
  Annealing annealing(last_epsilon, 1.0, 1.0, 3 * budget);
  EXPECT_LT(rounds_until_moved(annealing, 1.0, 100), 100);
  EXPECT_DOUBLE_EQ(annealing.epsilon(), 0.1);
  return annealing;
}

/// Rounds at the first levels, after which the next jump is a long one. Returns the iteration.
std::int64_t make_it_jump(Annealing& annealing, std::int64_t iteration) {
  while (annealing.after_opening(++iteration, 0) == Move::onward && annealing.epsilon() > 1e-4) {
  }
  return iteration;
}

TEST(Annealing, StaysWhereItIsUnlessItMayLeave) {
  Annealing annealing(1e-4);
  EXPECT_EQ(annealing.epsilon(), 1e-4);
  EXPECT_TRUE(annealing.is_last());
  EXPECT_EQ(rounds_until_moved(annealing, 1.0, 1000), 1000);
}

TEST(Annealing, ALargeEpsilonNeedsNoLevels) {
  Annealing annealing(0.06, 1.0, 1.0, 3 * kManyRounds);
  EXPECT_EQ(rounds_until_moved(annealing, 1.0, 1000), 1000);
}

TEST(Annealing, BeginsAtATenthOfTheCostsOnceItIsSlow) {
  Annealing annealing(1e-4, 3.0, 1.0, 3 * kManyRounds);
  const std::int64_t slow_at = rounds_until_moved(annealing, 1.0, 1000);
  EXPECT_LE(slow_at, 3 * annealing.patience());
  EXPECT_GT(slow_at, 8) << "not before it has been tried without";
  EXPECT_DOUBLE_EQ(annealing.epsilon(), 0.3);
  EXPECT_FALSE(annealing.is_last());
}

TEST(Annealing, DoesNotBeginWhileErrorsHalve) {
  Annealing annealing(1e-4, 1.0, 1.0, 3 * kManyRounds);
  double gain = 1e10;
  for (std::int64_t iteration = 1; iteration <= 200; ++iteration, gain *= 0.8) {  // KL to 0.17 of it in eight rounds
    EXPECT_EQ(annealing.after_round(iteration, gain), Move::stay) << iteration;
  }
}

TEST(Annealing, DoesNotBeginWhenTheErrorIsSmallOrTheBudgetSpent) {
  Annealing near(1e-4, 1.0, 1.0, 3 * kManyRounds);
  EXPECT_EQ(rounds_until_moved(near, 0.9 * near.goal(), 1000), 1000);
  Annealing late(1e-4, 1.0, 1.0, 15);
  EXPECT_EQ(rounds_until_moved(late, 1.0, 1000), 1000);
}

TEST(Annealing, ComesDownByFactorsOfAboutFourToExactlyTheLast) {
  for (const double last : {0.04, 1e-3, 3.7e-5}) {
    Annealing annealing = begun_annealing(last);
    std::int64_t iteration = 100;
    int levels = 0;
    while (!annealing.is_last()) {
      const double before = annealing.epsilon();
      EXPECT_EQ(annealing.after_opening(++iteration, 0.05), Move::stay);
      EXPECT_EQ(annealing.after_round(iteration += 50, 0), Move::onward);  // not easy
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
    for (; !annealing.is_last(); ++count) (void)annealing.after_round(iteration += rounds_each, 0);
    return count;
  };
  EXPECT_LE(levels(2), levels(50) / 2);
}

// Levels above the costs that matter are all easy; those that matter must not be passed over in one jump.
TEST(Annealing, JumpsDoNotGrowWithoutEnd) {
  Annealing annealing = begun_annealing(1e-30);
  std::int64_t iteration = 100;
  for (int levels = 0; !annealing.is_last(); ++levels) {
    const double before = annealing.epsilon();
    EXPECT_EQ(annealing.after_opening(++iteration, 0), Move::onward);
    EXPECT_GE(annealing.epsilon(), 1e-5 * before);
    ASSERT_LT(levels, 30);
  }
}

TEST(Annealing, AJumpThatWasTooLongIsTakenBackAndHalved) {
  Annealing annealing = begun_annealing(1e-12);
  std::int64_t iteration = make_it_jump(annealing, 100);
  double below = annealing.epsilon();
  int times = 0;
  while (annealing.after_opening(++iteration, 0.5) == Move::again) {
    EXPECT_GT(annealing.epsilon(), below);
    below = annealing.epsilon();
    ASSERT_LT(++times, 5);
  }
  EXPECT_GE(times, 2);
  EXPECT_FALSE(annealing.is_last()) << "a single step stays, however far";
  // An easy level after that is followed by a jump of the same length.
  const double before = annealing.epsilon();
  EXPECT_EQ(annealing.after_round(++iteration, 0), Move::onward);
  EXPECT_GE(annealing.epsilon(), 0.25 * before * (1 - 1e-9));
}

// Little mass may be on the wrong side of a gap: the first round of the level looks good, and those after it gain
// nothing.
TEST(Annealing, AJumpToALevelThatDoesNotGetOnIsTakenBack) {
  for (const double last : {1e-12, 2e-5}) {
    Annealing annealing = begun_annealing(last);
    const std::int64_t iteration = make_it_jump(annealing, 100);
    ASSERT_EQ(annealing.is_last(), last > 1e-6);
    const double below = annealing.epsilon();
    ASSERT_EQ(annealing.after_opening(iteration + 1, 0.01), Move::stay);
    EXPECT_TRUE(annealing.may_move(0.01));
    EXPECT_LE(rounds_until_moved(annealing, 0.01, iteration + 100, iteration + 2), iteration + 12);
    EXPECT_GT(annealing.epsilon(), below);
  }
}

TEST(Annealing, GoesStraightToTheLastWhenTheBudgetIsSpent) {
  Annealing annealing = begun_annealing(1e-6, 200);
  EXPECT_EQ(annealing.after_round(150, 1.0), Move::stay);
  EXPECT_EQ(annealing.after_round(200, 1.0), Move::onward);
  EXPECT_TRUE(annealing.is_last());
  EXPECT_EQ(annealing.after_opening(201, 5.0), Move::stay) << "no time to take it back";
}

TEST(Annealing, ThereAreLevelsOnce) {
  Annealing annealing = begun_annealing(1e-2);
  std::int64_t iteration = 100;
  while (!annealing.is_last()) (void)annealing.after_round(iteration += 50, 0);
  EXPECT_EQ(rounds_until_moved(annealing, 1.0, 2000, iteration + 1), 2000);
  annealing.begin_again(1e-2, 3000);  // for another target
  EXPECT_EQ(annealing.after_round(3001, 1.0), Move::stay) << "it has just begun";
  EXPECT_LT(rounds_until_moved(annealing, 1.0, 3100, 3002), 3100);
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
  ASSERT_EQ(annealing.after_round(1000, 0), Move::onward);
  ASSERT_FALSE(annealing.is_last());
  annealing.start_over(1000);
  EXPECT_FALSE(annealing.is_last()) << "this level is none to end at";
  ASSERT_EQ(annealing.after_round(1001, 1.0), Move::onward);
  EXPECT_DOUBLE_EQ(annealing.epsilon(), 0.1);
  ASSERT_EQ(annealing.after_round(1100, 0), Move::onward);
  annealing.start_over(1000);
  EXPECT_EQ(rounds_until_moved(annealing, 1.0, 1200, 1101), 1200);
}

// --- given starts ----------------------------------------------------------------------------------------------------

Annealing given_annealing(double last = 1e-4) {
  Annealing annealing(last, 1.0, 1.0, kManyRounds);
  annealing.start_from_given();
  return annealing;
}

TEST(Annealing, AGoodStartStaysAtTheLastLevel) {
  for (const double gain : {0.0, 1e-3}) {
    Annealing annealing = given_annealing();
    EXPECT_EQ(annealing.after_opening(1, gain), Move::stay) << gain;
    EXPECT_TRUE(annealing.is_last());
    EXPECT_TRUE(annealing.is_from_given());
  }
}

// Dual values: 5 after the first round from the given start.
TEST(Annealing, OtherStartsAreComparedWithNone) {
  Annealing ahead = given_annealing();
  ASSERT_EQ(ahead.after_opening(1, 0.9, 0, 5), Move::drop);
  EXPECT_TRUE(ahead.is_last());
  EXPECT_EQ(ahead.after_opening(2, 0.1, 0, 4), Move::again) << "ahead by more than it has gained";
  EXPECT_TRUE(ahead.is_last());
  EXPECT_TRUE(ahead.is_from_given());
  EXPECT_EQ(ahead.after_opening(3, 0.9), Move::stay);
  Annealing behind = given_annealing();
  ASSERT_EQ(behind.after_opening(1, 0.9, 0, 5), Move::drop);
  EXPECT_EQ(behind.after_opening(2, 3, 0, 4.2), Move::stay);
  EXPECT_FALSE(behind.is_from_given());
  EXPECT_EQ(rounds_until_moved(behind, 1.0, 100, 3) < 100, true) << "levels as without it";
}

TEST(Annealing, AStartThatIsSomewhatOffBeginsWhereItIsGood) {
  Annealing annealing = given_annealing();
  ASSERT_EQ(annealing.after_opening(1, 10, 0, 100), Move::drop);
  ASSERT_EQ(annealing.after_opening(2, 10, 0, 50), Move::again);
  EXPECT_DOUBLE_EQ(annealing.epsilon(), 1e-3) << "as much as it is off";
  ASSERT_EQ(annealing.after_opening(3, 1.5), Move::again);
  EXPECT_DOUBLE_EQ(annealing.epsilon(), 4e-3) << "at least four times higher";
  EXPECT_EQ(annealing.after_opening(4, 0.2), Move::stay);
  EXPECT_TRUE(annealing.is_from_given());
  EXPECT_EQ(annealing.after_round(50, 0), Move::onward);
  EXPECT_LT(annealing.epsilon(), 4e-3);
}

TEST(Annealing, AUselessStartIsDropped) {
  for (const double last : {1e-4, 0.2}) {
    Annealing annealing = given_annealing(last);
    ASSERT_EQ(annealing.after_opening(1, 1000), Move::drop);
    EXPECT_TRUE(annealing.is_last());
    EXPECT_FALSE(annealing.is_from_given());
    EXPECT_EQ(annealing.after_opening(2, 1000), Move::stay) << "as without it";
    EXPECT_EQ(rounds_until_moved(annealing, 1.0, 100, 3) < 100, last < 0.1);
  }
  Annealing thorough(1e-4, 1.0, 1.0, kManyRounds);
  thorough.start_high();
  thorough.start_from_given();
  EXPECT_TRUE(thorough.is_last());
  ASSERT_EQ(thorough.after_opening(1, 1000), Move::drop);
  EXPECT_DOUBLE_EQ(thorough.epsilon(), 0.1);
}

TEST(Annealing, WithoutLevelsAStartIsTakenAsItIs) {
  Annealing annealing(1e-4);
  annealing.start_from_given();
  EXPECT_EQ(annealing.after_opening(1, 1e6), Move::stay);
}

}  // namespace
}  // namespace fedsinkhorn
