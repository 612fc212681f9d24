// Every topology, on threads: the same potentials as one client, to the last bit where the sums have the same order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "fedsinkhorn/solve.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"
#include "support/stated.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

constexpr int kIterations = 60;

Options budget() {
  Options options;
  options.method = "sinkhorn";
  options.tolerance = 0;
  options.max_iterations = kIterations;
  options.threads = 1;
  return options;
}

Result centralized(const Problem& problem, Options options) {
  options.topology = "centralized";
  options.passes = Passes::two;
  return solve(problem, options);
}

Result federated(const Problem& problem, Options options, const std::string& topology, std::size_t clients) {
  options.topology = topology;
  options.clients = clients;
  return solve(problem, options);
}

/// One after the other, so that a failure says where.
void expect_same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], y[i]) << "at " << i;
}

void expect_same_trace(const Result& result, const Result& expected) {
  ASSERT_EQ(result.trace.size(), expected.trace.size());
  for (std::size_t k = 0; k < expected.trace.size(); ++k) {
    ASSERT_EQ(result.trace[k].error_a, expected.trace[k].error_a) << "row " << k;
    ASSERT_EQ(result.trace[k].error_b, expected.trace[k].error_b) << "row " << k;
    ASSERT_EQ(result.trace[k].epsilon, expected.trace[k].epsilon) << "row " << k;
    ASSERT_EQ(result.trace[k].rejected, expected.trace[k].rejected) << "row " << k;
    ASSERT_EQ(result.trace[k].history, expected.trace[k].history) << "row " << k;
    ASSERT_EQ(result.trace[k].omega, expected.trace[k].omega) << "row " << k;
  }
}

/// Potentials are determined up to a constant moved from f to g; these come from the same start, so not even that.
void expect_close(const std::vector<double>& x, const std::vector<double>& y, double tolerance) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isinf(y[i])) {
      ASSERT_EQ(x[i], y[i]) << "at " << i;
    } else {
      ASSERT_NEAR(x[i], y[i], tolerance) << "at " << i;
    }
  }
}

void expect_agreement(const Problem& problem, const Options& options, double tolerance = 1e-12) {
  const Result expected = centralized(problem, options);
  for (const TopologyEntry& topology : topologies()) {
    if (!testing::is_in_step(topology)) continue;
    for (const std::size_t clients : {1, 2, 3, 4, 7}) {
      SCOPED_TRACE(std::string(topology.name) + ", clients " + std::to_string(clients));
      const Result result = federated(problem, options, std::string(topology.name), clients);
      EXPECT_EQ(result.iterations, expected.iterations);
      EXPECT_EQ(result.status, expected.status);
      EXPECT_EQ(result.clients.size(), clients);
      if (topology.keeps_bits) {
        expect_same_bits(result.f, expected.f);
        expect_same_bits(result.g, expected.g);
        expect_same_bits(result.f_rest, expected.f_rest);
        expect_same_bits(result.g_rest, expected.g_rest);
        expect_same_trace(result, expected);
      } else {
        expect_close(result.f, expected.f, tolerance);
        expect_close(result.g, expected.g, tolerance);
      }
      // Of a kernel in float32 another order of summation is another plan, by as much as potentials differ.
      const double of_costs = topology.keeps_bits ? 1e-10 : std::max(1e-10, tolerance);
      EXPECT_NEAR(result.cost.linear, expected.cost.linear, of_costs);
      EXPECT_NEAR(result.cost.dual, expected.cost.dual, of_costs);
    }
  }
}

TEST(Exactness, UnevenSlices) {
  const OwnedProblem owned = testing::random_problem(101, 101, 0.05, 1);
  expect_agreement(owned.view(), budget());
}

TEST(Exactness, SymmetricCosts) {
  OwnedProblem owned = testing::random_problem(101, 101, 0.05, 2);
  for (std::size_t i = 0; i < 101; ++i) {
    for (std::size_t j = 0; j < i; ++j) owned.cost[i * 101 + j] = owned.cost[j * 101 + i];
  }
  expect_agreement(owned.view(), budget());
}

TEST(Exactness, SeveralTargets) {
  const OwnedProblem owned = testing::random_problem(101, 101, 0.05, 3, 5);
  expect_agreement(owned.view(), budget());
}

