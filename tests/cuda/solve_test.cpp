// Whole solves on the device against the CPU's.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>

#include "cuda/on_the_device.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/hard.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

using CudaSolve = testing::OnTheDevice;

Options on(const std::string& backend, const std::string& method = "sinkhorn") {
  Options options;
  options.backend = backend;
  options.method = method;
  options.threads = 2;
  return options;
}

/// So many plain rounds.
Options budget(const std::string& backend, std::int64_t iterations = 60) {
  Options options = on(backend);
  options.tolerance = 0;
  options.max_iterations = iterations;
  return options;
}

double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = x.size() == y.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < x.size() && k < y.size(); ++k) {
    if (x[k] != y[k]) largest = std::max(largest, std::abs(x[k] - y[k]));
  }
  return largest;
}

void expect_same_rounds(const Problem& problem, Options options, double tolerance = 1e-11) {
  options.backend = "cpu";
  const Result expected = solve(problem, options);
  options.backend = "cuda";
  const Result result = solve(problem, options);
  EXPECT_EQ(result.backend, "cuda");
  EXPECT_EQ(result.status, expected.status);
  EXPECT_EQ(result.iterations, expected.iterations);
  EXPECT_LE(largest_difference(result.f, expected.f), tolerance);
  EXPECT_LE(largest_difference(result.g, expected.g), tolerance);
  ASSERT_EQ(result.trace.size(), expected.trace.size());
  for (std::size_t k = 0; k < expected.trace.size(); ++k) {
    ASSERT_EQ(result.trace[k].iteration, expected.trace[k].iteration);
    ASSERT_NEAR(result.trace[k].error_a, expected.trace[k].error_a, 1e-9);
    ASSERT_NEAR(result.trace[k].error_b, expected.trace[k].error_b, 1e-9);
  }
}

// Products on the device, the rest on the host: by a dense factor, and by conjugate gradients.
TEST_F(CudaSolve, NewtonsMethod) {
  for (const char* family : {"random", "clusters-8", "blocks"}) {
    for (const std::size_t n : {300, 1200}) {
      SCOPED_TRACE(std::string(family) + ", n = " + std::to_string(n));
      const OwnedProblem owned = testing::hard(family, n, n, 1e-4, 1);
      const Result result = solve(owned.view(), on("cuda", "newton"));
      const Result expected = solve(owned.view(), on("cpu", "newton"));
      EXPECT_EQ(result.backend, "cuda");
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_GT(result.newton.steps, 0);
      EXPECT_LE(result.iterations, 2 * expected.iterations);
      EXPECT_NEAR(result.cost.linear, expected.cost.linear, 1e-8);
    }
  }
}

// Acceleration alone would reach the limit. The device's rounds are cheap, so there are more of them than on the CPU.
TEST_F(CudaSolve, AutoTakesToNewtonsMethodWhereAccelerationStalls) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const OwnedProblem owned = testing::hard("blocks", 300, 300, 1e-5, seed);
    const Result result = solve(owned.view(), on("cuda", "auto"));
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_GT(result.newton.steps, 0);
  }
}

TEST_F(CudaSolve, SameRoundsOfEveryShape) {
  for (const auto& [n, m] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {1, 5}, {7, 3}, {101, 101}, {257, 64}, {90, 1003}, {2000, 1500}}) {
    SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(m));
    expect_same_rounds(testing::random_problem(n, m, 0.05, n * m).view(), budget("cuda"));
  }
}

TEST_F(CudaSolve, SameRoundsInEveryNorm) {
  const OwnedProblem owned = testing::random_problem(120, 80, 0.05, 3);
  for (const Norm norm : {Norm::l1, Norm::l2, Norm::linf}) {
    Options options = budget("cuda", 30);
    options.norm = norm;
    expect_same_rounds(owned.view(), options);
  }
}

TEST_F(CudaSolve, SameRoundsAtTinyEpsilon) {
  expect_same_rounds(testing::point_problem(101, 101, 2e-4, 7).view(), budget("cuda", 200));
}

TEST_F(CudaSolve, SameRoundsWithZerosAndForbiddenPairs) {
  OwnedProblem owned = testing::random_problem(101, 90, 0.05, 5, 2);
  for (const std::size_t i : {0, 50, 100}) owned.a[i] = 0;
  for (const std::size_t j : {0, 7, 89}) owned.b[2 * j] = owned.b[2 * j + 1] = 0;
  owned.b[2 * 8] = 0;  // of one target alone
  testing::normalise(owned.a);
  for (const std::size_t k : {0, 1}) testing::normalise(owned.b, k, 2);
  for (std::size_t k = 0; k < owned.cost.size(); k += 7) owned.cost[k] = testing::kInfinity;
  expect_same_rounds(owned.view(), budget("cuda"));
}

