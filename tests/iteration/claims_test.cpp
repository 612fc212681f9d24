#include "iteration/claims.hpp"

#include <gtest/gtest.h>

namespace fedsinkhorn {
namespace {

constexpr double kTolerance = 1e-9;

Claims begun_claims(std::int64_t iteration = 0) {
  Claims claims;
  claims.begin_stretch(iteration);
  return claims;
}

/// The iteration after which a round is wanted, every one being seen with that error.
std::int64_t first_claim(Claims& claims, double error, std::int64_t from, double tolerance = kTolerance) {
  for (std::int64_t iteration = from + 1;; ++iteration) {
    if (claims.wants_round(iteration, error, tolerance)) return iteration;
  }
}

TEST(Claims, ARoundIsClaimedWhenTheProblemSeemsSolved) {
  Claims claims = begun_claims();
  EXPECT_FALSE(claims.wants_round(1, 1.0, kTolerance));
  EXPECT_FALSE(claims.wants_round(2, 1e-5, kTolerance));
  EXPECT_TRUE(claims.wants_round(3, kTolerance, kTolerance));
}

TEST(Claims, AndWhenTheErrorHasNotHalvedForLong) {
  Claims claims = begun_claims(10);
  const std::int64_t stuck = first_claim(claims, 1.0, 10);
  EXPECT_GT(stuck, 100);
  EXPECT_LT(stuck, 1000);
  Claims slowly = begun_claims();
  double error = 1;
  for (std::int64_t iteration = 1; iteration <= 2 * stuck; ++iteration, error *= 0.99) {
    EXPECT_FALSE(slowly.wants_round(iteration, error, 0)) << iteration;
  }
}

TEST(Claims, WithoutAToleranceNothingIsEverSolved) {
  Claims claims = begun_claims();
  EXPECT_FALSE(claims.wants_round(1, 0.0, 0));
}

TEST(Claims, ARoundThatCameTooEarlyIsNotFollowedCloselyByAnother) {
  Claims claims = begun_claims();
  const std::int64_t first = first_claim(claims, 5 * kTolerance, 0);
  EXPECT_EQ(first, 1);
  claims.end_round(1600, 3 * kTolerance);
  claims.begin_stretch(1600);
  EXPECT_EQ(first_claim(claims, 0.1 * kTolerance, 1600), 1700);
}

// A round finds an error below or above the one that was seen; claims are made accordingly earlier or later.
TEST(Claims, LearnsHowFarRoundsAreFromWhatIsSeen) {
  Claims optimist = begun_claims();
  ASSERT_TRUE(optimist.wants_round(1, 8 * kTolerance, kTolerance));
  optimist.end_round(1, 4 * kTolerance);  // half of what was seen: a claim at the tolerance itself
  optimist.begin_stretch(1);
  EXPECT_FALSE(optimist.wants_round(100, 1.1 * kTolerance, kTolerance));
  EXPECT_TRUE(optimist.wants_round(101, 0.9 * kTolerance, kTolerance));

  Claims burnt = begun_claims();
  ASSERT_TRUE(burnt.wants_round(1, kTolerance, kTolerance));
  burnt.end_round(1, 2 * kTolerance);  // twice of what was seen
  burnt.begin_stretch(1);
  EXPECT_FALSE(burnt.wants_round(100, 0.3 * kTolerance, kTolerance));
  EXPECT_TRUE(burnt.wants_round(101, 0.2 * kTolerance, kTolerance));
}

TEST(Claims, NothingIsLearntFromARoundThatOthersClaimed) {
  Claims claims = begun_claims();
  ASSERT_TRUE(claims.wants_round(1, 8 * kTolerance, kTolerance));
  claims.end_round(1, 0.1 * kTolerance);  // far below what was seen: claims may come early
  claims.begin_stretch(1);
  EXPECT_FALSE(claims.wants_round(2, 1.0, kTolerance));
  claims.end_round(2, 1e6);
  claims.begin_stretch(2);
  EXPECT_TRUE(claims.wants_round(100, 9 * kTolerance, kTolerance));
}

}  // namespace
}  // namespace fedsinkhorn
