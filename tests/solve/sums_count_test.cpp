// Policy sums: what is counted, the limit on it, and Newton's method without matrices.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "comm/transports.hpp"
#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/sums_report.hpp"
#include "problem/shapes.hpp"
#include "problem/sums_account.hpp"
#include "solve/client_solve.hpp"
#include "support/hard.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

using test::line_of;
using testing::OwnedProblem;

Options counted(std::size_t clients, const std::string& method = "auto") {
  Options options;
  options.clients = clients;
  options.method = method;
  options.policy = "sums";
  options.threads = 1;
  options.backend = "cpu";
  return options;
}

SumsShape shape_of_counted(const OwnedProblem& owned, std::size_t clients) {
  SumsShape shape;
  for (const Range& slice : deal(owned.n, clients, {})) shape.rows.push_back(slice.size());
  shape.columns = owned.m;
  shape.targets = owned.targets;
  shape.numbers_of_a_row = owned.m + 1;
  return shape;
}

// ---------------------------------------------------------------------------------------------------------------------
// What is seen

TEST(SumsCount, EveryIterationShowsWhatTheDocsSay) {
  for (const std::size_t targets : {1U, 3U}) {
    for (const std::string method : {"sinkhorn", "anderson"}) {
      const OwnedProblem owned = testing::random_problem(23, 17, 0.05, 5, targets);
      const auto seen_in = [&](std::int64_t iterations) {
        Options options = counted(3, method);
        options.max_iterations = iterations;
        options.tolerance = 0;
        return solve(owned.view(), options).sums.seen;
      };
      const std::uint64_t each = numbers_each_iteration(shape_of_counted(owned, 3), method == "anderson");
      EXPECT_EQ(each, targets * (17 + (method == "anderson" ? 3 : 2)));
      EXPECT_EQ(seen_in(30) - seen_in(20), 10 * each) << method << ", " << targets << " targets";
    }
  }
}

TEST(SumsCount, IsTheSameForAllClientsAndWithAServer) {
  const OwnedProblem owned = testing::point_problem(40, 30, 1e-3, 6);
  const Result result = solve(owned.view(), counted(4));
  Options served = counted(4);
  served.server = Server::sums;
  EXPECT_EQ(solve(owned.view(), served).sums.seen, result.sums.seen);
  EXPECT_GT(result.sums.seen, static_cast<std::uint64_t>(result.iterations) * owned.m);
}

TEST(SumsCount, NothingIsSeenByOneClientOrUnderOtherPolicies) {
  const OwnedProblem owned = testing::random_problem(12, 10, 0.1, 7);
  Options open = counted(3);
  open.policy = "open";
  EXPECT_EQ(solve(owned.view(), open).sums.seen, 0U);
}

// ---------------------------------------------------------------------------------------------------------------------
// What is unknown: the others' costs, or coordinates where the columns' points are known, and their masses.

TEST(SumsCount, UnknownAreTheOthersRows) {
  const OwnedProblem owned = testing::random_problem(10, 6, 0.1, 8);
  const auto unknown_to = [&](const Problem& problem) {
    std::vector<std::uint64_t> unknown;
    for (const ClientReport& client : solve(problem, counted(3)).clients) unknown.push_back(client.unknown);
    return unknown;
  };
  Problem problem = owned.view();
  std::vector<std::uint64_t> expected;
  for (const Range& slice : deal(10, 3, {})) expected.push_back((10 - slice.size()) * (6 + 1));
  EXPECT_EQ(unknown_to(problem), expected);
  problem.a = {};  // uniform, as all know
  for (std::uint64_t& count : expected) count = count / 7 * 6;
  EXPECT_EQ(unknown_to(problem), expected);
  Random random(9);
  std::vector<double> coordinates((10 + 6) * 2);
  for (double& x : coordinates) x = random.uniform();
  problem.cost =
      PointClouds{MatrixView<double>{coordinates.data(), 10, 2}, MatrixView<double>{coordinates.data() + 20, 6, 2}};
  for (std::uint64_t& count : expected) count = count / 6 * 2;
  EXPECT_EQ(unknown_to(problem), expected);
}

