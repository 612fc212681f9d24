#include "io/hint.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "io/summary.hpp"

namespace fedsinkhorn {
namespace {

/// After 1,000 iterations with an error that falls by a decade every 250.
Result at_the_limit() {
  Result result;
  result.status = Status::iteration_limit;
  result.iterations = 1000;
  result.method = "auto";
  result.topology = "centralized";
  result.error = {1e-4, 1e-4};
  result.error_floor = 1e-15;
  for (int k = 1; k <= 1000; ++k) {
    TraceRow row;
    row.iteration = k;
    row.error_b = std::pow(10.0, -k / 250.0);
    result.trace.push_back(row);
  }
  return result;
}

Options with_limit(std::int64_t limit) {
  Options options;
  options.max_iterations = limit;
  return options;
}

bool names(const std::string& text, const std::string& option) { return text.find(option) != std::string::npos; }

TEST(Hint, ThereIsNoneWhereNothingIsWrong) {
  Result result = at_the_limit();
  for (const Status status : {Status::converged, Status::interrupted, Status::client_lost}) {
    result.status = status;
    EXPECT_EQ(hint(result, with_limit(1000)), "");
    EXPECT_FALSE(nlohmann::json::parse(summary_json(result, with_limit(1000), 1)).contains("hint"));
  }
}

TEST(Hint, TheSlopeTellsHowManyIterationsMore) {
  // Four decades in 1,000, 4.7 are left: 1,175 more, and a fifth of that for safety.
  Options options = with_limit(1000);
  options.tolerance = 2e-9;
  const std::string text = hint(at_the_limit(), options);
  EXPECT_TRUE(names(text, "--max-iterations 2500")) << text;
  EXPECT_TRUE(names(text, "--history 64")) << text;
  EXPECT_TRUE(names(text, "larger --epsilon")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(summary_json(at_the_limit(), options, 1)).at("hint"), text);
}

TEST(Hint, WithoutASlopeTenTimesAsMany) {
  Result result = at_the_limit();
  result.trace.clear();
  EXPECT_TRUE(names(hint(result, with_limit(1000)), "--max-iterations 10000"));
  // Nobody waits that long for nothing.
  EXPECT_FALSE(names(hint(result, with_limit(100000000)), "--max-iterations"));
}

TEST(Hint, NamesWhatSlowsItDown) {
  Result result = at_the_limit();
  result.method = "sinkhorn";
  Options options = with_limit(1000);
  options.method = "sinkhorn";
  EXPECT_TRUE(names(hint(result, options), "--method auto"));
  options.local_steps = 5;
  EXPECT_TRUE(names(hint(result, options), "--local-steps 1"));
  EXPECT_FALSE(names(hint(result, options), "--method"));
  result.topology = "async";
  EXPECT_TRUE(names(hint(result, options), "--topology all-to-all"));
}

TEST(Hint, AToleranceBelowRoundingIsNotReachedByMoreIterations) {
  Result result = at_the_limit();
  result.error = {3e-8, 1e-9};
  result.error_floor = 6e-8;
  Options options = with_limit(1000);
  options.precision = Precision::float32;
  const std::string text = hint(result, options);
  EXPECT_TRUE(names(text, "--precision float64")) << text;
  EXPECT_TRUE(names(text, "--tolerance 1e-07")) << text;
  EXPECT_FALSE(names(text, "--max-iterations")) << text;
  options.precision = Precision::float64;
  EXPECT_FALSE(names(hint(result, options), "--precision"));
}

TEST(Hint, AfterDivergence) {
  Result result = at_the_limit();
  result.status = Status::diverged;
  Options options;
  options.precision = Precision::float32;
  EXPECT_TRUE(names(hint(result, options), "--precision float64"));
  EXPECT_TRUE(names(hint(result, options), "--method sinkhorn"));
  options.precision = Precision::float64;
  result.method = "sinkhorn";
  EXPECT_TRUE(names(hint(result, options), "--stabilization log"));
}

TEST(Hint, ToleranceZeroMeansTheWholeBudget) {
  Options options = with_limit(1000);
  options.tolerance = 0;
  EXPECT_TRUE(names(hint(at_the_limit(), options), "--tolerance 0"));
}

// ---------------------------------------------------------------------------------------------------------------------
// Doubts about the problem

/// Converged; the plan has this divergence from the product a b' / mass, relative to the mass.
Result near_the_product(double divergence, double mass, double epsilon) {
  Result result;
  result.status = Status::converged;
  result.rows = result.columns = 100;
  result.mass = mass;
  result.cost.linear = 0.3 * mass;
  const double from_product = mass * divergence - mass * std::log(mass) - mass + mass * mass;
  result.cost.kl_objective = result.cost.linear + epsilon * from_product;
  return result;
}

TEST(Doubts, APlanThatIsAProductIsOne) {
  for (const double mass : {1e-3, 1.0, 5000.0}) {
    SCOPED_TRACE(mass);
    for (const double epsilon : {1e-3, 1.0, 1e6}) {
      const auto doubts = doubts_about_problem(near_the_product(0.001, mass, epsilon), epsilon);
      ASSERT_EQ(doubts.size(), 1U) << epsilon;
      EXPECT_TRUE(names(doubts[0], "epsilon is large")) << doubts[0];
      EXPECT_TRUE(doubts_about_problem(near_the_product(0.01, mass, epsilon), epsilon).empty()) << epsilon;
    }
  }
}

TEST(Doubts, APlanThatCanOnlyBeAProductIsNone) {
  Result result = near_the_product(0, 1, 1);
  result.columns = 1;
  EXPECT_TRUE(doubts_about_problem(result, 1).empty());
}

TEST(Doubts, MassesThatLeaveNoChoiceAreNone) {
  Result result = near_the_product(0, 1, 0.01);
  result.largest_cost = 0.5;
  EXPECT_EQ(doubts_about_problem(result, 0.01).size(), 1U);
  result.largest_cost = 1000;
  EXPECT_TRUE(doubts_about_problem(result, 0.01).empty());
}

TEST(Doubts, WhatRoundingHidesIsNone) {
  // epsilon is so small that the costs' last digits are larger than the entropy.
  EXPECT_TRUE(doubts_about_problem(near_the_product(0, 1, 1e-15), 1e-15).empty());
}

TEST(Doubts, FewPointsOfManyCoordinatesAreOne) {
  Result result = at_the_limit();
  result.rows = result.columns = 2;
  result.dimension = 2000;
  const auto doubts = doubts_about_problem(result, 1);
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_TRUE(names(doubts[0], "2000 coordinates")) << doubts[0];
  EXPECT_EQ(nlohmann::json::parse(summary_json(result, with_limit(1000), 1)).at("notes").at(0), doubts[0]);
  result.rows = result.columns = 400;  // embeddings
  EXPECT_TRUE(doubts_about_problem(result, 1).empty());
  EXPECT_FALSE(nlohmann::json::parse(summary_json(result, with_limit(1000), 1)).contains("notes"));
}

}  // namespace
}  // namespace fedsinkhorn
