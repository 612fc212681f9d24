// Method newton as a user meets it: any topology, precision, start and end.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/names.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/hard.hpp"
#include "support/plans.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

Options by_newton(double tolerance = 1e-9) {
  Options options;
  options.method = "newton";
  options.threads = 1;
  options.tolerance = tolerance;
  options.max_iterations = 500;
  return options;
}

std::string label(std::string_view family, double epsilon) {
  return std::string(family) + ", epsilon " + std::to_string(epsilon);
}

void expect_finite(const Result& result) {
  for (const auto* values : {&result.f, &result.g}) {
    for (const double x : *values) ASSERT_TRUE(std::isfinite(x)) << x;
  }
}

void expect_all_near(const std::vector<double>& values, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t k = 0; k < values.size(); ++k) ASSERT_NEAR(values[k], expected[k], tolerance) << "at " << k;
}

// --- clients ---------------------------------------------------------------------------------------------------------

void expect_as_one_client(const OwnedProblem& owned) {
  const Result alone = solve(owned.view(), by_newton(1e-12));
  ASSERT_EQ(alone.status, Status::converged);
  ASSERT_GT(alone.iterations, 3) << "nothing to do";
  const std::vector<double> plan = testing::whole_plan(owned.view(), alone);
  // Where no allowed pairs connect two components, each may have a constant of its own in its potentials.
  const bool is_connected = std::none_of(owned.cost.begin(), owned.cost.end(), [](double c) { return std::isinf(c); });
  for (const std::string& topology : testing::topologies_in_step()) {
    for (const std::size_t clients : {1, 3, 7}) {
      SCOPED_TRACE(topology + ", clients " + std::to_string(clients));
      Options options = by_newton(1e-12);
      options.topology = topology;
      options.clients = clients;
      const Result result = solve(owned.view(), options);
      EXPECT_EQ(result.status, Status::converged);
      if (is_connected) {
        expect_all_near(result.f, alone.f, 1e-10);
        expect_all_near(result.g, alone.g, 1e-10);
      }
      EXPECT_LE(testing::l1_distance(testing::whole_plan(owned.view(), result), plan), 1e-9);
      // Sums in another order: a round more or less at each of the levels at most.
      EXPECT_NEAR(static_cast<double>(result.iterations), static_cast<double>(alone.iterations), 8);
    }
  }
}

TEST(NewtonOfClients, FindsWhatOneClientFinds) {
  for (const std::string_view family : {"clusters-2", "random", "separate"}) {
    for (const double epsilon : {1e-2, 1e-3}) {
      SCOPED_TRACE(label(family, epsilon));
      expect_as_one_client(testing::hard(family, 30, 23, epsilon, 2));
      expect_as_one_client(testing::hard(family, 12, 33, epsilon, 2));
    }
  }
}

TEST(NewtonOfClients, SomeOfThemMayHaveNoRowsOrNoColumns) {
  expect_as_one_client(testing::hard("square-2", 3, 20, 1e-2, 1));
  expect_as_one_client(testing::hard("square-2", 20, 3, 1e-2, 1));
  expect_as_one_client(testing::hard("square-2", 5, 4, 1e-2, 1));
  const OwnedProblem owned = testing::hard("square-2", 30, 23, 1e-2, 1);
  const Result alone = solve(owned.view(), by_newton(1e-12));
  for (const std::string& topology : testing::topologies_in_step()) {
    Options options = by_newton(1e-12);
    options.topology = topology;
    options.clients = 5;
    options.row_weights = {0, 3, 0, 1, 2};
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.status, Status::converged) << topology;
    expect_all_near(result.g, alone.g, 1e-10);
  }
}

// Grids of primes are one column wide, so these are the ones whose clients hold parts of rows.
TEST(NewtonOfClients, RowsMustBeHeldWhole) {
  const OwnedProblem owned = testing::hard("clusters-2", 30, 23, 1e-3, 2);
  for (const GridShape shape : {GridShape{1, 3}, {2, 2}, {3, 2}}) {
    Options options = by_newton();
    options.topology = "grid";
    options.grid = shape;
    options.clients = shape.rows * shape.columns;
    EXPECT_THROW((void)solve(owned.view(), options), InputError);
    options.method = "auto";
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.newton.steps, 0) << "it stays with acceleration";
    EXPECT_LT(result.error.b, 1e-3);
  }
}

