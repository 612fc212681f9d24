// What a user of solve() would notice.
#include "fedsinkhorn/solve.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "fedsinkhorn/error.hpp"
#include "support/line_of.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::kInfinity;
using testing::OwnedProblem;

std::string refusal(const Problem& problem, const Options& options = {}) {
  return test::line_of<InputError>([&] { (void)solve(problem, options); }, "accepted");
}

// --- degenerate shapes and masses
// --------------------------------------------------------------------------------------

TEST(Degenerate, OneRowOrOneColumnIsSolvedAtOnce) {
  for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{1, 7}, {7, 1}, {1, 1}}) {
    const OwnedProblem owned = testing::random_problem(n, m, 1e-3, 4);
    const Problem problem = owned.view();
    const Result result = solve(problem);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(result.iterations, 2);
    const std::vector<double> plan = testing::whole_plan(problem, result);
    const std::vector<double>& expected = n == 1 ? owned.b : owned.a;
    for (std::size_t k = 0; k < plan.size(); ++k) EXPECT_NEAR(plan[k], expected[k], 1e-12);
  }
}

TEST(Degenerate, ZeroMassesAreDroppedAndMarked) {
  OwnedProblem owned = testing::random_problem(6, 5, 0.05, 1);
  owned.a[2] = 0;
  owned.b[0] = 0;
  owned.b[4] = 0;
  testing::normalise(owned.a);
  testing::normalise(owned.b);
  const Problem problem = owned.view();
  const Result result = solve(problem);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.f[2], -kInfinity);
  EXPECT_EQ(result.g[0], -kInfinity);
  EXPECT_EQ(result.g[4], -kInfinity);
  EXPECT_TRUE(std::isfinite(result.f[0]));
  const std::vector<double> plan = testing::whole_plan(problem, result);
  for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(plan[2 * 5 + j], 0);
  EXPECT_LE(testing::plan_error(plan, owned.a, owned.b), 1e-8);
}

TEST(Degenerate, MassesHundredsOfOrdersApartStillConverge) {
  for (const Precision precision : {Precision::float64, Precision::mixed}) {
    OwnedProblem owned = testing::random_problem(5, 6, 1e-2, 8);
    owned.a = {1e-300, 1e-200, 0.5, 0.25, 0.25};
    owned.b = {0.125, 1e-250, 0.375, 1e-9, 0.5, 1e-300};
    testing::normalise(owned.a);
    testing::normalise(owned.b);
    const Problem problem = owned.view();
    Options options;
    options.precision = precision;
    const Result result = solve(problem, options);
    EXPECT_EQ(result.status, Status::converged);
    for (const double x : result.f) EXPECT_TRUE(std::isfinite(x));
    for (const double x : result.g) EXPECT_TRUE(std::isfinite(x));
    EXPECT_LE(testing::plan_error(testing::whole_plan(problem, result), owned.a, owned.b), 1e-6);
  }
}

TEST(Degenerate, AnyTotalMassIsKept) {
  OwnedProblem owned = testing::random_problem(8, 9, 0.1, 3);
  for (double& x : owned.a) x *= 250;
  for (double& x : owned.b) x *= 250;
  const Problem problem = owned.view();
  Options options;
  options.tolerance = 1e-7;
  const Result result = solve(problem, options);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_NEAR(result.mass, 250, 1e-10);
  EXPECT_LE(testing::plan_error(testing::whole_plan(problem, result), owned.a, owned.b), 2e-7 * result.mass);
}

// --- stabilisation
// -----------------------------------------------------------------------------------------------------

class TinyEpsilon : public ::testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Epsilon, TinyEpsilon, ::testing::Values(1e-3, 1e-4, 1e-5, 1e-7));

