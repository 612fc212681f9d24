// Gradients against differences of values of slightly different problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/divergence.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/gradients.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kRows = 9;
constexpr std::size_t kColumns = 7;
constexpr std::size_t kDimension = 3;

/// Points far from the origin, and one row without mass.
struct PointsOfProblem {
  std::vector<double> x, y, a, b;
  Metric metric = Metric::sqeuclidean;
  double epsilon = 0.3;

  explicit PointsOfProblem(Metric kind) : metric(kind) {
    Random random(5);
    for (std::size_t k = 0; k < kRows * kDimension; ++k) x.push_back(10 + random.uniform());
    for (std::size_t k = 0; k < kColumns * kDimension; ++k) y.push_back(10.3 + random.uniform());
    for (std::size_t i = 0; i < kRows; ++i) a.push_back(i == 4 ? 0 : 0.1 + random.uniform());
    for (std::size_t j = 0; j < kColumns; ++j) b.push_back(0.1 + random.uniform());
    testing::normalise(a);
    testing::normalise(b);
    if (kind == Metric::cosine) epsilon = 1e-3;
  }
  [[nodiscard]] Problem view() const {
    Problem problem;
    problem.cost = PointClouds{MatrixView<double>{x.data(), kRows, kDimension},
                               MatrixView<double>{y.data(), kColumns, kDimension}, metric};
    problem.a = a;
    problem.b = {b.data(), kColumns, 1};
    problem.epsilon = epsilon;
    return problem;
  }
};

Options to_the_last_digit() {
  Options options;
  options.tolerance = 1e-13;
  return options;
}

double value_of(const PointsOfProblem& points) { return solve(points.view(), to_the_last_digit()).cost.kl_objective; }
double divergence_of(const PointsOfProblem& points) { return divergence(points.view(), to_the_last_digit()).value; }

/// (value(+h) - value(-h)) / 2h, corrected by one step of Richardson's.
template <class Value, class Move>
double difference_quotient(const PointsOfProblem& points, const Value& value, const Move& move, double h) {
  const auto quotient = [&](double step) {
    PointsOfProblem plus = points;
    PointsOfProblem minus = points;
    move(plus, step);
    move(minus, -step);
    return (value(plus) - value(minus)) / (2 * step);
  };
  return (4 * quotient(h) - quotient(2 * h)) / 3;
}

template <class Value>
void expect_point_gradients(const PointsOfProblem& points, const PointGradients& gradients, const Value& value) {
  double largest = 0;
  for (const double g : gradients.x) largest = std::max(largest, std::abs(g));
  const double h = points.metric == Metric::cosine ? 1e-3 : 1e-4;
  for (std::size_t k = 0; k < points.x.size(); ++k) {
    const auto move = [k](PointsOfProblem& moved, double by) { moved.x[k] += by; };
    EXPECT_NEAR(gradients.x[k], difference_quotient(points, value, move, h), 1e-6 * largest) << k;
  }
  for (std::size_t k = 0; k < points.y.size(); ++k) {
    const auto move = [k](PointsOfProblem& moved, double by) { moved.y[k] += by; };
    EXPECT_NEAR(gradients.y[k], difference_quotient(points, value, move, h), 1e-6 * largest) << k;
  }
}

TEST(Gradients, OfPointsAreDifferencesOfValues) {
  for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::cosine}) {
    const PointsOfProblem points(metric);
    const Problem problem = points.view();
    const Result result = solve(problem, to_the_last_digit());
    expect_point_gradients(points, point_gradients(problem, result), value_of);
  }
}

TEST(Gradients, OfTheDivergenceLikewise) {
  const PointsOfProblem points(Metric::sqeuclidean);
  const Problem problem = points.view();
  const Divergence result = divergence(problem, to_the_last_digit());
  expect_point_gradients(points, point_gradients(problem, result), divergence_of);
}