TEST(SumsCount, AClientThatHasAllRowsIsSeenByTheOthers) {
  const OwnedProblem owned = testing::random_problem(10, 6, 0.1, 26);
  Options options = counted(3);
  options.row_weights = {1, 0, 0};
  options.tolerance = 0;
  options.max_iterations = 30;
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.sums.unknown, 10U * (6 + 1));
  EXPECT_TRUE(are_rows_determined({result.sums, 3}));
}

TEST(SumsCount, LinesWithoutMassAreNotUnknown) {
  OwnedProblem owned = testing::random_problem(30, 8, 0.1, 27);
  for (std::size_t i = 0; i < 30; ++i) owned.a[i] = i % 10 == 0 ? 0.2 : 0;  // one row of each client
  std::ranges::fill(owned.b, 0.0);
  for (const std::size_t j : {1U, 4U, 6U}) owned.b[j] = 0.2;
  const Result result = solve(owned.view(), counted(3));
  EXPECT_EQ(result.clients[0].unknown, 2U * (3 + 1));
  EXPECT_LE(result.sums.unknown, 2U * (3 + 1));
  EXPECT_TRUE(are_rows_determined({result.sums, 3}));
}

// ---------------------------------------------------------------------------------------------------------------------
// The limit

// Whenever the limit is met: right after a check, long after one, and before there was any.
TEST(SumsLimit, ErrorsAndTraceAreThoseOfTheResult) {
  const OwnedProblem owned = testing::random_problem(20, 15, 0.005, 28);
  for (const std::string method : {"sinkhorn", "auto", "anderson"}) {
    for (const std::int64_t check_every : {1, 20}) {
      for (const std::size_t limit : {400U, 500U, 640U, 900U}) {
        Options options = counted(3, method);
        options.check_every = check_every;
        options.most_sums = limit;
        const Result limited = solve(owned.view(), options);
        SCOPED_TRACE(method + ", " + std::to_string(check_every) + ", " + std::to_string(limit));
        ASSERT_EQ(limited.status, Status::sums_limit);
        EXPECT_EQ(limited.error.a, limited.exact_error.a);
        EXPECT_EQ(limited.error.b, limited.exact_error.b);
        EXPECT_GT(std::max(limited.error.a, limited.error.b), 0);
        if (limited.trace.empty()) continue;
        EXPECT_LE(limited.trace.back().iteration, limited.iterations);
      }
    }
  }
}

void expect_sound_at_the_limit(const Problem& problem, const Result& result, std::uint64_t limit) {
  EXPECT_LE(result.sums.seen, limit);
  EXPECT_EQ(result.sums.limit, limit);
  EXPECT_TRUE(result.status == Status::sums_limit || result.status == Status::converged)
      << static_cast<int>(result.status);
  const double worst = std::max(result.exact_error.a, result.exact_error.b);
  EXPECT_TRUE(std::isfinite(worst));
  if (result.status == Status::converged) {
    EXPECT_LE(worst, 1.01e-9 * result.mass);
  }
  for (const double f : result.f) EXPECT_TRUE(std::isfinite(f));
  EXPECT_EQ(result.g.size(), problem.b.rows * problem.b.columns);
}

struct Limited {
  std::string name;
  OwnedProblem owned;
  Options options;
};

/// The second one is solved alone.
OwnedProblem one_target_is_hard() {
  OwnedProblem owned = testing::block_problem(20, 20, 0.02, 24);
  OwnedProblem problem = owned;
  problem.targets = 2;
  problem.b.resize(40);
  for (std::size_t j = 0; j < 20; ++j) {
    problem.b[2 * j] = owned.a[j];
    problem.b[2 * j + 1] = j == 0 ? 0.81 : 0.01;
  }
  return problem;
}

