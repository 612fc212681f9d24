#include "backend/cpu/pass_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fedsinkhorn {
namespace {

constexpr std::size_t kKilo = 1024;
constexpr Caches kSmall{512 * kKilo, 8192 * kKilo, 64};
constexpr Caches kLarge{2048 * kKilo, 32768 * kKilo, 64};

std::size_t rows_suggested(std::size_t row_bytes, const Caches& caches) {
  return plans_for_two_uses(row_bytes, caches).front().rows_at_once;
}

TEST(PassPlan, AsManyRowsAsTheSecondLevelHolds) {
  EXPECT_EQ(rows_suggested(8 * 1000, kSmall), 8U);
  EXPECT_EQ(rows_suggested(8 * 10000, kSmall), 4U);
  EXPECT_EQ(rows_suggested(8 * 10000, kLarge), 8U);
  EXPECT_EQ(rows_suggested(8 * 30000, kSmall), 2U);
}

TEST(PassPlan, LongRowsAreHeldByTheLastLevel) {
  EXPECT_EQ(rows_suggested(8 * 150000, kLarge), 2U);
  EXPECT_EQ(rows_suggested(8 * 50000, kSmall), 2U);
  EXPECT_EQ(rows_suggested(std::size_t{1} << 30U, kSmall), 1U);
}

TEST(PassPlan, EveryPlanIsThereOnceAndCanBeCarriedOut) {
  for (const std::size_t row_bytes : {8U, 80000U, 800000U, 1U << 30U}) {
    for (const Caches& caches : {kSmall, kLarge}) {
      std::vector<PassPlan> plans = plans_for_two_uses(row_bytes, caches);
      for (std::size_t k = 0; k < plans.size(); ++k) {
        EXPECT_TRUE(plans[k].rows_at_once >= 1 && plans[k].rows_at_once <= cpu::kRowBlock);
        EXPECT_EQ(std::count(plans.begin(), plans.end(), plans[k]), 1);
      }
    }
  }
}

constexpr std::size_t kBytes = std::size_t{1} << 30U;

/// Passes over 32 pieces, each taking what `seconds` says of its plan.
template <class Seconds>
PassPlan tuned(PassTuner& tuner, const Seconds& seconds) {
  for (int pass = 0; pass < 10 && tuner.is_measuring(); ++pass) {
    for (std::size_t piece = 0; piece < 32; ++piece) tuner.note(piece, 100, 100 * seconds(tuner.plan(piece)));
    tuner.end_pass();
  }
  EXPECT_FALSE(tuner.is_measuring());
  return tuner.best();
}

TEST(PassPlan, TheFastestIsFoundAndKept) {
  for (const std::vector<PassPlan>& plans : {plans_for_two_uses(80000, kSmall), plans_for_one_use()}) {
    for (const PassPlan& fastest : plans) {
      PassTuner tuner(plans, kBytes, kSmall);
      ASSERT_TRUE(tuner.is_measuring());
      EXPECT_EQ(tuned(tuner, [&](const PassPlan& plan) { return plan == fastest ? 1.0 : 1.2; }), fastest);
      EXPECT_EQ(tuner.plan(3), fastest);
      tuner.note(3, 100, 1e-9);  // too late to matter
      tuner.end_pass();
      EXPECT_EQ(tuner.plan(3), fastest);
    }
  }
}

TEST(PassPlan, TheFirstStandsUnlessAnotherIsClearlyFaster) {
  PassTuner tuner(plans_for_one_use(), kBytes, kSmall);
  const PassPlan first = tuner.best();
  EXPECT_EQ(tuned(tuner, [&](const PassPlan& plan) { return plan == first ? 1.0 : 0.99; }), first);
}

TEST(PassPlan, APieceThatWasInterruptedDecidesNothing) {
  const PassPlan fastest{4, cpu::Asking::none};
  PassTuner tuner(plans_for_one_use(), kBytes, kSmall);
  int calls = 0;
  EXPECT_EQ(tuned(tuner,
                  [&](const PassPlan& plan) {
                    const double noise = ++calls % 5 == 0 ? 50 : 1;
                    return noise * (plan == fastest ? 1.0 : 1.2);
                  }),
            fastest);
}

TEST(PassPlan, SmallKernelsMeasureNothing) {
  EXPECT_FALSE(PassTuner(plans_for_one_use(), 1000, kSmall).is_measuring());
  EXPECT_FALSE(PassTuner(plans_for_one_use(), 0, kSmall).is_measuring());
}

TEST(PassPlan, IsDescribed) { EXPECT_EQ(describe(PassPlan{4, cpu::Asking::late}), "4 rows at once, late"); }

}  // namespace
}  // namespace fedsinkhorn