/// Mass moves from one line to another; line 4 has none and can only get some.
template <class Value>
void expect_mass_gradients(const PointsOfProblem& points, const MassGradients& gradients, const Value& value) {
  for (std::size_t i = 1; i < kRows; ++i) {
    if (i == 4) continue;
    const auto move = [i](PointsOfProblem& moved, double by) {
      moved.a[i] += by;
      moved.a[0] -= by;
    };
    EXPECT_NEAR(gradients.a[i] - gradients.a[0], difference_quotient(points, value, move, 1e-4), 1e-6) << i;
  }
  for (std::size_t j = 1; j < kColumns; ++j) {
    const auto move = [j](PointsOfProblem& moved, double by) {
      moved.b[j] += by;
      moved.b[0] -= by;
    };
    EXPECT_NEAR(gradients.b[j] - gradients.b[0], difference_quotient(points, value, move, 1e-4), 1e-6) << j;
  }
  PointsOfProblem some = points;
  constexpr double h = 1e-6;
  some.a[4] += h;
  some.a[0] -= h;
  EXPECT_NEAR(gradients.a[4] - gradients.a[0], (value(some) - value(points)) / h, 1e-3);
}

TEST(Gradients, OfMassesAreDifferencesOfValues) {
  const PointsOfProblem points(Metric::sqeuclidean);
  const Problem problem = points.view();
  expect_mass_gradients(points, mass_gradients(problem, solve(problem, to_the_last_digit())), value_of);
  expect_mass_gradients(points, mass_gradients(problem, divergence(problem, to_the_last_digit())), divergence_of);
}

// All totals are allowed; each mass may change by itself.
TEST(Gradients, OfNormalisedMassesAreDifferencesOfValues) {
  PointsOfProblem points(Metric::sqeuclidean);
  for (double& mass : points.a) mass *= 7;
  for (double& mass : points.b) mass *= 0.3;
  Options options = to_the_last_digit();
  options.normalize = true;
  const Problem problem = points.view();
  const auto check = [&](const MassGradients& gradients, const auto& value) {
    for (std::size_t i = 0; i < kRows; ++i) {
      if (i == 4) continue;
      const auto move = [i](PointsOfProblem& moved, double by) { moved.a[i] += by; };
      EXPECT_NEAR(gradients.a[i], difference_quotient(points, value, move, 1e-3), 1e-6) << i;
    }
    for (std::size_t j = 0; j < kColumns; ++j) {
      const auto move = [j](PointsOfProblem& moved, double by) { moved.b[j] += by; };
      EXPECT_NEAR(gradients.b[j], difference_quotient(points, value, move, 1e-4), 1e-6) << j;
    }
  };
  check(mass_gradients(problem, solve(problem, options)),
        [&](const PointsOfProblem& other) { return solve(other.view(), options).cost.kl_objective; });
  check(mass_gradients(problem, divergence(problem, options)),
        [&](const PointsOfProblem& other) { return divergence(other.view(), options).value; });
}

TEST(Gradients, OfMassesSumToZeroAndAreInfiniteWhereNothingIsAllowed) {
  testing::OwnedProblem owned = testing::random_problem(6, 5, 0.1, 3);
  owned.a[2] = 0;
  testing::normalise(owned.a);
  for (std::size_t j = 0; j < 5; ++j) owned.cost[2 * 5 + j] = testing::kInfinity;
  const Problem problem = owned.view();
  const MassGradients gradients = mass_gradients(problem, solve(problem));
  double total = 0;
  for (std::size_t i = 0; i < 6; ++i) total += i == 2 ? 0 : gradients.a[i];
  EXPECT_NEAR(total, 0, 1e-14);
  EXPECT_EQ(gradients.a[2], testing::kInfinity);
}

TEST(ExtendedRows, OfTheSolveItselfHaveItsConditionalPlan) {
  const testing::OwnedProblem owned = testing::random_problem(8, 6, 0.05, 9);
  const Problem problem = owned.view();
  const Result result = solve(problem, to_the_last_digit());
  const Result extended = extend_rows(problem, result);
  std::vector<double> plan(8 * 6);
  std::vector<double> other(8 * 6);
  Plan(problem, result).rows(0, 8, 0, plan);
  Plan(problem, extended).rows(0, 8, 0, other);
  for (std::size_t k = 0; k < plan.size(); ++k) EXPECT_NEAR(plan[k] / owned.a[k / 6], other[k] * 8, 1e-11);
}