TEST_P(TinyEpsilon, FollowsTheLogDomainIteration) {
  OwnedProblem owned = testing::point_problem(40, 33, GetParam(), 5);
  const Problem problem = owned.view();
  Options options;
  options.method = "sinkhorn";
  options.tolerance = 0;
  options.max_iterations = 300;
  const Result fast = solve(problem, options);
  options.stabilization = Stabilization::log;
  const Result log = solve(problem, options);
  for (std::size_t i = 0; i < fast.f.size(); ++i) EXPECT_NEAR(fast.f[i], log.f[i], 1e-12);
  for (std::size_t j = 0; j < fast.g.size(); ++j) EXPECT_NEAR(fast.g[j], log.g[j], 1e-12);
  EXPECT_EQ(fast.trace.size(), 300U);
  for (std::size_t t = 0; t < 300; ++t) {
    // The first error is a matter of convention (see first_round); from then on they are the same quantity.
    const double error_a = t > 0 ? fast.trace[t].error_a : log.trace[t].error_a;
    EXPECT_NEAR(error_a, log.trace[t].error_a, 1e-9 + 1e-6 * log.trace[t].error_a);
    EXPECT_NEAR(fast.trace[t].error_b, log.trace[t].error_b, 1e-9 + 1e-6 * log.trace[t].error_b);
  }
}

TEST(Stabilisation, OffsetAndSignOfTheCostsDoNotMatter) {
  const OwnedProblem owned = testing::point_problem(30, 20, 1e-3, 6);
  const Problem problem = owned.view();
  Options options;
  options.max_iterations = 100000;
  const Result plain = solve(problem, options);
  for (const double offset : {-3.0, 1000.0, -1e6}) {
    OwnedProblem shifted = owned;
    for (double& cost : shifted.cost) cost += offset;
    const Problem view = shifted.view();
    const Result result = solve(view, options);
    EXPECT_EQ(result.status, Status::converged);
    // The shifted costs themselves carry fewer digits: that is all that may differ.
    const double lost = 1e-8 + 1e-16 * std::abs(offset) / owned.epsilon * 100;
    EXPECT_LE(testing::l1_distance(testing::whole_plan(view, result), testing::whole_plan(problem, plain)), lost);
  }
  OwnedProblem negated = owned;
  for (double& cost : negated.cost) cost = -cost;
  const Problem view = negated.view();
  const Result result = solve(view, options);
  EXPECT_LE(testing::plan_error(testing::whole_plan(view, result), owned.a, owned.b), 1e-6);
}

TEST(Stabilisation, SmallEpsilonAbsorbsNowAndThenOnly) {
  const OwnedProblem owned = testing::point_problem(60, 50, 1e-5, 6);
  Options options;
  options.method = "sinkhorn";
  options.tolerance = 0;
  options.max_iterations = 2000;
  const Result result = solve(owned.view(), options);
  EXPECT_GE(result.absorptions, 1);
  EXPECT_LE(result.absorptions, 40);
}

TEST(Plans, ComeFromPotentialsAlone) {
  const OwnedProblem owned = testing::random_problem(7, 5, 0.1, 40);
  const Problem problem = owned.view();
  Result result = solve(problem);
  const std::vector<double> plan = testing::whole_plan(problem, result);
  result.f_rest.pop_back();
  EXPECT_THROW((void)testing::whole_plan(problem, result), InputError);
  result.f_rest.clear();
  result.g_rest.clear();
  EXPECT_LE(testing::l1_distance(testing::whole_plan(problem, result), plan), 1e-14);
}

// --- stopping
// ----------------------------------------------------------------------------------------------------------

TEST(Stopping, BothErrorsHoldInTheChosenNorm) {
  for (const Norm norm : {Norm::l1, Norm::l2, Norm::linf}) {
    const OwnedProblem owned = testing::random_problem(20, 25, 0.02, 9);
    Options options;
    options.norm = norm;
    options.tolerance = 1e-10;
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(result.error.a, 1e-10);
    EXPECT_LE(result.error.b, 1e-10);
    EXPECT_LE(result.exact_error.a, 1.01e-10);
  }
}

TEST(Stopping, ToleranceZeroRunsTheWholeBudget) {
  const OwnedProblem owned = testing::random_problem(1, 3, 1, 9);  // solved after one iteration
  Options options;
  options.tolerance = 0;
  options.max_iterations = 17;
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::iteration_limit);
  EXPECT_EQ(result.iterations, 17);
  EXPECT_EQ(result.trace.size(), 17U);
}

