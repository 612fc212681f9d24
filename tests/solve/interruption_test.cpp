// A stop that is asked for: the results are those of the last iteration that was finished, and come soon.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <ostream>
#include <string>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn::test {
namespace {

struct InterruptedWay {
  std::string name;
  std::string topology;
  std::size_t clients;
  std::string transport = "threads";
  KernelKind kernel = KernelKind::dense;
  Stabilization stabilization = Stabilization::absorption;
  std::int64_t local_steps = 1;
};

void PrintTo(const InterruptedWay& way, std::ostream* stream) { *stream << way.name; }

Options options_of(const InterruptedWay& way) {
  Options options;
  options.topology = way.topology;
  options.clients = way.clients;
  options.transport = way.transport;
  options.kernel = way.kernel;
  options.stabilization = way.stabilization;
  options.local_steps = way.local_steps;
  options.method = "sinkhorn";
  options.threads = 1;
  options.tolerance = 0;
  options.max_iterations = 1'000'000'000'000;
  return options;
}

std::vector<double> costs_of(std::size_t n, std::size_t m) {
  std::vector<double> costs(n * m);
  for (std::size_t k = 0; k < costs.size(); ++k) costs[k] = std::fmod(static_cast<double>(k) * 0.6180339887, 1.0);
  return costs;
}

class SmallProblem : public ::testing::Test {
 protected:
  static constexpr std::size_t n = 60;
  static constexpr std::size_t m = 47;
  SmallProblem() {
    problem_.cost = CostMatrix{MatrixView<double>{costs_.data(), n, m}};
    problem_.epsilon = 0.02;
  }
  std::vector<double> costs_ = costs_of(n, m);
  Problem problem_;
  std::atomic<bool> stop_ = false;
};

class Interruption : public SmallProblem, public ::testing::WithParamInterface<InterruptedWay> {};
class LoneInterruption : public SmallProblem {};

// While the client that is told of a check asks for the stop, the others are in the midst of the next round.
TEST_P(Interruption, GivesTheResultsOfTheLastFinishedIteration) {
  Options options = options_of(GetParam());
  options.interrupt = &stop_;
  options.on_check = [&](const Progress& now) {
    if (now.iteration >= 5) stop_ = true;
  };
  const Result stopped = solve(problem_, options);
  EXPECT_EQ(stopped.status, Status::interrupted);
  EXPECT_GE(stopped.iterations, 5);
  EXPECT_TRUE(std::isfinite(stopped.cost.linear));

  options.interrupt = nullptr;
  options.on_check = nullptr;
  options.max_iterations = stopped.iterations;
  const Result counted = solve(problem_, options);
  EXPECT_EQ(counted.iterations, stopped.iterations);
  EXPECT_EQ(counted.f, stopped.f);
  EXPECT_EQ(counted.g, stopped.g);
  EXPECT_EQ(counted.cost.linear, stopped.cost.linear);
}

TEST_P(Interruption, GivesNoneBeforeTheFirstIterationIsFinished) {
  Options options = options_of(GetParam());
  stop_ = true;
  options.interrupt = &stop_;
  EXPECT_THROW((void)solve(problem_, options), Interrupted);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Interruption,
    ::testing::Values(InterruptedWay{"Alone", "auto", 1},
                      InterruptedWay{"AloneOnline", "auto", 1, "threads", KernelKind::online},
                      InterruptedWay{"AllToAll", "all-to-all", 3}, InterruptedWay{"Star", "star", 3},
                      InterruptedWay{"Grid", "grid", 4}, InterruptedWay{"RowReduce", "row-reduce", 3},
                      InterruptedWay{"Simulated", "all-to-all", 3, "simulated"},
                      InterruptedWay{"Log", "all-to-all", 2, "threads", KernelKind::dense, Stabilization::log}),
    [](const auto& info) { return info.param.name; });

// ---------------------------------------------------------------------------------------------------------------------

// At whatever iteration of a level it comes: what is handed over is a plan for the epsilon asked for, its columns
// right.
TEST_F(LoneInterruption, LevelsOfEpsilonAreLeftWithPotentialsOfTheProblem) {
  problem_.epsilon = 1e-4;
  std::vector<Options> ways(5);
  ways[1].kernel = KernelKind::online;
  ways[2].precision = Precision::float32;
  ways[3].passes = Passes::two;
  ways[4].topology = "row-reduce";
  ways[4].clients = 3;
  for (Options options : ways) {
    for (const int after : {1, 2, 5}) {
      SCOPED_TRACE(std::string(name_of(options.kernel)) + " " + std::string(name_of(options.precision)) + " " +
                   options.topology + ", " + std::to_string(after));
      stop_ = false;
      int seen = 0;
      options.threads = 1;
      options.tolerance = 1e-12;
      options.interrupt = &stop_;
      options.on_check = [&](const Progress& now) {
        if (now.is_on_the_way && ++seen == after) stop_ = true;
      };
      const Result result = solve(problem_, options);
      ASSERT_TRUE(stop_) << "no levels: the problem is too easy";
      EXPECT_EQ(result.status, Status::interrupted);
      EXPECT_LT(result.error.b, 1e-9);
      EXPECT_LT(result.error.a, 1);
      EXPECT_LT(result.cost.linear, 1);
      for (const double x : result.f) EXPECT_TRUE(std::isfinite(x));
      for (const double x : result.g) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

TEST_F(LoneInterruption, AClientThatMakesVeryManyLocalStepsHearsOfIt) {
  for (const std::string& topology : testing::topologies_with_local_steps()) {
    SCOPED_TRACE(topology);
    stop_ = false;
    Options options = options_of({"", topology, 2});
    options.local_steps = 1'000'000'000'000;
    options.interrupt = &stop_;
    options.on_check = [&](const Progress&) { stop_ = true; };  // the first: local steps without end follow
    const Result result = solve(problem_, options);
    EXPECT_EQ(result.status, Status::interrupted);
    for (const double x : result.f) EXPECT_TRUE(std::isfinite(x));
  }
}

TEST_F(LoneInterruption, FiftyDigitsToo) {
  Options options = options_of({"", "auto", 1});
  options.precision = Precision::digits50;
  options.interrupt = &stop_;
  options.on_check = [&](const Progress& now) {
    if (now.iteration == 3) stop_ = true;
  };
  const Result result = solve(problem_, options);
  EXPECT_EQ(result.status, Status::interrupted);
  EXPECT_EQ(result.iterations, 3);
  EXPECT_THROW((void)solve(problem_, options), Interrupted);
}

/// Of this process, all threads together: unlike seconds on the wall, no more on a busy machine.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Two seconds, or the time of one pass, of which the first iteration has two.
TEST(LargeInterruption, EndsWithinAPass) {
  constexpr std::size_t points = 16'000;
  std::vector<double> x(points * 2);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::fmod(static_cast<double>(k) * 0.6180339887, 1.0);
  const MatrixView<double> cloud{x.data(), points, 2};
  Problem problem;
  problem.cost = PointClouds{cloud, cloud, Metric::sqeuclidean};
  problem.epsilon = 0.05;
  std::atomic<bool> stop = false;
  Options options;
  options.kernel = KernelKind::online;
  options.backend = "cpu";
  options.method = "sinkhorn";
  options.tolerance = 0;
  options.interrupt = &stop;
  const double begun = processor_seconds();
  double asked = 0;
  options.on_check = [&](const Progress&) {
    if (!stop) asked = processor_seconds() - begun;
    stop = true;
  };
  const Result result = solve(problem, options);
  EXPECT_EQ(result.status, Status::interrupted);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_LE(processor_seconds() - begun - asked, std::max(2.0, asked)) << "the first iteration took " << asked << " s";
  for (const double value : result.f) ASSERT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace fedsinkhorn::test