TEST(Exactness, Float32) {
  const OwnedProblem owned = testing::random_problem(101, 101, 0.05, 4);
  Options options = budget();
  options.precision = Precision::float32;
  expect_agreement(owned.view(), options, 1e-6);
  options.precision = Precision::mixed;
  expect_agreement(owned.view(), options, 1e-12);
}

TEST(Exactness, ZeroWeights) {
  OwnedProblem owned = testing::random_problem(101, 101, 0.05, 5, 2);
  for (const std::size_t i : {0, 1, 2, 50, 99, 100}) owned.a[i] = 0;
  for (const std::size_t j : {0, 7, 100}) owned.b[2 * j] = owned.b[2 * j + 1] = 0;
  owned.b[2 * 8] = 0;  // of one target alone
  testing::normalise(owned.a);
  for (const std::size_t k : {0, 1}) testing::normalise(owned.b, k, 2);
  expect_agreement(owned.view(), budget());
}

TEST(Exactness, ForbiddenPairs) {
  OwnedProblem owned = testing::random_problem(101, 101, 0.05, 6);
  for (std::size_t k = 0; k < owned.cost.size(); k += 7) owned.cost[k] = testing::kInfinity;
  expect_agreement(owned.view(), budget());
}

TEST(Exactness, TinyEpsilon) {
  const OwnedProblem owned = testing::point_problem(101, 101, 2e-4, 7);
  expect_agreement(owned.view(), budget());
}

TEST(Exactness, MoreClientsThanRows) {
  const OwnedProblem owned = testing::random_problem(3, 5, 0.1, 8);
  expect_agreement(owned.view(), budget());
}

TEST(Exactness, OneEntry) {
  const OwnedProblem owned = testing::random_problem(1, 1, 0.1, 9);
  expect_agreement(owned.view(), budget());
}

TEST(Exactness, OnlineKernel) {
  const OwnedProblem owned = testing::random_problem(101, 67, 0.05, 10);
  Options options = budget();
  options.kernel = KernelKind::online;
  expect_agreement(owned.view(), options);
}

TEST(Exactness, LogDomain) {
  const OwnedProblem owned = testing::random_problem(41, 37, 0.05, 11);
  Options options = budget();
  options.stabilization = Stabilization::log;
  expect_agreement(owned.view(), options);
}

TEST(Exactness, EveryNormConvergesAtTheSameIteration) {
  const OwnedProblem owned = testing::point_problem(101, 83, 0.02, 12);
  for (const Norm norm : {Norm::l1, Norm::l2, Norm::linf}) {
    Options options;
    options.norm = norm;
    options.threads = 1;
    options.check_every = 3;
    expect_agreement(owned.view(), options);
  }
}

TEST(Exactness, PointsInManyDimensions) {
  Random random(13);
  std::vector<double> x(101 * 20);
  std::vector<double> y(83 * 20);
  for (double& c : x) c = random.uniform();
  for (double& c : y) c = 5 + random.uniform();
  for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::cosine}) {
    Problem problem;
    problem.cost = PointClouds{MatrixView<double>{x.data(), 101, 20}, MatrixView<double>{y.data(), 83, 20}, metric};
    problem.epsilon = metric == Metric::sqeuclidean ? 1.0 : 0.02;
    expect_agreement(problem, budget(), 1e-11);
  }
}

TEST(Exactness, RectangularPlans) {
  const OwnedProblem owned = testing::random_problem(60, 83, 0.05, 14);
  const Problem problem = owned.view();
  Options options;
  options.threads = 1;
  const Result expected = centralized(problem, options);
  const std::vector<double> plan = testing::whole_plan(problem, expected);
  for (const TopologyEntry& topology : topologies()) {
    if (!testing::is_in_step(topology)) continue;
    for (const std::size_t clients : {2, 3, 4, 7}) {
      SCOPED_TRACE(std::string(topology.name) + ", clients " + std::to_string(clients));
      const Result result = federated(problem, options, std::string(topology.name), clients);
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_LT(testing::l1_distance(testing::whole_plan(problem, result), plan), 1e-10);
    }
  }
}

