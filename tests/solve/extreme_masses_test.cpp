// Masses hundreds of orders of magnitude apart, in every precision: what is said to have converged has, on the costs as
// given, and potentials are right where there is hardly any mass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "fedsinkhorn/solve.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

Options with(Precision precision, double tolerance = 1e-9) {
  Options options;
  options.threads = 1;
  options.precision = precision;
  options.tolerance = tolerance;
  return options;
}

double exact_error(const Result& result) { return std::max(result.exact_error.a, result.exact_error.b); }

/// Everything between rows and columns with mass is finite.
void expect_usable(const OwnedProblem& owned, const Result& result) {
  for (const double f : result.f) EXPECT_TRUE(std::isfinite(f));
  for (const double g : result.g) EXPECT_TRUE(std::isfinite(g));
  const auto [least, greatest] = std::ranges::minmax(owned.cost);
  EXPECT_GE(result.cost.linear, least - 1e-6);
  EXPECT_LE(result.cost.linear, greatest + 1e-6);
}

/// Costs uniform in [0, 1), masses from 1 down to 10^-deepest, evenly in their logarithms.
OwnedProblem deep_problem(std::size_t n, std::size_t m, double deepest, double epsilon, std::uint64_t seed) {
  OwnedProblem owned = testing::random_problem(n, m, epsilon, seed);
  Random random(seed + 1000);
  for (double& mass : owned.a) mass = std::pow(10.0, -deepest * random.uniform());
  for (double& mass : owned.b) mass = std::pow(10.0, -deepest * random.uniform());
  testing::normalise(owned.a);
  testing::normalise(owned.b);
  return owned;
}

// ---------------------------------------------------------------------------------------------------------------------
// float64

TEST(ExtremeMasses, PotentialsOfTinyRowsAreThoseOfFiftyDigits) {
  for (const double tiny : {1e-80, 1e-250, 1e-280, 1e-300}) {
    for (const double epsilon : {1e-2, 1e-4}) {
      SCOPED_TRACE(std::to_string(std::log10(tiny)) + " at " + std::to_string(epsilon));
      const OwnedProblem owned{3, 3, 1, {0, 1, 2, 3, 0, 1, 1, 2, 0.5}, {1, tiny, tiny}, {0.5, 0.499, 0.001}, epsilon};
      const Result precise = solve(owned.view(), with(Precision::digits50, 1e-13));
      ASSERT_EQ(precise.status, Status::converged);
      for (const auto stabilization : {Stabilization::absorption, Stabilization::log}) {
        Options options = with(Precision::float64);
        options.stabilization = stabilization;
        const Result result = solve(owned.view(), options);
        EXPECT_EQ(result.status, Status::converged);
        expect_usable(owned, result);
        for (const std::size_t i : {1, 2}) {
          EXPECT_NEAR(result.f[i] - result.f[0], precise.f[i] - precise.f[0], 1e-9) << i;
        }
      }
      // Entries of a plan below 2e-300 are 0.
      const std::vector<double> plan = testing::whole_plan(owned.view(), precise);
      if (tiny > 1e-290) {
        EXPECT_NEAR((plan[3] + plan[4] + plan[5]) / tiny, 1, 1e-6);
      }
    }
  }
}

TEST(ExtremeMasses, LevelsLeadOutOfRoundsInTheLogDomain) {
  for (const double deepest : {80.0, 150.0, 300.0}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      for (const double epsilon : {1e-6, 2e-7}) {
        SCOPED_TRACE(std::to_string(deepest) + " " + std::to_string(seed) + " " + std::to_string(epsilon));
        const OwnedProblem owned = deep_problem(7, 6, deepest, epsilon, seed);
        const Result result = solve(owned.view(), with(Precision::float64));
        EXPECT_EQ(result.status, Status::converged);
        EXPECT_LE(result.iterations, 500);
        EXPECT_LE(exact_error(result), 1.01e-9);
        expect_usable(owned, result);
      }
    }
  }
}

/// Columns without mass beside tiny ones: products there are not numbers, and secure sums take nothing else.
OwnedProblem with_columns_left_out(std::uint64_t seed) {
  Random random(seed);
  const double deepest = random.uniform(10, 60);
  OwnedProblem owned = testing::random_problem(6, 7, random.uniform() < 0.5 ? 4e-5 : 1e-5, seed, 3);
  for (double& mass : owned.a) mass = std::pow(10.0, -deepest * random.uniform());
  for (std::size_t k = 0; k < 3; ++k) {
    const double low = std::pow(10.0, -deepest * random.uniform());
    for (std::size_t j = 0; j < owned.m; ++j) owned.b[3 * j + k] = random.uniform() < 0.5 ? 1 : low;
    if (k > 0) owned.b[3 * random.below(owned.m) + k] = 0;
    testing::normalise(owned.b, k, 3);
  }
  testing::normalise(owned.a);
  return owned;
}