TEST_F(CudaSolve, SameRoundsOfManyTargets) {
  expect_same_rounds(testing::random_problem(80, 120, 0.05, 6, 2).view(), budget("cuda"));
  expect_same_rounds(testing::random_problem(80, 120, 0.05, 6, 40).view(), budget("cuda"));
}

TEST_F(CudaSolve, ScalingsBeyondTheSafeRangeAreAbsorbed) {
  // Masses over many decades and small epsilon: plain float32 would leave its range.
  OwnedProblem owned = testing::point_problem(150, 150, 1e-3, 9);
  for (std::size_t i = 0; i < owned.a.size(); ++i) owned.a[i] *= std::pow(10.0, -static_cast<double>(i % 12));
  testing::normalise(owned.a);
  for (const Precision precision : {Precision::float64, Precision::mixed}) {
    Options options = on("cuda", "auto");
    options.precision = precision;
    options.tolerance = precision == Precision::float64 ? 1e-9 : 1e-5;
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(result.exact_error.a, precision == Precision::float64 ? 2e-9 : 1e-4);
  }
}

TEST_F(CudaSolve, ConvergesAsOnTheCpu) {
  for (const double epsilon : {0.1, 1e-2, 1e-3}) {
    const OwnedProblem owned = testing::point_problem(400, 300, epsilon, 11);
    for (const char* method : {"sinkhorn", "anderson", "auto"}) {
      SCOPED_TRACE(std::string(method) + " at " + std::to_string(epsilon));
      Options options = on("cpu", method);
      options.tolerance = 1e-11;
      options.max_iterations = 100000;
      const Result expected = solve(owned.view(), options);
      options.backend = "cuda";
      const Result result = solve(owned.view(), options);
      EXPECT_EQ(result.status, Status::converged);
      // Accelerated rounds are the CPU's up to rounding and what the host's looks in between cost.
      EXPECT_LE(result.iterations, expected.iterations * 3 / 2 + 10);
      const auto plan = testing::whole_plan(owned.view(), result);
      EXPECT_LE(testing::plan_error(plan, owned.a, owned.b), 3e-11);
      EXPECT_LE(testing::l1_distance(plan, testing::whole_plan(owned.view(), expected)), 1e-9);
      EXPECT_NEAR(result.cost.linear, expected.cost.linear, 1e-9);
      EXPECT_NEAR(result.cost.objective, expected.cost.objective, 1e-9);
    }
  }
}

TEST_F(CudaSolve, KernelsFromPointsComeDownInLevels) {
  const std::size_t n = 300;
  Random random(18);
  std::vector<double> x(2 * n);
  std::vector<double> y(2 * n);
  for (double& coordinate : x) coordinate = random.uniform() / std::sqrt(2.0);
  for (double& coordinate : y) coordinate = random.uniform() / std::sqrt(2.0);
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{x.data(), n, 2}, MatrixView<double>{y.data(), n, 2}};
  problem.epsilon = 3e-4;
  const Result expected = solve(problem, on("cpu", "auto"));
  ASSERT_GT(expected.levels, 0);
  for (const KernelKind kernel : {KernelKind::online, KernelKind::dense}) {
    Options options = on("cuda", "auto");
    options.kernel = kernel;
    const Result result = solve(problem, options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_GT(result.levels, 0);
    EXPECT_LE(result.iterations, expected.iterations * 3 / 2 + 20);
    EXPECT_NEAR(result.cost.linear, expected.cost.linear, 1e-8);
  }
}

TEST_F(CudaSolve, MoreClientsThanPoints) {
  const std::vector<double> x = {0.1, 0.5, 0.9, 0.3, 0.7};
  const std::vector<double> y = {0.2, 0.4, 0.6};
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{x.data(), 5, 1}, MatrixView<double>{y.data(), 3, 1}};
  problem.epsilon = 0.1;
  for (const KernelKind kernel : {KernelKind::online, KernelKind::dense}) {
    Options options = on("cuda");
    options.kernel = kernel;
    options.clients = 7;
    EXPECT_EQ(solve(problem, options).status, Status::converged);
  }
}