TEST(NewtonOfClients, OnAnyNumberOfThreadsTheSameBits) {
  for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{150, 140}, {60, 300}}) {
    const OwnedProblem owned = testing::hard("clusters-8", n, m, 1e-3, 2);
    Options options = by_newton();
    const Result alone = solve(owned.view(), options);
    options.threads = 3;
    const Result several = solve(owned.view(), options);
    EXPECT_EQ(several.iterations, alone.iterations);
    EXPECT_EQ(several.f, alone.f);
    EXPECT_EQ(several.g, alone.g);
  }
}

// --- problems of all kinds -------------------------------------------------------------------------------------------

class NewtonOnFamilies : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Families, NewtonOnFamilies, ::testing::ValuesIn(hard_families()), testing::name_of_family);

TEST_P(NewtonOnFamilies, ConvergesAtEveryEpsilon) {
  for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{40, 40}, {31, 24}, {12, 70}}) {
    for (const double epsilon : {1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
      const OwnedProblem owned = testing::hard(GetParam(), n, m, epsilon, 5);
      const Result result = solve(owned.view(), by_newton());
      EXPECT_EQ(result.status, Status::converged) << n << " x " << m << ", epsilon " << epsilon;
      EXPECT_LE(testing::plan_error(testing::whole_plan(owned.view(), result), owned.a, owned.b), 1.1e-9)
          << n << " x " << m << ", epsilon " << epsilon;
    }
  }
}

TEST_P(NewtonOnFamilies, IsNotSlowerThanPlainSinkhorn) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const double epsilon : {1.0, 1e-1, 1e-2, 1e-3}) {
      for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{15, 15}, {6, 11}, {12, 5}}) {
        const OwnedProblem owned = testing::hard(GetParam(), n, m, epsilon, seed);
        Options plain = by_newton();
        plain.method = "sinkhorn";
        plain.max_iterations = 5000;
        const Result slow = solve(owned.view(), plain);
        if (slow.status != Status::converged) continue;
        const Result fast = solve(owned.view(), by_newton());
        EXPECT_EQ(fast.status, Status::converged);
        EXPECT_LE(fast.iterations, slow.iterations + 10)
            << n << " x " << m << ", epsilon " << epsilon << ", seed " << seed;
        EXPECT_NEAR(fast.cost.objective, slow.cost.objective, 1e-8);
      }
    }
  }
}

// Rows and columns without mass change nothing for the others.
TEST(Newton, ZeroMassesAreLeftOut) {
  for (const std::string_view family : {"clusters-2", "random", "line"}) {
    for (const double epsilon : {1e-2, 1e-3}) {
      SCOPED_TRACE(label(family, epsilon));
      const OwnedProblem owned = testing::hard(family, 20, 16, epsilon, 4);
      OwnedProblem larger{22, 19, 1, {}, {}, {}, epsilon};
      // Before, between and after the others.
      const auto is_new_row = [](std::size_t i) { return i == 0 || i == 10; };
      const auto is_new_column = [](std::size_t j) { return j == 3 || j == 4 || j == 18; };
      std::size_t old = 0;
      for (std::size_t i = 0; i < 22; ++i) {
        for (std::size_t j = 0; j < 19; ++j) {
          larger.cost.push_back(is_new_row(i) || is_new_column(j) ? 0.01 : owned.cost[old++]);
        }
      }
      old = 0;
      for (std::size_t i = 0; i < 22; ++i) larger.a.push_back(is_new_row(i) ? 0 : owned.a[old++]);
      old = 0;
      for (std::size_t j = 0; j < 19; ++j) larger.b.push_back(is_new_column(j) ? 0 : owned.b[old++]);
      const Result expected = solve(owned.view(), by_newton(1e-12));
      const Result result = solve(larger.view(), by_newton(1e-12));
      EXPECT_EQ(result.status, Status::converged);
      std::vector<double> f;
      std::vector<double> g;
      for (std::size_t i = 0; i < 22; ++i) {
        if (is_new_row(i)) {
          EXPECT_EQ(result.f[i], -testing::kInfinity);
        } else {
          f.push_back(result.f[i]);
        }
      }
      for (std::size_t j = 0; j < 19; ++j) {
        if (is_new_column(j)) {
          EXPECT_EQ(result.g[j], -testing::kInfinity);
        } else {
          g.push_back(result.g[j]);
        }
      }
      expect_all_near(f, expected.f, 1e-10);
      expect_all_near(g, expected.g, 1e-10);
    }
  }
}