// The errors of a round are those of the plan before it: the limit may end a run that this round has finished.
TEST(Stopping, WhatMeetsTheToleranceAtTheLimitHasConverged) {
  for (const char* method : {"sinkhorn", "auto", "newton", "overrelaxed"}) {
    for (const double tolerance : {1e-5, 1e-13}) {
      const OwnedProblem owned = testing::random_problem(8, 7, 0.3, 9);
      Options options;
      options.method = method;
      options.tolerance = tolerance;
      Status status = Status::iteration_limit;
      for (std::int64_t limit = 1; limit < 100 && status == Status::iteration_limit; ++limit) {
        options.max_iterations = limit;
        const Result result = solve(owned.view(), options);
        status = result.status;
        const bool is_enough = std::max(result.error.a, result.error.b) <= tolerance;
        EXPECT_EQ(status == Status::converged, is_enough) << method << ", limit " << limit;
      }
      EXPECT_EQ(status, Status::converged) << method;
    }
  }
}

TEST(Stopping, ChecksComeAsOftenAsAskedFor) {
  const OwnedProblem owned = testing::random_problem(10, 10, 0.05, 9);
  Options options;
  options.check_every = 10;
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.iterations % 10, 0);
  for (const TraceRow& row : result.trace) EXPECT_EQ(row.iteration % 10, 0);
}

TEST(Stopping, AVeryLongTraceIsThinnedOut) {
  const OwnedProblem owned = testing::random_problem(1, 1, 1, 9);
  Options options;
  options.tolerance = 0;
  options.max_iterations = 1500001;
  const Result result = solve(owned.view(), options);
  EXPECT_LT(result.trace.size(), std::size_t{1} << 20);
  EXPECT_GT(result.trace.size(), std::size_t{1} << 19);
  EXPECT_EQ(result.trace.front().iteration, 1);
  EXPECT_EQ(result.trace.back().iteration, 1500001);
  for (std::size_t k = 1; k < result.trace.size(); ++k) {
    ASSERT_GT(result.trace[k].iteration, result.trace[k - 1].iteration);
  }
}

TEST(Stopping, AnInterruptEndsTheRunWithWhatThereIs) {
  const OwnedProblem owned = testing::random_problem(10, 10, 0.05, 9);
  std::atomic<bool> stop = false;
  Options options;
  options.tolerance = 0;
  options.max_iterations = 1000000000;
  options.interrupt = &stop;
  options.on_check = [&](const Progress& progress) { stop = progress.iteration == 12; };
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::interrupted);
  EXPECT_EQ(result.iterations, 12);
  EXPECT_EQ(result.f.size(), 10U);
  EXPECT_LE(result.error.b, 1e-12);
}

TEST(Stopping, AProblemWithoutAPlanDiverges) {
  OwnedProblem owned = testing::random_problem(3, 3, 0.5, 2);
  // Rows 0 and 1 may use column 0 only, which is too small for both.
  for (const std::size_t k : {1U, 2U, 4U, 5U}) owned.cost[k] = kInfinity;
  owned.a = {0.4, 0.4, 0.2};
  owned.b = {0.5, 0.3, 0.2};
  Options options;
  EXPECT_NE(refusal(owned.view(), options).find("no plan exists: column 1 has mass 0.3"), std::string::npos)
      << refusal(owned.view(), options);
  options.feasibility = Feasibility::skip;
  options.max_iterations = 100000;
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::diverged);
}

// --- several targets
// ---------------------------------------------------------------------------------------------------

