// Starts from a given g: never much worse than none, and much better where it is good.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/hard.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

Options quiet() {
  Options options;
  options.threads = 1;
  options.max_iterations = 3000;
  return options;
}

Result solve_from(const OwnedProblem& owned, const std::vector<double>& g, const Options& options) {
  Problem problem = owned.view();
  problem.initial_g = {g.data(), owned.m, 1};
  return solve(problem, options);
}

struct Start {
  std::string name;
  std::vector<double> g;
};

/// good: the potentials of the solution.
std::vector<Start> starts(const std::vector<double>& good, std::uint64_t seed) {
  Random random(seed);
  std::vector<Start> all = {{"none", std::vector<double>(good.size())},
                            {"random", good},
                            {"huge", good},
                            {"negated", good},
                            {"off by a tenth", good},
                            {"one is wrong", good}};
  for (std::size_t j = 0; j < good.size(); ++j) {
    all[1].g[j] = random.uniform(-1, 1);
    all[2].g[j] = random.uniform(-1e6, 1e6);
    all[3].g[j] = -good[j];
    all[4].g[j] += 0.1 * random.normal();
  }
  all[5].g[good.size() / 2] += 3;
  return all;
}

/// One iteration tells that a start is of no use.
double most_for(const Result& cold) {
  return std::max(1.1 * static_cast<double>(cold.iterations), static_cast<double>(cold.iterations + 1));
}

void expect_no_worse_than_cold(const OwnedProblem& owned, const Options& options) {
  const Result cold = solve(owned.view(), options);
  ASSERT_EQ(cold.status, Status::converged);
  for (const Start& start : starts(cold.g, owned.n)) {
    const Result warm = solve_from(owned, start.g, options);
    EXPECT_EQ(warm.status, Status::converged) << start.name;
    EXPECT_LE(static_cast<double>(warm.iterations), most_for(cold)) << start.name;
  }
  EXPECT_LE(solve_from(owned, cold.g, options).iterations, 3);
}

TEST(GivenStart, IsNeverMuchWorseThanNone) {
  for (const std::string_view family : {"random", "clusters-2", "normal-2", "line", "separate", "wide-masses"}) {
    for (const double epsilon : {1e-1, 1e-2, 1e-3, 1e-5}) {
      SCOPED_TRACE(std::string(family) + ", epsilon " + std::to_string(epsilon));
      expect_no_worse_than_cold(testing::hard(family, 35, 30, epsilon, 3), quiet());
    }
  }
}

// All-to-all opens levels in the log domain; Newton's method without a start begins at the first level.
TEST(GivenStart, IsNeverMuchWorseThanNoneInOtherWays) {
  const OwnedProblem owned = testing::hard("normal-2", 35, 30, 1e-3, 4);
  Options options = quiet();
  options.clients = 3;
  options.topology = "all-to-all";
  expect_no_worse_than_cold(owned, options);
  options = quiet();
  options.method = "newton";
  const Result cold = solve(owned.view(), options);
  std::vector<double> huge(owned.m);
  for (std::size_t j = 0; j < huge.size(); ++j) huge[j] = static_cast<double>(j * j);
  EXPECT_LE(static_cast<double>(solve_from(owned, huge, options).iterations), most_for(cold));
}

// A grid has no Newton's method to make up for a poor start.
TEST(GivenStart, APoorOneIsDroppedOnAGrid) {
  const OwnedProblem owned = testing::hard("square-2", 40, 36, 1e-3, 5);
  Options options = quiet();
  options.clients = 4;
  options.topology = "grid";
  const Result cold = solve(owned.view(), options);
  ASSERT_EQ(cold.status, Status::converged);
  for (const Start& start : starts(cold.g, 5)) {
    EXPECT_LE(static_cast<double>(solve_from(owned, start.g, options).iterations), most_for(cold)) << start.name;
  }
}

// Points that move by a thousandth of the unit.
TEST(GivenStart, HalvesTheIterationsAfterASmallMove) {
  for (const std::uint64_t seed : {7, 12, 31, 42, 56, 58, 80}) {
    for (const double epsilon : {1e-3, 1e-4}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", epsilon " + std::to_string(epsilon));
      const std::size_t n = 20 + seed;
      OwnedProblem owned = testing::random_problem(n, 45, epsilon, seed);
      Random random(seed, 1);
      std::vector<double> x(2 * n);
      std::vector<double> y(2 * owned.m);
      for (double& coordinate : x) coordinate = random.normal();
      for (double& coordinate : y) coordinate = random.normal();
      if (seed % 2 == 0) {
        owned.a.assign(n, 1.0 / static_cast<double>(n));
        owned.b.assign(owned.m, 1.0 / static_cast<double>(owned.m));
      }
      testing::set_distances(owned, x, y);
      const std::vector<double> before = solve(owned.view(), quiet()).g;
      for (double& coordinate : x) coordinate += 1e-3 * random.normal();
      for (double& coordinate : y) coordinate += 1e-3 * random.normal();
      testing::set_distances(owned, x, y);
      const Result cold = solve(owned.view(), quiet());
      const Result warm = solve_from(owned, before, quiet());
      EXPECT_EQ(warm.status, Status::converged);
      EXPECT_LE(2 * warm.iterations, cold.iterations);
    }
  }
}

// Each target has a start of its own; they share the decision.
TEST(GivenStart, OfSeveralTargets) {
  const OwnedProblem owned = testing::random_problem(30, 25, 1e-3, 6, 3);
  const Result cold = solve(owned.view(), quiet());
  Problem problem = owned.view();
  problem.initial_g = {cold.g.data(), owned.m, 3};
  EXPECT_LE(solve(problem, quiet()).iterations, 3);
  std::vector<double> poor(cold.g.size());
  for (std::size_t k = 0; k < poor.size(); ++k) poor[k] = static_cast<double>(k % 7);
  problem.initial_g = {poor.data(), owned.m, 3};
  const Result warm = solve(problem, quiet());
  EXPECT_EQ(warm.status, Status::converged);
  EXPECT_LE(static_cast<double>(warm.iterations), most_for(cold));
}

}  // namespace
}  // namespace fedsinkhorn