// Zeros of one target alone stay within the kernel: the others need those columns.
TEST(Newton, SeveralTargetsWithZerosOfTheirOwn) {
  OwnedProblem owned = testing::hard("clusters-2", 20, 16, 1e-3, 4);
  owned.targets = 3;
  owned.b = testing::random_problem(20, 16, 1, 5, 3).b;
  for (std::size_t j = 0; j < 6; ++j) owned.b[3 * j + 1] = 0;
  owned.b[3 * 9 + 2] = 0;
  for (const std::size_t k : {1, 2}) testing::normalise(owned.b, k, 3);
  const Result result = solve(owned.view(), by_newton());
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(result.per_target[k].status, Status::converged) << "target " << k;
    std::vector<double> b;
    for (std::size_t j = 0; j < 16; ++j) b.push_back(owned.b[3 * j + k]);
    EXPECT_LE(testing::plan_error(testing::whole_plan(owned.view(), result, k), owned.a, b), 1.1e-9) << "target " << k;
  }
}

// A Laplacian with several components has as many null vectors, of which only one is known beforehand.
TEST(Newton, ForbiddenPairsThatLeaveSeveralComponents) {
  for (const double epsilon : {1e-1, 1e-3, 1e-5}) {
    SCOPED_TRACE(epsilon);
    const OwnedProblem owned = testing::hard("separate", 30, 24, epsilon, 6);
    const Result result = solve(owned.view(), by_newton(1e-11));
    EXPECT_EQ(result.status, Status::converged);
    expect_finite(result);
    // Nothing holds the constants of the components, but nothing should move them far either.
    for (const auto* values : {&result.f, &result.g}) {
      for (const double x : *values) EXPECT_LE(std::abs(x), 10);
    }
    const std::vector<double> plan = testing::whole_plan(owned.view(), result);
    for (std::size_t k = 0; k < plan.size(); ++k) {
      if (std::isinf(owned.cost[k])) {
        EXPECT_EQ(plan[k], 0);
      }
    }
    EXPECT_LE(testing::plan_error(plan, owned.a, owned.b), 2e-11);
  }
}

TEST(Newton, TrivialShapes) {
  for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{1, 1}, {1, 9}, {9, 1}, {2, 2}}) {
    const OwnedProblem owned = testing::random_problem(n, m, 1e-4, 3);
    const Result result = solve(owned.view(), by_newton());
    EXPECT_EQ(result.status, Status::converged) << n << " x " << m;
    expect_finite(result);
  }
}

TEST(Newton, ConstantCosts) {
  OwnedProblem owned = testing::random_problem(17, 13, 1e-3, 3);
  std::fill(owned.cost.begin(), owned.cost.end(), 0.5);
  const Result result = solve(owned.view(), by_newton());
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_LE(result.iterations, 10) << "one for each level, and no more";
}

// The same problem in other units.
TEST(Newton, UnitsDoNotMatter) {
  const OwnedProblem owned = testing::hard("clusters-2", 30, 24, 1e-3, 6);
  const Result expected = solve(owned.view(), by_newton());
  for (const double cost_unit : {0x1p-100, 0x1p100}) {
    for (const double mass_unit : {0x1p-200, 0x1p200}) {
      OwnedProblem other = owned;
      other.epsilon *= cost_unit;
      for (double& x : other.cost) x *= cost_unit;
      for (double& x : other.a) x *= mass_unit;
      for (double& x : other.b) x *= mass_unit;
      const Result result = solve(other.view(), by_newton());
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_EQ(result.iterations, expected.iterations);
    }
  }
}

// --- precision and kernels -------------------------------------------------------------------------------------------

struct Reduced {
  Precision precision;
  double tolerance;
};

TEST(NewtonInReducedPrecision, ConvergesAsFarAsThatAllows) {
  for (const auto& [precision, tolerance] : {Reduced{Precision::mixed, 1e-9}, Reduced{Precision::float32, 1e-5}}) {
    for (const KernelKind kernel : {KernelKind::dense, KernelKind::online}) {
      for (const std::string_view family : {"clusters-2", "square-2", "line", "separate", "wide-masses"}) {
        for (const double epsilon : {1e-1, 1e-2, 1e-3}) {
          for (const char* method : {"newton", "auto"}) {
            SCOPED_TRACE(label(family, epsilon) + ", " + std::string(name_of(precision)) + ", " + method);
            const OwnedProblem owned = testing::hard(family, 40, 31, epsilon, 7);
            Options options = by_newton(tolerance);
            options.method = method;
            options.precision = precision;
            options.kernel = kernel;
            const Result result = solve(owned.view(), options);
            EXPECT_EQ(result.status, Status::converged) << result.error.a << ' ' << result.error.b;
            expect_finite(result);
          }
        }
      }
    }
  }
}