TEST(ExtendedRows, NeedTheColumnsOfTheSolve) {
  const testing::OwnedProblem owned = testing::random_problem(8, 6, 0.05, 9);
  const testing::OwnedProblem other = testing::random_problem(8, 7, 0.05, 9);
  const Result result = solve(owned.view());
  EXPECT_THROW((void)extend_rows(other.view(), result), InputError);
  const PointsOfProblem points(Metric::sqeuclidean);
  Problem flat = points.view();
  const Result of_points = solve(flat);
  std::get<PointClouds>(flat.cost).x = MatrixView<double>{points.x.data(), kRows, kDimension - 1};
  EXPECT_THROW((void)extend_rows(flat, of_points), InputError);
}

TEST(ExtendedRows, KeepTheirMassesFarFromAllColumns) {
  const PointsOfProblem points(Metric::sqeuclidean);
  Problem problem = points.view();
  const Result result = solve(problem, to_the_last_digit());
  const std::vector<double> far = {1e5, 2e5, -3e5, 10, 11, 1e6};
  std::get<PointClouds>(problem.cost).x = MatrixView<double>{far.data(), 2, kDimension};
  const Result extended = extend_rows(problem, result);
  std::vector<double> plan(2 * kColumns);
  Plan(problem, extended).rows(0, 2, 0, plan);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto row = plan.begin() + static_cast<std::ptrdiff_t>(i * kColumns);
    EXPECT_NEAR(std::accumulate(row, row + kColumns, 0.0), 0.5, 1e-13);
  }
}

TEST(ExtendedRows, AreCheckedLikeThoseOfASolve) {
  const testing::OwnedProblem owned = testing::random_problem(8, 6, 0.05, 9);
  const Result result = solve(owned.view());
  for (const double bad : {std::nan(""), -testing::kInfinity}) {
    testing::OwnedProblem other = owned;
    other.cost[20] = bad;
    EXPECT_THROW((void)extend_rows(other.view(), result), InputError) << bad;
  }
  testing::OwnedProblem forbidden = owned;
  std::fill_n(forbidden.cost.begin() + 6, 6, testing::kInfinity);
  EXPECT_THROW((void)extend_rows(forbidden.view(), result), InputError);
  Problem tiny = owned.view();
  tiny.epsilon = 1e-30;
  EXPECT_THROW((void)extend_rows(tiny, result), InputError);
}

TEST(Divergence, OfPrivateRunsIsRefused) {
  const PointsOfProblem points(Metric::sqeuclidean);
  Options options;
  options.policy = "private";
  EXPECT_THROW((void)divergence(points.view(), options), InputError);
}

TEST(Divergence, IsZeroForEqualCloudsAndPositiveForOthers) {
  PointsOfProblem points(Metric::sqeuclidean);
  EXPECT_GT(divergence_of(points), 0);
  Problem same = points.view();
  same.cost = PointClouds{MatrixView<double>{points.x.data(), kRows, kDimension},
                          MatrixView<double>{points.x.data(), kRows, kDimension}, Metric::sqeuclidean};
  same.b = {points.a.data(), kRows, 1};
  EXPECT_NEAR(divergence(same).value, 0, 1e-9);
}

TEST(Divergence, NeedsPointsAndOneTarget) {
  const testing::OwnedProblem owned = testing::random_problem(6, 5, 0.1, 3);
  EXPECT_THROW((void)divergence(owned.view()), InputError);
  const PointsOfProblem points(Metric::sqeuclidean);
  Problem problem = points.view();
  const std::vector<double> two(2 * kColumns, 1.0 / kColumns);
  problem.b = {two.data(), kColumns, 2};
  EXPECT_THROW((void)divergence(problem), InputError);
}

}  // namespace
}  // namespace fedsinkhorn