std::vector<Limited> limited_runs() {
  std::vector<Limited> runs = {
      {"Defaults", testing::random_problem(20, 15, 0.05, 10), counted(3)},
      {"Newton", testing::point_problem(40, 30, 1e-4, 11), counted(4)},
      {"NewtonThroughout", testing::point_problem(40, 30, 1e-3, 12), counted(4, "newton")},
      {"Plain", testing::random_problem(20, 15, 0.05, 13), counted(2, "sinkhorn")},
      {"SeveralTargets", testing::random_problem(20, 15, 0.01, 14, 3), counted(3)},
      {"OneTargetIsHard", one_target_is_hard(), counted(3)},
      {"WarmStart", testing::random_problem(20, 15, 0.01, 25), counted(3)},
      {"Stretched", testing::hard("clusters-8", 40, 40, 1e-5, 1), counted(3)},
      {"Logs", testing::random_problem(20, 15, 0.05, 15), counted(3)},
      {"Served", testing::random_problem(20, 15, 0.05, 16), counted(3)},
      {"ReducedPrecision", testing::point_problem(40, 30, 1e-3, 17), counted(3)},
  };
  const auto options_of = [&](const std::string& name) -> Options& {
    return std::ranges::find(runs, name, &Limited::name)->options;
  };
  options_of("Logs").stabilization = Stabilization::log;
  options_of("Served").server = Server::sums;
  options_of("ReducedPrecision").precision = Precision::mixed;
  options_of("ReducedPrecision").tolerance = 1e-6;
  return runs;
}

void PrintTo(const Limited& run, std::ostream* stream) { *stream << run.name; }

class SumsLimits : public ::testing::TestWithParam<Limited> {};
INSTANTIATE_TEST_SUITE_P(Runs, SumsLimits, ::testing::ValuesIn(limited_runs()),
                         [](const auto& info) { return info.param.name; });

TEST_P(SumsLimits, IsNeverExceededAndResultsAreThoseSoFar) {
  Problem problem = GetParam().owned.view();
  const std::vector<double> g(problem.b.rows, 0.3);
  if (GetParam().name == "WarmStart") problem.initial_g = {g.data(), g.size(), 1};
  Options options = GetParam().options;
  const Result free_run = solve(problem, options);
  ASSERT_EQ(free_run.status, Status::converged);
  const std::uint64_t least = numbers_at_least(shape_of_counted(GetParam().owned, options.clients));
  std::uint64_t seen_before = 0;
  for (std::size_t part = 0; part <= 12; ++part) {
    const std::uint64_t limit = least + part * free_run.sums.seen / 12;
    SCOPED_TRACE(limit);
    options.most_sums = limit;
    const Result result = solve(problem, options);
    if (options.tolerance == Options{}.tolerance) expect_sound_at_the_limit(problem, result, limit);
    EXPECT_LE(result.sums.seen, limit);
    EXPECT_GE(result.sums.seen, seen_before);
    seen_before = result.sums.seen;
    if (part == 0) {
      EXPECT_EQ(result.status, Status::sums_limit);
    }
  }
  EXPECT_EQ(seen_before, free_run.sums.seen);  // with room for all, nothing changes
}

TEST(SumsLimit, TooFewAreRefusedBeforeDataLeave) {
  const OwnedProblem owned = testing::random_problem(20, 15, 0.05, 18);
  Options options = counted(3);
  options.most_sums = numbers_at_least(shape_of_counted(owned, 3)) - 1;
  const std::string line = line_of<InputError>([&] { (void)solve(owned.view(), options); });
  EXPECT_EQ(line.find("most_sums: "), 0U) << line;
  EXPECT_NE(line.find("give at least"), std::string::npos) << line;
}

// The plan is measured in the end. Checks may come too rarely to have seen that it is good enough.
TEST(SumsLimit, WhatMeetsTheToleranceHasConverged) {
  const OwnedProblem owned = testing::random_problem(20, 15, 0.5, 18);
  Options options = counted(3, "sinkhorn");
  options.check_every = 1000;
  options.most_sums = 2000;
  const Result result = solve(owned.view(), options);
  ASSERT_GT(result.iterations, 10);
  ASSERT_LT(result.iterations, 1000);
  EXPECT_LE(std::max(result.error.a, result.error.b), options.tolerance);
  EXPECT_EQ(result.status, Status::converged);
}

/// Clients of one solve, each with options of its own.
std::vector<Result> solve_with(const Problem& problem, const std::vector<Options>& options) {
  std::vector<Result> results(options.size());
  run_on_threads(options.size(), Seconds(60), [&](Communicator& communicator) {
    results[communicator.rank()] = solve_as_client(problem, options[communicator.rank()], communicator);
  });
  return results;
}