TEST(Newton, KernelsAndPassesFindTheSame) {
  const OwnedProblem owned = testing::hard("clusters-8", 30, 41, 1e-3, 8);
  const Result expected = solve(owned.view(), by_newton(1e-11));
  for (const KernelKind kernel : {KernelKind::dense, KernelKind::online}) {
    for (const Passes passes : {Passes::fused, Passes::two}) {
      Options options = by_newton(1e-11);
      options.kernel = kernel;
      options.passes = passes;
      const Result result = solve(owned.view(), options);
      EXPECT_EQ(result.status, Status::converged);
      expect_all_near(result.f, expected.f, 1e-10);
    }
  }
}

// --- starts and ends -------------------------------------------------------------------------------------------------

TEST(NewtonWarmStart, FromTwiceTheEpsilonSavesRounds) {
  for (const std::string_view family : {"clusters-2", "random", "line", "blocks", "bridges"}) {
    for (const double epsilon : {1e-2, 1e-3, 1e-4}) {
      SCOPED_TRACE(label(family, epsilon));
      const OwnedProblem owned = testing::hard(family, 40, 31, epsilon, 9);
      Problem problem = owned.view();
      problem.epsilon = 2 * epsilon;
      const Result before = solve(problem, by_newton());
      problem.epsilon = epsilon;
      const Result cold = solve(problem, by_newton());
      problem.initial_g = {before.g.data(), before.g.size(), 1};
      const Result warm = solve(problem, by_newton());
      EXPECT_EQ(warm.status, Status::converged);
      EXPECT_LE(warm.iterations, cold.iterations + 5) << "no worse than none";
      EXPECT_NEAR(warm.cost.objective, cold.cost.objective, 1e-8);
    }
  }
}

TEST(NewtonWarmStart, FromTheSolutionIsAtTheEnd) {
  const OwnedProblem owned = testing::hard("clusters-2", 40, 31, 1e-3, 9);
  Problem problem = owned.view();
  const Result first = solve(problem, by_newton(1e-11));
  problem.initial_g = {first.g.data(), first.g.size(), 1};
  const Result again = solve(problem, by_newton());
  EXPECT_EQ(again.status, Status::converged);
  EXPECT_LE(again.iterations, 3);
}

void expect_no_harm(double epsilon, double size) {
  for (const std::string_view family : {"clusters-2", "random", "line"}) {
    for (const char* method : {"newton", "auto"}) {
      SCOPED_TRACE(label(family, epsilon) + ", " + method + ", size " + std::to_string(size));
      const OwnedProblem owned = testing::hard(family, 40, 31, epsilon, 9);
      Random random(2);
      std::vector<double> g(31);
      for (double& x : g) x = random.uniform(-size, size);
      Problem problem = owned.view();
      problem.initial_g = {g.data(), g.size(), 1};
      Options options = by_newton();
      options.method = method;
      const Result result = solve(problem, options);
      EXPECT_EQ(result.status, Status::converged) << result.error.a << ' ' << result.error.b;
    }
  }
}

TEST(NewtonWarmStart, AUselessOneDoesNoHarm) {
  for (const double epsilon : {1e-1, 1e-2, 1e-3}) {
    for (const double size : {1.0, 100.0}) expect_no_harm(epsilon, size);  // of the largest cost
  }
}

// Where there is no way without levels.
TEST(NewtonWarmStart, AUselessOneAtASmallEpsilonDoesNoHarm) {
  for (const double epsilon : {1e-4, 1e-5}) expect_no_harm(epsilon, 1);
}

// It goes on after it has arrived, and must not walk away.
TEST(NewtonEnds, WithToleranceZeroItStaysAtTheSolution) {
  for (const std::string_view family : {"clusters-2", "random", "wide-masses", "separate"}) {
    for (const double epsilon : {1e-1, 1e-2, 1e-3}) {
      SCOPED_TRACE(label(family, epsilon));
      const OwnedProblem owned = testing::hard(family, 30, 24, epsilon, 4);
      Options options = by_newton(0);
      options.max_iterations = 150;
      const Result result = solve(owned.view(), options);
      EXPECT_EQ(result.status, Status::iteration_limit);
      EXPECT_EQ(result.iterations, 150);
      expect_finite(result);
      EXPECT_LE(testing::plan_error(testing::whole_plan(owned.view(), result), owned.a, owned.b), 1e-11);
    }
  }
}