TEST(Targets, EachIsSolvedAsIfItWereAlone) {
  for (const double epsilon : {0.1, 1e-3}) {
    OwnedProblem owned = testing::point_problem(24, 30, epsilon, 12);
    const std::size_t targets = 7;
    const OwnedProblem masses = testing::random_problem(24, 30, epsilon, 13, targets);
    owned.targets = targets;
    owned.b = masses.b;
    for (std::size_t j = 0; j < 10; ++j) owned.b[j * targets + 3] = 0;  // a target with zeros where others have mass
    testing::normalise(owned.b, 3, targets);
    const Problem problem = owned.view();
    Options options;
    options.method = "sinkhorn";
    options.max_iterations = 100000;
    const Result together = solve(problem, options);
    ASSERT_EQ(together.status, Status::converged);
    ASSERT_EQ(together.per_target.size(), targets);
    for (std::size_t k = 0; k < targets; ++k) {
      OwnedProblem single = owned;
      single.targets = 1;
      single.b.clear();
      for (std::size_t j = 0; j < owned.m; ++j) single.b.push_back(owned.b[j * targets + k]);
      const Problem view = single.view();
      const Result alone = solve(view, options);
      // Rounding decides in which of many nearly equal iterations the tolerance is met.
      const auto iterations = static_cast<double>(alone.iterations);
      EXPECT_NEAR(static_cast<double>(together.per_target[k].iterations), iterations, 2 + 0.002 * iterations);
      const auto plan = testing::whole_plan(problem, together, k);
      EXPECT_LE(testing::l1_distance(plan, testing::whole_plan(view, alone)), 1e-6);
      EXPECT_LE(testing::plan_error(plan, single.a, single.b), 2e-9);
      EXPECT_NEAR(together.per_target[k].cost.linear, alone.cost.linear, 1e-9);
      for (std::size_t j = 0; k == 3 && j < 10; ++j) EXPECT_EQ(together.g[j * targets + k], -kInfinity);
    }
  }
}

// Opposite ends of a line at tiny epsilon: no common pair of potentials serves both targets.
TEST(Targets, ThoseTooFarApartAreFinishedAlone) {
  const std::size_t n = 30;
  OwnedProblem owned = testing::random_problem(n, n, 2e-4, 1, 5);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double gap = (static_cast<double>(i) - static_cast<double>(j)) / static_cast<double>(n - 1);
      owned.cost[i * n + j] = gap * gap;
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < 5; ++k) {
      const double centre = static_cast<double>(k) / 4;
      const double x = static_cast<double>(j) / static_cast<double>(n - 1) - centre;
      owned.b[j * 5 + k] = std::exp(-50 * x * x) + 1e-12;
    }
  }
  for (std::size_t k = 0; k < 5; ++k) testing::normalise(owned.b, k, 5);
  const Problem problem = owned.view();
  Options options;
  options.tolerance = 1e-7;
  options.max_iterations = 200000;
  const Result result = solve(problem, options);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_GT(result.targets_solved_alone, 0U);
  for (std::size_t k = 0; k < 5; ++k) {
    std::vector<double> b;
    for (std::size_t j = 0; j < n; ++j) b.push_back(owned.b[j * 5 + k]);
    EXPECT_LE(testing::plan_error(testing::whole_plan(problem, result, k), owned.a, b), 2e-7);
  }
}

// --- precision
// ---------------------------------------------------------------------------------------------------------

TEST(ReducedPrecision, IsCloseAndSaysHowClose) {
  const OwnedProblem owned = testing::random_problem(50, 60, 0.05, 21);
  const Problem problem = owned.view();
  const auto exact = testing::whole_plan(problem, solve(problem));
  Options options;
  options.precision = Precision::mixed;
  const Result mixed = solve(problem, options);
  EXPECT_EQ(mixed.status, Status::converged);
  EXPECT_LE(testing::l1_distance(testing::whole_plan(problem, mixed), exact), 1e-6);
  EXPECT_GT(mixed.exact_error.a, 1e-10);
  EXPECT_LE(mixed.exact_error.a, 1e-6);

  options.precision = Precision::float32;
  options.tolerance = 1e-5;
  const Result single = solve(problem, options);
  EXPECT_EQ(single.status, Status::converged);
  EXPECT_LE(testing::l1_distance(testing::whole_plan(problem, single), exact), 1e-4);
  EXPECT_GT(single.error_floor, 1e-9);
  EXPECT_LT(single.kernel_bytes, solve(problem).kernel_bytes);
}

TEST(ReducedPrecision, SmallEpsilonWorksToo) {
  const OwnedProblem owned = testing::point_problem(40, 30, 1e-3, 22);
  const Problem problem = owned.view();
  Options options;
  options.max_iterations = 100000;
  const auto exact = testing::whole_plan(problem, solve(problem, options));
  options.precision = Precision::mixed;
  const Result mixed = solve(problem, options);
  EXPECT_EQ(mixed.status, Status::converged);
  EXPECT_LE(testing::l1_distance(testing::whole_plan(problem, mixed), exact), 1e-4);
}

