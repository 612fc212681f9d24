#include "kernel/pass_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fedsinkhorn {
namespace {

constexpr std::size_t kKilo = 1024;
constexpr Caches kSmall{512 * kKilo, 8192 * kKilo, 64};
constexpr Caches kLarge{2048 * kKilo, 32768 * kKilo, 64};

TEST(PassPlan, AsManyRowsAsTheSecondLevelHolds) {
  EXPECT_EQ(plan_for(8 * 1000, kSmall).rows_at_once, 8U);
  EXPECT_EQ(plan_for(8 * 10000, kSmall).rows_at_once, 4U);
  EXPECT_EQ(plan_for(8 * 10000, kLarge).rows_at_once, 8U);
  EXPECT_EQ(plan_for(8 * 30000, kSmall).rows_at_once, 2U);
}

TEST(PassPlan, LongRowsAreHeldByTheLastLevel) {
  EXPECT_EQ(plan_for(8 * 150000, kLarge).rows_at_once, 2U);
  EXPECT_EQ(plan_for(8 * 50000, kSmall).rows_at_once, 2U);
  EXPECT_EQ(plan_for(std::size_t{1} << 30U, kSmall).rows_at_once, 1U);
}

/// Passes over 32 chunks of 100 rows, each taking what `seconds` says of its plan.
template <class Seconds>
PassPlan tuned(PassTuner& tuner, const Seconds& seconds) {
  for (int pass = 0; pass < 10 && tuner.is_measuring(); ++pass) {
    for (std::size_t chunk = 0; chunk < 32; ++chunk) {
      tuner.note(chunk, 100, 100 * seconds(tuner.plan(chunk), chunk));
    }
    tuner.end_pass();
  }
  EXPECT_FALSE(tuner.is_measuring());
  return tuner.best();
}

TEST(PassPlan, TheFastestIsFoundAndKept) {
  for (const cpu::Asking asking : cpu::kAskings) {
    for (const std::size_t rows : {4, 8}) {
      const PassPlan fastest{rows, asking};
      PassTuner tuner(3200, 8 * 10000, true, kSmall);
      ASSERT_TRUE(tuner.is_measuring());
      EXPECT_EQ(tuned(tuner, [&](const PassPlan& plan, std::size_t) { return plan == fastest ? 1.0 : 1.2; }), fastest);
      EXPECT_EQ(tuner.plan(3), fastest);
      tuner.note(3, 100, 1e-9);  // too late to matter
      tuner.end_pass();
      EXPECT_EQ(tuner.plan(3), fastest);
    }
  }
}

TEST(PassPlan, WhatTheCachesSuggestStandsUnlessAnotherIsClearlyFaster) {
  PassTuner tuner(3200, 8 * 10000, true, kSmall);
  const PassPlan suggested = tuner.best();
  EXPECT_EQ(tuned(tuner, [&](const PassPlan& plan, std::size_t) { return plan == suggested ? 1.0 : 0.99; }), suggested);
}

TEST(PassPlan, AChunkThatWasInterruptedDecidesNothing) {
  PassTuner tuner(3200, 8 * 10000, true, kSmall);
  const PassPlan fastest{8, cpu::Asking::late};
  int calls = 0;
  EXPECT_EQ(tuned(tuner,
                  [&](const PassPlan& plan, std::size_t) {
                    const double noise = ++calls % 3 == 0 ? 50 : 1;
                    return noise * (plan == fastest ? 1.0 : 1.2);
                  }),
            fastest);
}

TEST(PassPlan, SmallKernelsAndComputedOnesMeasureNothing) {
  EXPECT_FALSE(PassTuner(100, 800, true, kSmall).is_measuring());
  EXPECT_FALSE(PassTuner(3200, 8 * 10000, false, kSmall).is_measuring());
}

TEST(PassPlan, IsDescribed) { EXPECT_EQ(describe(PassPlan{4, cpu::Asking::late}), "4 rows at once, late"); }

}  // namespace
}  // namespace fedsinkhorn