TEST(Exactness, RowWeights) {
  const OwnedProblem owned = testing::random_problem(101, 101, 0.05, 15);
  const Result expected = centralized(owned.view(), budget());
  Options options = budget();
  options.row_weights = {1, 0, 5, 2.5};
  const Result result = federated(owned.view(), options, "all-to-all", 4);
  expect_same_bits(result.f, expected.f);
  EXPECT_EQ(result.clients[0].last_row, 12U);
  EXPECT_EQ(result.clients[1].first_row, result.clients[1].last_row);
  EXPECT_EQ(result.clients[3].last_row, 101U);
  options.row_weights = {0, 0, 1, 0};  // one client has everything, the server of a star nothing
  for (const std::string& topology : testing::topologies_in_step()) {
    expect_close(federated(owned.view(), options, topology, 4).f, expected.f, 1e-12);
  }
}

TEST(Exactness, EveryShapeOfGrid) {
  const OwnedProblem owned = testing::random_problem(101, 83, 0.05, 16);
  const Result expected = centralized(owned.view(), budget());
  for (const GridShape shape : {GridShape{1, 6}, {6, 1}, {2, 3}, {3, 2}}) {
    Options options = budget();
    options.grid = shape;
    const Result result = federated(owned.view(), options, "grid", 6);
    expect_close(result.f, expected.f, 1e-12);
    expect_close(result.g, expected.g, 1e-12);
  }
}

/// Accelerated rounds: every decision rests on sums over all clients. Where those are added in another order, decisions
/// may differ and so may the way; where it leads to may not.
void expect_same_solution(const Problem& problem, const Options& options) {
  const Result expected = centralized(problem, options);
  ASSERT_EQ(expected.status, Status::converged);
  for (const TopologyEntry& topology : topologies()) {
    if (!testing::is_in_step(topology)) continue;
    for (const std::size_t clients : {1, 3, 7}) {
      SCOPED_TRACE(options.method + ", " + std::string(topology.name) + ", clients " + std::to_string(clients));
      Options there = options;
      there.topology = topology.name;
      there.clients = clients;
      const std::uint64_t each_round = testing::stated_rounds(problem, there).front().exchanges;
      const Result result = solve(problem, there);
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_EQ(result.exchanges, each_round * static_cast<std::uint64_t>(result.iterations - 1));
      // A Newton step rests on sums over clients, which are equal to rounding.
      if (topology.keeps_bits && expected.newton.steps == 0) {
        EXPECT_EQ(result.iterations, expected.iterations);
        EXPECT_EQ(result.rejected, expected.rejected);
        expect_same_bits(result.f, expected.f);
        expect_same_bits(result.g, expected.g);
        expect_same_trace(result, expected);
      }
      for (std::size_t k = 0; k < expected.targets; ++k) {
        EXPECT_LE(
            testing::l1_distance(testing::whole_plan(problem, result, k), testing::whole_plan(problem, expected, k)),
            1e-8);
      }
    }
  }
}

Options accelerated(const std::string& method) {
  Options options;
  options.method = method;
  options.threads = 1;
  options.tolerance = 1e-11;
  return options;
}

TEST(Accelerated, EveryMethodInEveryTopology) {
  const OwnedProblem owned = testing::point_problem(61, 47, 1e-3, 31);
  for (const std::string& method : testing::methods_that_accelerate()) {
    expect_same_solution(owned.view(), accelerated(method));
  }
}

// Ties everywhere: sums must not depend on who adds what.
TEST(Accelerated, NothingToChooseBetween) {
  OwnedProblem owned = testing::random_problem(17, 70, 3e-3, 35);
  std::fill(owned.cost.begin(), owned.cost.end(), 0.0);
  std::fill(owned.a.begin(), owned.a.end(), 1.0 / 17);
  std::fill(owned.b.begin(), owned.b.end(), 1.0 / 70);
  for (const std::string& method : testing::methods_that_accelerate()) {
    expect_same_solution(owned.view(), accelerated(method));
  }
}