TEST(SumsLimit, TheSmallestOfAllClientsHolds) {
  const OwnedProblem owned = testing::random_problem(20, 15, 1e-3, 19);
  std::vector<Options> options(3, counted(3));
  options[0].most_sums = 100000;
  options[2].most_sums = 2000;  // client 1 has none
  for (const Result& result : solve_with(owned.view(), options)) {
    EXPECT_EQ(result.status, Status::sums_limit);
    EXPECT_EQ(result.sums.limit, 2000U);
    EXPECT_LE(result.sums.seen, 2000U);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Matrices

TEST(SharedMatrices, AreAskedForByAllClientsOrRefused) {
  const OwnedProblem owned = testing::random_problem(20, 15, 0.05, 20);
  std::vector<Options> options(3, counted(3));
  options[1].share_matrices = true;
  const std::string line = line_of<InputError>([&] { (void)solve_with(owned.view(), options); });
  EXPECT_EQ(line.find("share_matrices"), 0U) << line;
}

TEST(SharedMatrices, AreAddedUpOnlyIfAskedFor) {
  for (const std::string method : {"auto", "newton"}) {
    const OwnedProblem owned = testing::point_problem(80, 60, 1e-4, 21);
    Options options = counted(4, method);
    const Result by_vectors = solve(owned.view(), options);
    EXPECT_EQ(by_vectors.status, Status::converged);
    EXPECT_GT(by_vectors.newton.steps, 0);
    EXPECT_EQ(by_vectors.sums.matrices, 0U);
    options.share_matrices = true;
    const Result by_matrices = solve(owned.view(), options);
    EXPECT_EQ(by_matrices.status, Status::converged);
    EXPECT_GE(by_matrices.sums.matrices, 2U);
    EXPECT_LE(by_matrices.sums.matrices, static_cast<std::uint64_t>(by_matrices.newton.steps));
  }
}

// Products at one point are views of one matrix: together they must not be the matrix.
TEST(NewtonByVectors, AsksForFewProductsAtAPoint) {
  for (const std::size_t m : {8U, 30U, 120U}) {
    const OwnedProblem owned = testing::point_problem(m + 10, m, 1e-3, 22);
    const Result result = solve(owned.view(), counted(4, "newton"));
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(result.newton.products, result.newton.steps * static_cast<std::int64_t>(m) / 4);
  }
}

// What a client does not know of the matrix has the rank of the others' rows.
TEST(NewtonByVectors, AsksForFewProductsWhereOneClientHasMostRows) {
  const OwnedProblem owned = testing::point_problem(60, 50, 1e-3, 23);
  Options options = counted(3, "newton");
  options.row_weights = {48, 4, 8};
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_LE(result.newton.products, result.newton.steps * (60 - 48) / 4);
}

// Products remembered from far away can spoil all further steps of a level: of 9,200 iterations, 9,000 went into two
// levels that did not end.
TEST(NewtonByVectors, ForgetsProductsThatSpoilItsSteps) {
  const OwnedProblem owned = testing::hard("dirichlet", 500, 400, 1e-5, 4);
  const Result result = solve(owned.view(), counted(4));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_LE(result.iterations, 3000);
}

class NewtonByVectorsOn : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Families, NewtonByVectorsOn, ::testing::ValuesIn(hard_families()), testing::name_of_family);

// Other seeds and shapes than those of the bench.
TEST_P(NewtonByVectorsOn, ConvergesAtSmallEpsilon) {
  for (const double epsilon : {1e-3, 1e-5}) {
    for (const auto& [n, m, clients] : {std::array<std::size_t, 3>{70, 50, 3}, {50, 90, 5}}) {
      SCOPED_TRACE(::testing::Message() << n << " x " << m << ", epsilon " << epsilon);
      const OwnedProblem owned = testing::hard(GetParam(), n, m, epsilon, 77);
      const Result result = solve(owned.view(), counted(clients));
      EXPECT_EQ(result.status, Status::converged) << result.iterations;
      EXPECT_LE(std::max(result.exact_error.a, result.exact_error.b), 1.01e-9);
      EXPECT_LE(result.iterations, 2000);
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