TEST(Costs, AreThoseOfThePlan) {
  OwnedProblem owned = testing::random_problem(15, 12, 0.07, 30);
  owned.cost[5] = kInfinity;
  const Problem problem = owned.view();
  Options options;
  options.tolerance = 1e-13;
  const Result result = solve(problem, options);
  const auto plan = testing::whole_plan(problem, result);
  double linear = 0;
  double entropy = 0;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    if (plan[k] == 0) continue;
    linear += plan[k] * owned.cost[k];
    entropy -= plan[k] * (std::log(plan[k]) - 1);
  }
  EXPECT_NEAR(result.cost.linear, linear, 1e-12);
  EXPECT_NEAR(result.cost.entropy, entropy, 1e-11);
  EXPECT_NEAR(result.cost.objective, linear - owned.epsilon * entropy, 1e-12);
  EXPECT_NEAR(result.cost.objective, result.cost.dual, 1e-11);
}

// --- sameness
// ----------------------------------------------------------------------------------------------------------

TEST(Reproducible, SameBitsForAnyNumberOfThreads) {
  const OwnedProblem owned = testing::random_problem(801, 757, 0.05, 40);
  for (const Passes passes : {Passes::fused, Passes::two}) {
    Options options;
    options.passes = passes;
    options.threads = 1;
    const Result one = solve(owned.view(), options);
    for (const int threads : {2, 3}) {
      options.threads = threads;
      const Result more = solve(owned.view(), options);
      EXPECT_EQ(one.f, more.f);
      EXPECT_EQ(one.g, more.g);
      EXPECT_EQ(one.iterations, more.iterations);
    }
  }
}

TEST(Reproducible, TwoPassTargetsEqualSingleSolvesBitForBit) {
  const OwnedProblem owned = testing::random_problem(41, 37, 0.2, 41, 5);
  Options options;
  options.passes = Passes::two;
  options.tolerance = 0;
  options.max_iterations = 60;
  const Result together = solve(owned.view(), options);
  for (std::size_t k = 0; k < 5; ++k) {
    OwnedProblem single = owned;
    single.targets = 1;
    single.b.clear();
    for (std::size_t j = 0; j < owned.m; ++j) single.b.push_back(owned.b[j * 5 + k]);
    const Result alone = solve(single.view(), options);
    for (std::size_t i = 0; i < owned.n; ++i) EXPECT_EQ(alone.f[i], together.f[i * 5 + k]);
    for (std::size_t j = 0; j < owned.m; ++j) EXPECT_EQ(alone.g[j], together.g[j * 5 + k]);
  }
}

TEST(Memory, IsPredictedAndRefusedWithAWayOut) {
  const std::vector<double> x(2000000);
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{x.data(), 2000000, 1}, MatrixView<double>{x.data(), 2000000, 1},
                             Metric::sqeuclidean};
  problem.epsilon = 1;
  EXPECT_GT(predicted_bytes(problem), std::uint64_t{32} * 1000 * 1000 * 1000 * 1000);
  const std::string message = refusal(problem);
  EXPECT_NE(message.find("TB"), std::string::npos) << message;
  EXPECT_NE(message.find("`kernel` online"), std::string::npos) << message;
}

TEST(Infeasible, IsRefusedByName) {
  OwnedProblem owned = testing::random_problem(4, 4, 0.1, 1);
  for (std::size_t j = 0; j < 4; ++j) owned.cost[2 * 4 + j] = kInfinity;
  EXPECT_NE(refusal(owned.view()).find("row 2"), std::string::npos);

  OwnedProblem blocks = testing::random_problem(4, 4, 0.1, 1);
  for (const std::size_t k : {2U, 3U, 6U, 7U, 8U, 9U, 12U, 13U}) blocks.cost[k] = kInfinity;
  blocks.a = {0.25, 0.25, 0.25, 0.25};
  blocks.b = {0.3, 0.3, 0.2, 0.2};
  EXPECT_NE(refusal(blocks.view()).find("no plan exists"), std::string::npos);
  blocks.b = {0.3, 0.2, 0.25, 0.25};
  EXPECT_EQ(refusal(blocks.view()), "accepted");
}

}  // namespace
}  // namespace fedsinkhorn