TEST_F(CudaSolve, RowsTooLongForOneRead) {
  expect_same_rounds(testing::random_problem(20, 60000, 0.1, 19).view(), budget("cuda", 20));
}

TEST_F(CudaSolve, ManyTargetsConverge) {
  const OwnedProblem owned = testing::random_problem(100, 130, 0.01, 12, 20);
  for (const char* method : {"sinkhorn", "auto"}) {
    Options options = on("cuda", method);
    options.max_iterations = 50000;
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.status, Status::converged) << method;
    ASSERT_EQ(result.per_target.size(), 20U);
    for (const TargetResult& target : result.per_target) EXPECT_LE(target.error.b, 1e-9);
  }
}

TEST_F(CudaSolve, StopsWhereItIsTold) {
  const OwnedProblem owned = testing::point_problem(300, 300, 1e-3, 13);
  for (const char* method : {"sinkhorn", "auto"}) {
    for (const std::int64_t limit : {1, 2, 3, 64, 65, 66, 130}) {
      Options options = on("cuda", method);
      options.max_iterations = limit;
      options.tolerance = 1e-14;
      const Result result = solve(owned.view(), options);
      EXPECT_EQ(result.iterations, limit) << method;
      EXPECT_EQ(result.status, Status::iteration_limit) << method;
      ASSERT_FALSE(result.trace.empty());
      EXPECT_EQ(result.trace.back().iteration, limit);
    }
  }
}

TEST_F(CudaSolve, AStopIsHeard) {
  const OwnedProblem owned = testing::point_problem(300, 300, 1e-3, 14);
  std::atomic<bool> stop = false;
  Options options = on("cuda");
  options.tolerance = 0;
  options.max_iterations = 1000000000;
  options.interrupt = &stop;
  options.on_check = [&](const Progress& progress) { stop = stop || progress.iteration > 100; };
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::interrupted);
  EXPECT_LT(result.iterations, 1000);
}

TEST_F(CudaSolve, EveryTopology) {
  const OwnedProblem owned = testing::random_problem(101, 83, 0.05, 15);
  Options options = budget("cuda", 40);
  options.topology = "centralized";
  options.passes = Passes::two;
  const Result expected = solve(owned.view(), options);
  for (const std::string& topology : testing::topologies_in_step()) {
    for (const std::size_t clients : {1, 3, 7}) {
      SCOPED_TRACE(topology + ", clients " + std::to_string(clients));
      Options federated = budget("cuda", 40);
      federated.topology = topology;
      federated.clients = clients;
      const Result result = solve(owned.view(), federated);
      EXPECT_EQ(result.iterations, expected.iterations);
      const double most = testing::topology_named(topology).keeps_bits ? 0 : 1e-12;
      EXPECT_LE(largest_difference(result.f, expected.f), most);
      EXPECT_LE(largest_difference(result.g, expected.g), most);
    }
  }
}

TEST_F(CudaSolve, MoreClientsThanRows) {
  const OwnedProblem owned = testing::random_problem(5, 4, 0.1, 17, 2);
  const Result expected = solve(owned.view(), budget("cpu", 20));
  for (const std::string& topology : testing::topologies_in_step()) {
    Options options = budget("cuda", 20);
    options.topology = topology;
    options.clients = 7;
    const Result result = solve(owned.view(), options);
    EXPECT_LE(largest_difference(result.f, expected.f), 1e-12) << topology;
    EXPECT_LE(largest_difference(result.g, expected.g), 1e-12) << topology;
  }
}

TEST_F(CudaSolve, Asynchronously) {
  const OwnedProblem owned = testing::random_problem(101, 83, 0.05, 16);
  Options options = on("cuda");
  options.topology = "async";
  options.clients = 3;
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_LE(testing::plan_error(testing::whole_plan(owned.view(), result), owned.a, owned.b), 3e-9);
}

TEST_F(CudaSolve, TooLargeForTheDeviceIsSaidBefore) {
  const std::vector<double> points(300000, 0.5);
  Problem problem;
  problem.cost =
      PointClouds{MatrixView<double>{points.data(), 300000, 1}, MatrixView<double>{points.data(), 300000, 1}};
  problem.epsilon = 0.1;
  try {
    (void)solve(problem, on("cuda"));
    FAIL() << "720 GB were not enough to be refused";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("`kernel` online"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace fedsinkhorn