TEST(ExtremeMasses, SecureSumsLeaveOutColumnsThatATargetDoesNotHave) {
  for (const std::uint64_t seed : {16, 21, 55, 57, 72, 81, 84, 88, 96}) {
    SCOPED_TRACE(seed);
    Options options = with(Precision::float64);
    options.clients = 3;
    options.policy = "sums";
    options.max_iterations = 2000;
    const Result result = solve(with_columns_left_out(seed).view(), options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(exact_error(result), 1.01e-9);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Reduced precision

class CoarseKernel : public ::testing::TestWithParam<Precision> {
 protected:
  /// As the documentation has it: a tolerance that rounding allows, and what rounding leaves.
  [[nodiscard]] static double tolerance() { return GetParam() == Precision::mixed ? 1e-9 : 1e-6; }
  static void expect_honest(const OwnedProblem& owned, const Options& options) {
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(exact_error(result), options.tolerance + 4 * result.error_floor);
    expect_usable(owned, result);
  }
};
INSTANTIATE_TEST_SUITE_P(Each, CoarseKernel, ::testing::Values(Precision::mixed, Precision::float32),
                         [](const auto& info) { return info.param == Precision::mixed ? "mixed" : "float32"; });

TEST_P(CoarseKernel, HoldsMassesBelowTheRangeOfItsKernel) {
  const OwnedProblem owned{2, 3, 1, {5, 1, -5, -5, 3, 0}, {1, 4e-59}, {0.55, 1.36e-30, 0.45}, 3.45e-5};
  const std::vector<std::function<void(Options&)>> ways = {
      [](Options&) {},
      [](Options& options) { options.passes = Passes::two; },
      [](Options& options) { options.kernel = KernelKind::online; },
      [](Options& options) { options.clients = 3, options.policy = "sums"; },
      [](Options& options) { options.clients = 2, options.topology = "star"; },
      [](Options& options) { options.clients = 4, options.topology = "grid"; }};
  for (std::size_t way = 0; way < ways.size(); ++way) {
    SCOPED_TRACE(way);
    Options options = with(GetParam(), tolerance());
    ways[way](options);
    expect_honest(owned, options);
    EXPECT_NEAR(solve(owned.view(), options).cost.linear, 0.5, 1e-5);
  }
}

TEST_P(CoarseKernel, ConvergesOnTheCostsAsGiven) {
  for (const double deepest : {30.0, 60.0, 150.0, 300.0}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(std::to_string(deepest) + " " + std::to_string(seed));
      expect_honest(deep_problem(6, 8, deepest, seed % 2 == 0 ? 3e-5 : 1e-3, seed), with(GetParam(), tolerance()));
    }
  }
}

/// Levels that are solved too roughly lead Newton's method astray, and what cannot be told from the noise of the dual
/// value is not yet the noise of the error.
TEST_P(CoarseKernel, TakesAboutTheIterationsOfFloat64) {
  constexpr double kEpsilon = 2e-6;
  std::vector<OwnedProblem> problems = {testing::point_problem(44, 40, kEpsilon, 44)};
  for (const std::uint64_t seed : {10, 76, 79, 91}) problems.push_back(testing::random_problem(44, 40, kEpsilon, seed));
  for (const std::uint64_t seed : {2, 4, 120}) problems.push_back(deep_problem(9, 10, 8, kEpsilon, seed));
  // In all: one by one, float32 depends on the order of sums.
  std::int64_t iterations = 0;
  std::int64_t exact_iterations = 0;
  for (std::size_t k = 0; k < problems.size(); ++k) {
    SCOPED_TRACE(k);
    const Result exact = solve(problems[k].view(), with(Precision::float64, tolerance()));
    const Result result = solve(problems[k].view(), with(GetParam(), tolerance()));
    ASSERT_EQ(exact.status, Status::converged);
    EXPECT_EQ(result.status, Status::converged);
    iterations += result.iterations;
    exact_iterations += exact.iterations;
  }
  EXPECT_LE(iterations, 3 * exact_iterations);
}

}  // namespace
}  // namespace fedsinkhorn