// However few rounds there are, the potentials are of the epsilon asked for, and their columns are right.
TEST(NewtonEnds, AtTheLimitOfIterations) {
  for (const char* method : {"newton", "auto"}) {
    for (const std::string_view family : hard_families()) {
      for (const double epsilon : {1e-1, 1e-3, 1e-6}) {
        for (const std::int64_t most : {1, 3, 5, 30}) {
          SCOPED_TRACE(label(family, epsilon) + ", " + method + ", " + std::to_string(most) + " iterations");
          const OwnedProblem owned = testing::hard(family, 30, 24, epsilon, 4);
          Options options = by_newton(1e-12);
          options.method = method;
          options.max_iterations = most;
          const Result result = solve(owned.view(), options);
          if (result.status == Status::converged) continue;
          EXPECT_EQ(result.status, Status::iteration_limit);
          EXPECT_EQ(result.iterations, most);
          expect_finite(result);
          EXPECT_LE(result.error.b, 1e-9);
          EXPECT_LE(result.error.a, 2);
          EXPECT_LE(result.cost.dual, result.cost.objective + 3);
          const std::vector<double> plan = testing::whole_plan(owned.view(), result);
          double sum = 0;
          for (const double p : plan) sum += p;
          EXPECT_NEAR(sum, 1, 1e-9);
        }
      }
    }
  }
}

TEST(NewtonEnds, NoLevelBeginsAfterTheLastIteration) {
  const OwnedProblem owned = testing::hard("clusters-2", 30, 24, 1e-3, 4);
  for (std::int64_t most = 1; most <= 12; ++most) {
    Options options = by_newton(0);
    options.max_iterations = most;
    EXPECT_EQ(solve(owned.view(), options).iterations, most);
  }
}

// A stop is asked for in a check, so just before a step is proposed: products with K are not numbers then.
TEST(NewtonEnds, WhenInterrupted) {
  std::atomic<bool> stop = false;
  const OwnedProblem owned = testing::hard("blocks", 30, 24, 1e-4, 4);
  std::vector<Options> ways(6, by_newton());
  ways[1].kernel = KernelKind::online;
  ways[2].passes = Passes::two;
  ways[3].topology = "row-reduce";
  ways[3].clients = 3;
  ways[4].topology = "star";
  ways[4].clients = 3;
  ways[5].method = "auto";
  for (Options options : ways) {
    for (const std::int64_t after : {1, 2, 3, 5, 8, 13, 21, 34}) {
      SCOPED_TRACE(options.method + ", " + options.topology + ", " + std::string(name_of(options.kernel)) + ", after " +
                   std::to_string(after));
      stop = false;
      options.interrupt = &stop;
      options.on_check = [&](const Progress& now) {
        if (now.iteration >= after) stop = true;
      };
      const Result result = solve(owned.view(), options);
      EXPECT_EQ(result.status, Status::interrupted);
      EXPECT_GE(result.iterations, after);
      EXPECT_LE(result.iterations, after + 2);
      expect_finite(result);
      EXPECT_LT(result.error.b, 1e-9);
      EXPECT_LT(result.error.a, 2);
    }
  }
}

// What it stood at is what a run that ends there has.
TEST(NewtonEnds, AnInterruptionIsLikeALimit) {
  std::atomic<bool> stop = false;
  const OwnedProblem owned = testing::hard("clusters-2", 30, 24, 0.06, 4);  // no levels
  for (const std::int64_t after : {1, 2, 4}) {
    stop = false;
    Options options = by_newton(0);
    options.interrupt = &stop;
    options.on_check = [&](const Progress& now) {
      if (now.iteration >= after) stop = true;
    };
    const Result stopped = solve(owned.view(), options);
    ASSERT_EQ(stopped.status, Status::interrupted);
    options = by_newton(0);
    options.max_iterations = stopped.iterations;
    const Result counted = solve(owned.view(), options);
    EXPECT_EQ(counted.f, stopped.f);
    EXPECT_EQ(counted.g, stopped.g);
  }
}

}  // namespace
}  // namespace fedsinkhorn