TEST(Accelerated, SeveralTargetsWithZerosAndEmptySlices) {
  OwnedProblem owned = testing::point_problem(40, 30, 5e-3, 32);
  const OwnedProblem masses = testing::random_problem(40, 30, 5e-3, 33, 4);
  owned.targets = 4;
  owned.b = masses.b;
  for (std::size_t j = 0; j < 12; ++j) owned.b[j * 4 + 2] = 0;
  testing::normalise(owned.b, 2, 4);
  expect_same_solution(owned.view(), accelerated("auto"));
  Options options = accelerated("anderson");
  const Result expected = centralized(owned.view(), options);
  options.row_weights = {0, 3, 0, 1, 2};
  for (const std::string& topology : testing::topologies_that_keep_bits()) {
    const Result result = federated(owned.view(), options, topology, 5);
    expect_same_bits(result.f, expected.f);
    expect_same_bits(result.g, expected.g);
  }
}

TEST(Accelerated, ReducedPrecisionAndKernelsThatAreNotStored) {
  const OwnedProblem owned = testing::point_problem(61, 47, 5e-3, 34);
  Options options = accelerated("auto");
  options.kernel = KernelKind::online;
  expect_same_solution(owned.view(), options);
  options.kernel = KernelKind::dense;
  options.tolerance = 1e-5;
  for (const Precision precision : {Precision::mixed, Precision::float32}) {
    options.precision = precision;
    const Result expected = centralized(owned.view(), options);
    EXPECT_EQ(expected.status, Status::converged);
    for (const std::string& topology : testing::topologies_that_keep_bits()) {
      const Result result = federated(owned.view(), options, topology, 3);
      expect_same_bits(result.f, expected.f);
      expect_same_bits(result.g, expected.g);
    }
  }
}

TEST(LocalSteps, ConvergeToTheSamePlan) {
  const OwnedProblem owned = testing::random_problem(60, 83, 0.05, 17, 2);
  const Problem problem = owned.view();
  Options options;
  options.threads = 1;
  const Result expected = centralized(problem, options);
  for (const std::string& topology : testing::topologies_with_local_steps()) {
    Options plain = options;
    plain.method = "sinkhorn";
    const Result each = federated(problem, plain, topology, 3);
    for (const std::int64_t steps : {2, 5, 20}) {
      SCOPED_TRACE(topology + ", steps " + std::to_string(steps));
      Options local = options;
      local.local_steps = steps;
      const Result result = federated(problem, local, topology, 3);
      EXPECT_EQ(result.status, Status::converged);
      for (const std::size_t target : {0, 1}) {
        EXPECT_LT(testing::l1_distance(testing::whole_plan(problem, result, target),
                                       testing::whole_plan(problem, expected, target)),
                  1e-7);
      }
      // Fewer exchanges than without them is what they are for.
      EXPECT_LE(result.exchanges, each.exchanges);
      EXPECT_GE(result.iterations, 3 * each.iterations / 2);
    }
  }
}

// Between two exchanges a client comes to rest after a few steps. More of them would use up the limit of iterations,
// and nothing else.
TEST(LocalSteps, ThatChangeNothingAreNotMade) {
  const OwnedProblem owned = testing::block_problem(5, 13, 6e-3, 1);
  const Problem problem = owned.view();
  Options options;
  options.threads = 1;
  options.method = "sinkhorn";
  const Result expected = centralized(problem, options);
  ASSERT_EQ(expected.status, Status::converged);
  for (const std::string& topology : testing::topologies_with_local_steps()) {
    for (const std::int64_t steps : {1'000, 100'000, 1'000'000'000}) {
      SCOPED_TRACE(topology + ", steps " + std::to_string(steps));
      Options local = options;
      local.local_steps = steps;
      const Result result = federated(problem, local, topology, 4);
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_LT(testing::l1_distance(testing::whole_plan(problem, result), testing::whole_plan(problem, expected)),
                1e-6);
      EXPECT_LT(result.iterations, 15 * expected.iterations);
      for (const ClientReport& client : result.clients) EXPECT_LE(client.iterations, result.iterations);
    }
  }
}

TEST(LocalSteps, OfOneClientAreTheIterationItself) {
  const OwnedProblem owned = testing::random_problem(60, 83, 0.05, 18);
  Options options = budget();
  const Result expected = centralized(owned.view(), options);
  options.local_steps = 5;
  for (const std::string& topology : testing::topologies_with_local_steps()) {
    expect_close(federated(owned.view(), options, topology, 1).f, expected.f, 1e-12);
  }
}

}  // namespace
}  // namespace fedsinkhorn
