// Products with a plan that is never stored, against the plan itself.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

/// Not square, two targets, rows and columns without mass, some in one target alone, and forbidden pairs.
OwnedProblem problem_with_gaps() {
  OwnedProblem owned = testing::random_problem(45, 70, 0.02, 11, 2);
  owned.a[0] = owned.a[44] = 0;
  owned.b[2 * 17] = owned.b[2 * 17 + 1] = 0;
  owned.b[2 * 30 + 1] = 0;
  owned.cost[5 * owned.m + 9] = owned.cost[6 * owned.m] = testing::kInfinity;
  testing::normalise(owned.a);
  for (std::size_t k = 0; k < 2; ++k) testing::normalise(owned.b, k, 2);
  return owned;
}

std::vector<double> random_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = 2 * random.uniform() - 1;
  return values;
}

std::vector<double> obvious_product(const std::vector<double>& plan, std::size_t n, std::size_t m,
                                    const std::vector<double>& values, std::size_t width) {
  std::vector<double> out(n * width);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t c = 0; c < width; ++c) out[i * width + c] += plan[i * m + j] * values[j * width + c];
    }
  }
  return out;
}

std::vector<double> transposed_of(const std::vector<double>& plan, std::size_t n, std::size_t m) {
  std::vector<double> out(n * m);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) out[j * n + i] = plan[i * m + j];
  }
  return out;
}

TEST(PlanProducts, AreThoseOfTheStoredPlan) {
  const OwnedProblem owned = problem_with_gaps();
  const Problem problem = owned.view();
  const Result result = solve(problem);
  for (std::size_t target = 0; target < 2; ++target) {
    const std::vector<double> plan = testing::whole_plan(problem, result, target);
    for (const std::size_t width : {1, 3}) {
      const std::vector<double> right = random_values(owned.m * width, 1);
      const std::vector<double> left = random_values(owned.n * width, 2);
      const Plan lazy(problem, result, 2);
      std::vector<double> out(owned.n * width);
      lazy.apply({right.data(), owned.m, width}, target, out);
      EXPECT_LT(testing::largest_difference(out, obvious_product(plan, owned.n, owned.m, right, width)), 1e-15);
      std::vector<double> back(owned.m * width);
      lazy.apply_transposed({left.data(), owned.n, width}, target, back);
      const std::vector<double> turned = transposed_of(plan, owned.n, owned.m);
      EXPECT_LT(testing::largest_difference(back, obvious_product(turned, owned.m, owned.n, left, width)), 1e-15);
    }
  }
}

TEST(PlanProducts, TheNumberOfThreadsChangesNoBits) {
  const OwnedProblem owned = problem_with_gaps();
  const Problem problem = owned.view();
  const Result result = solve(problem);
  const std::vector<double> left = random_values(owned.n * 2, 3);
  std::vector<double> first(owned.m * 2);
  Plan(problem, result, 1).apply_transposed({left.data(), owned.n, 2}, 0, first);
  for (const int threads : {2, 3, 7}) {
    std::vector<double> other(owned.m * 2);
    Plan(problem, result, threads).apply_transposed({left.data(), owned.n, 2}, 0, other);
    EXPECT_EQ(first, other);
  }
}

TEST(PlanProducts, BarycentresAreMeansAndUndefinedWithoutMass) {
  const OwnedProblem owned = problem_with_gaps();
  const Problem problem = owned.view();
  const Result result = solve(problem);
  const std::vector<double> plan = testing::whole_plan(problem, result);
  const std::vector<double> values = random_values(owned.m, 4);
  std::vector<double> means(owned.n);
  Plan(problem, result, 1).barycentric({values.data(), owned.m, 1}, 0, means);
  for (std::size_t i = 0; i < owned.n; ++i) {
    if (owned.a[i] == 0) {
      EXPECT_TRUE(std::isnan(means[i]));
      continue;
    }
    double mass = 0;
    double sum = 0;
    for (std::size_t j = 0; j < owned.m; ++j) {
      mass += plan[i * owned.m + j];
      sum += plan[i * owned.m + j] * values[j];
    }
    EXPECT_NEAR(means[i], sum / mass, 1e-13);
  }
}

TEST(PlanProducts, WorkOnTheRowsOfOneClient) {
  const OwnedProblem owned = testing::random_problem(20, 15, 0.05, 5);
  const Problem problem = owned.view();
  Result result = solve(problem);
  const std::vector<double> plan = testing::whole_plan(problem, result);
  result.first_row = 12;
  for (auto* values : {&result.f, &result.f_rest}) values->erase(values->begin(), values->begin() + 12);
  const std::vector<double> ones(15, 1.0);
  std::vector<double> sums(8);
  Plan(problem, result, 1).apply({ones.data(), 15, 1}, 0, sums);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(sums[i], owned.a[12 + i], 1e-9);
}

// Masses whose kernel entries would not fit into a double.
TEST(PlanProducts, OfTinyMasses) {
  OwnedProblem owned = testing::random_problem(12, 9, 0.1, 6);
  for (double& mass : owned.a) mass *= 1e-305;
  for (double& mass : owned.b) mass *= 1e-305;
  const Problem problem = owned.view();
  const Result result = solve(problem);
  const std::vector<double> ones(9, 1.0);
  std::vector<double> sums(12);
  Plan(problem, result, 1).apply({ones.data(), 9, 1}, 0, sums);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(sums[i] / owned.a[i], 1, 1e-6);
}

TEST(PlanProducts, WrongShapesAreRefused) {
  const OwnedProblem owned = testing::random_problem(4, 3, 0.1, 7);
  const Problem problem = owned.view();
  const Result result = solve(problem);
  const Plan plan(problem, result, 1);
  const std::vector<double> values(4);
  std::vector<double> out(4);
  EXPECT_THROW(plan.apply({values.data(), 4, 1}, 0, out), InputError);
  EXPECT_THROW(plan.apply({values.data(), 3, 1}, 1, out), InputError);
  EXPECT_THROW(plan.apply({values.data(), 3, 1}, 0, std::span(out).first(3)), InputError);
  EXPECT_THROW(plan.apply_transposed({values.data(), 3, 1}, 0, out), InputError);
}

}  // namespace
}  // namespace fedsinkhorn
