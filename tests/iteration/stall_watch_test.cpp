#include "iteration/stall_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace fedsinkhorn {
namespace {

/// The round at which a level is found slow whose error falls by this factor in every round; 1000 if none.
std::int64_t found_slow_at(double factor, double patience, std::int64_t begun = 0) {
  StallWatch watch;
  watch.begin(begun);
  double error = 1;
  for (std::int64_t round = 1; round < 1000; ++round) {
    error *= factor;
    if (watch.is_slow_to(1e-9, begun + round, error, patience, patience / 6)) return round;
    if (error < 1e-9) break;
  }
  return 1000;
}

TEST(StallWatch, LetsBeWhatEndsInTime) {
  // 1e-9 within 200 rounds.
  EXPECT_EQ(found_slow_at(std::pow(1e-9, 1.0 / 200), 220), 1000);
  EXPECT_EQ(found_slow_at(0.5, 40), 1000);
}

TEST(StallWatch, FindsSlowSoonWhatDoesNot) {
  EXPECT_LT(found_slow_at(std::pow(1e-9, 1.0 / 260), 220), 42);
  EXPECT_LT(found_slow_at(1, 220), 42) << "no progress at all";
  EXPECT_LT(found_slow_at(1.1, 220), 42) << "errors that grow";
}

TEST(StallWatch, CountsFromTheBeginningOfTheLevel) { EXPECT_EQ(found_slow_at(1, 220, 5000), found_slow_at(1, 220)); }

TEST(StallWatch, NeverHurriesAtFirst) { EXPECT_GE(found_slow_at(1, 220), 17); }

TEST(StallWatch, SaysWhy) {
  StallWatch watch;
  watch.begin(0);
  double error = 1;
  std::int64_t round = 1;
  while (!watch.is_slow_to(1e-9, round, error, 220, 40)) {
    ++round;
    error *= 0.95;  // 404 rounds in all
  }
  EXPECT_THAT(watch.reason(0.01), ::testing::HasSubstr("at epsilon 0.01"));
  EXPECT_THAT(watch.reason(0.01), ::testing::HasSubstr(std::to_string(round) + " rounds of acceleration, and about "));
  EXPECT_THAT(watch.reason(0.01), ::testing::HasSubstr("more were expected"));
}

// The error is small enough, but something else has not come to rest.
TEST(StallWatch, ExpectsNoRoundsWhereNoneAreLeft) {
  StallWatch watch;
  watch.begin(0);
  std::int64_t round = 1;
  while (!watch.is_slow_to(1e-9, round, 5e-10, 220, 40)) ++round;
  EXPECT_EQ(watch.reason(0.01), "at epsilon 0.01 the error was 5.0e-10 after 221 rounds of acceleration");
}

// Errors that go up and down are judged by the best so far.
TEST(StallWatch, ABadRoundIsNoReason) {
  StallWatch watch;
  watch.begin(0);
  double error = 1;
  for (std::int64_t round = 1; round <= 60; ++round) {
    error *= 0.8;
    EXPECT_FALSE(watch.is_slow_to(1e-9, round, round % 5 == 0 ? 1e3 * error : error, 220, 40)) << round;
  }
}

}  // namespace
}  // namespace fedsinkhorn
