// Every way of holding a kernel against sums written out by hand.
#include "backend/cpu/make_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "core/names.hpp"
#include "problem/checked_problem.hpp"
#include "support/kernels.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

double relative_tolerance(Precision precision) {
  switch (precision) {
    case Precision::float32: return 1e-4;
    case Precision::mixed: return 1e-6;
    default: return 1e-12;
  }
}

using KernelCase = std::tuple<KernelKind, Precision, std::size_t>;

class EveryKernel : public ::testing::TestWithParam<KernelCase> {};
INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel,
                         ::testing::Combine(::testing::Values(KernelKind::dense, KernelKind::online),
                                            ::testing::Values(Precision::float64, Precision::float32, Precision::mixed),
                                            ::testing::Values(1, 2, 3, 4, 17)),
                         [](const auto& info) {
                           return KernelName(std::get<0>(info.param)).text() + "_" +
                                  std::string(name_of(std::get<1>(info.param))) + "_" +
                                  std::to_string(std::get<2>(info.param));
                         });

TEST_P(EveryKernel, MatchesSumsByHand) {
  const auto [kind, precision, targets] = GetParam();
  for (const auto& [n, m] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {1, 40}, {37, 1}, {9, 300}, {70, 33}, {301, 257}}) {
    OwnedProblem owned = testing::random_problem(n, m, 0.3, 5 + n);
    if (n > 1 && m > 1) owned.cost[m + 1] = testing::kInfinity;
    const Problem problem = owned.view();
    const CheckedProblem checked = check_problem(problem, Feasibility::check, 1);
    const auto& simd = cpu::simd("auto");
    const auto cost = make_cost_source(checked.block(), simd);
    const auto kernel = testing::make_kernel(kind, {precision, owned.epsilon, 2}, checked.block(), *cost, simd);
    Random random(11);
    std::vector<double> phi(n);
    std::vector<double> psi(m);
    for (double& x : phi) x = random.uniform(-0.5, 0.5);
    for (double& x : psi) x = random.uniform(-0.5, 0.5);
    kernel->absorb(phi, psi);
    std::vector<double> v(targets * m);
    for (double& x : v) x = random.uniform(0.5, 2);
    std::vector<double> q(targets * n);
    std::vector<double> u(targets * n);
    std::vector<double> r(targets * m);
    kernel->fused(targets, {checked.a}, v.data(), q.data(), u.data(), r.data());

    std::vector<double> q_two(targets * n);
    std::vector<double> r_two(targets * m);
    kernel->apply(targets, v.data(), q_two.data());
    kernel->apply_transposed(targets, u.data(), r_two.data());

    std::vector<double> q_both(targets * n);
    std::vector<double> r_both(targets * m);
    kernel->products(targets, u.data(), v.data(), q_both.data(), r_both.data());
    for (std::size_t i = 0; i < q.size(); ++i) EXPECT_NEAR(q_both[i] / q_two[i], 1, relative_tolerance(precision));
    for (std::size_t j = 0; j < r.size(); ++j) EXPECT_NEAR(r_both[j] / r_two[j], 1, relative_tolerance(precision));

    const std::size_t columns = m;  // clang 14 cannot capture a structured binding
    const auto entry = [&](std::size_t i, std::size_t j) {
      return std::exp((phi[i] + psi[j] - owned.cost[i * columns + j]) / owned.epsilon);
    };
    const double tolerance = relative_tolerance(precision);
    for (std::size_t k = 0; k < targets; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < m; ++j) sum += entry(i, j) * v[k * m + j];
        EXPECT_NEAR(q[k * n + i] / sum, 1, tolerance);
        EXPECT_NEAR(q_two[k * n + i] / sum, 1, tolerance);
        EXPECT_NEAR(u[k * n + i] * sum / checked.a[i], 1, tolerance);
      }
      for (std::size_t j = 0; j < m; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += entry(i, j) * u[k * n + i];
        EXPECT_NEAR(r[k * m + j] / sum, 1, tolerance);
        EXPECT_NEAR(r_two[k * m + j] / sum, 1, tolerance);
      }
    }
  }
}

// Up to three targets; beyond, products are formed by OpenBLAS, which makes no such promise.
TEST(Threads, AnyNumberGivesTheSameBits) {
  const OwnedProblem owned = testing::random_problem(901, 611, 0.1, 2);
  const Problem problem = owned.view();
  const CheckedProblem checked = check_problem(problem, Feasibility::check, 1);
  const auto& simd = cpu::simd("auto");
  const auto cost = make_cost_source(checked.block(), simd);
  const std::size_t targets = 3;
  const std::vector<double> v(targets * checked.m(), 1.5);
  for (const KernelKind kind : {KernelKind::dense, KernelKind::online}) {
    for (const Precision precision : {Precision::float64, Precision::float32, Precision::mixed}) {
      std::vector<std::vector<double>> seen;
      for (const int threads : {1, 2, 3, 5}) {
        const auto kernel =
            testing::make_kernel(kind, {precision, owned.epsilon, threads}, checked.block(), *cost, simd);
        kernel->absorb(std::vector<double>(checked.n(), 0.1), std::vector<double>(checked.m(), 0.2));
        std::vector<double> q(targets * checked.n());
        std::vector<double> u(targets * checked.n());
        std::vector<double> r(targets * checked.m());
        kernel->fused(targets, {checked.a}, v.data(), q.data(), u.data(), r.data());
        std::vector<double> all = q;
        all.insert(all.end(), r.begin(), r.end());
        kernel->apply(targets, v.data(), q.data());
        kernel->apply_transposed(targets, u.data(), r.data());
        all.insert(all.end(), q.begin(), q.end());
        all.insert(all.end(), r.begin(), r.end());
        seen.push_back(all);
      }
      for (const auto& other : seen) EXPECT_EQ(other, seen.front());
    }
  }
}

// --- costs from points
// -------------------------------------------------------------------------------------------------

class EveryMetric : public ::testing::TestWithParam<Metric> {};
INSTANTIATE_TEST_SUITE_P(Metrics, EveryMetric,
                         ::testing::Values(Metric::sqeuclidean, Metric::euclidean, Metric::cosine),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(EveryMetric, MatchesTheDefinitionInAnyDimensionAndVariant) {
  for (const std::string& variant : cpu::simd_variants()) {
    for (const std::size_t d : {1U, 2U, 3U, 16U, 17U, 64U, 200U}) {
      Random random(d);
      const std::size_t n = 11;
      const std::size_t m = 37;
      std::vector<double> x(n * d);
      std::vector<double> y(m * d);
      // Far from the origin, where |x|^2 + |y|^2 - 2 x.y would lose its digits if the points were not centred.
      const double offset = GetParam() == Metric::cosine ? 0 : 100;
      for (double& c : x) c = offset + random.normal();
      for (double& c : y) c = offset + random.normal();
      Problem problem;
      problem.cost = PointClouds{MatrixView<double>{x.data(), n, d}, MatrixView<double>{y.data(), m, d}, GetParam()};
      problem.epsilon = 1;
      const CheckedProblem checked = check_problem(problem, Feasibility::check, 1);
      const auto cost = make_cost_source(checked.block(), cpu::simd(variant));
      std::vector<double> out(n * 48);
      cost->fill(0, n, 0, m, out.data(), 48);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < m; ++j) {
          long double squared = 0;
          long double product = 0;
          long double xx = 0;
          long double yy = 0;
          for (std::size_t k = 0; k < d; ++k) {
            const long double s = x[i * d + k];
            const long double t = y[j * d + k];
            squared += (s - t) * (s - t);
            product += s * t;
            xx += s * s;
            yy += t * t;
          }
          const long double exact = GetParam() == Metric::sqeuclidean ? squared
                                    : GetParam() == Metric::euclidean ? std::sqrt(squared)
                                                                      : 1 - product / std::sqrt(xx * yy);
          EXPECT_NEAR(out[i * 48 + j], static_cast<double>(exact), 1e-12 * (1 + static_cast<double>(exact)));
        }
      }
    }
  }
}

/// All costs between x and y, row by row.
std::vector<double> costs_between(const std::vector<double>& x, const std::vector<double>& y, std::size_t dimension,
                                  Metric metric, double epsilon, const cpu::Simd& simd) {
  const std::size_t n = x.size() / dimension;
  const std::size_t m = y.size() / dimension;
  Problem problem;
  problem.cost =
      PointClouds{MatrixView<double>{x.data(), n, dimension}, MatrixView<double>{y.data(), m, dimension}, metric};
  problem.epsilon = epsilon;
  const CheckedProblem checked = check_problem(problem, Feasibility::check, 1);
  std::vector<double> costs(n * m);
  read_rows(*make_cost_source(checked.block(), simd), {0, n}, 1, costs.data());
  return costs;
}

// In the plane a direction is an angle, and 1 - cos t = 2 sin^2(t / 2) loses no digits.
TEST(Points, CosinesOfNearlyParallelPointsKeepTheirDigits) {
  for (const std::string& variant : cpu::simd_variants()) {
    for (const std::size_t dimension : {2U, 22U}) {  // by differences, by products
      for (const double d : {1e-2, 1e-4, 1e-7, 1e-8, 1e-12, 1e-40}) {
        const std::vector<double> heights_x = {0, d, 3 * d};
        const std::vector<double> heights_y = {2 * d, -d};
        std::vector<double> x(3 * dimension);
        std::vector<double> y(2 * dimension);
        const double shrunk = 7e-170;  // of any length
        for (std::size_t i = 0; i < 3; ++i) {
          x[i * dimension] = shrunk;
          x[i * dimension + dimension - 1] = shrunk * heights_x[i];
        }
        for (std::size_t j = 0; j < 2; ++j) {
          y[j * dimension] = 3;
          y[j * dimension + dimension - 1] = 3 * heights_y[j];
        }
        const std::vector<double> costs = costs_between(x, y, dimension, Metric::cosine, d * d, cpu::simd(variant));
        for (std::size_t i = 0; i < 3; ++i) {
          for (std::size_t j = 0; j < 2; ++j) {
            const long double angle =
                std::atan2(static_cast<long double>(x[i * dimension + dimension - 1]), x[i * dimension]) -
                std::atan2(static_cast<long double>(y[j * dimension + dimension - 1]), y[j * dimension]);
            const auto exact = static_cast<double>(2 * std::sin(angle / 2) * std::sin(angle / 2));
            EXPECT_NEAR(costs[i * 2 + j], exact, 2e-11 * exact) << variant << ' ' << dimension << ' ' << d;
          }
        }
      }
    }
  }
}

TEST(Points, DistancesOfAnySizeHaveSquares) {
  for (const std::size_t dimension : {1U, 2U, 20U}) {
    for (const double size : {1e-305, 1e-163, 1e-120, 1.0, 1e120, 1e160, 1e289}) {
      std::vector<double> x(2 * dimension);
      std::vector<double> y(2 * dimension);
      x[0] = 3 * size;
      x[2 * dimension - 1] = -size;
      y[dimension - 1] = size;
      const std::vector<double> costs = costs_between(x, y, dimension, Metric::euclidean, size, cpu::simd("auto"));
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 2; ++j) {
          long double squares = 0;
          for (std::size_t k = 0; k < dimension; ++k) {
            const long double difference = static_cast<long double>(x[i * dimension + k]) - y[j * dimension + k];
            squares += difference * difference;
          }
          EXPECT_NEAR(costs[i * 2 + j] / size, static_cast<double>(std::sqrt(squares) / size), 1e-14)
              << dimension << ' ' << size;
        }
      }
    }
  }
}

TEST(Points, FarFromTheOriginBoundsAreThoseOfTheDistances) {
  const std::vector<double> x = {1e9, 1e9 + 1};
  const std::vector<double> y = {1e9 + 2, 1e9 - 1};
  Problem problem;
  problem.cost =
      PointClouds{MatrixView<double>{x.data(), 2, 1}, MatrixView<double>{y.data(), 2, 1}, Metric::sqeuclidean};
  problem.epsilon = 1;
  const CheckedProblem checked = check_problem(problem, Feasibility::check, 1);
  EXPECT_GE(checked.largest_cost, 4);
  EXPECT_LE(checked.largest_cost, 36);  // at most three times the largest distance
}

TEST(Points, DroppedRowsAndColumnsAreSkipped) {
  const std::vector<double> x = {0, 1, 2, 3};
  const std::vector<double> a = {0.5, 0, 0, 0.5};
  const std::vector<double> b = {0, 1, 0, 0};
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{x.data(), 4, 1}, MatrixView<double>{x.data(), 4, 1}, Metric::euclidean};
  problem.a = a;
  problem.b = {b.data(), 4, 1};
  problem.epsilon = 1;
  const CheckedProblem checked = check_problem(problem, Feasibility::check, 1);
  const auto cost = make_cost_source(checked.block(), cpu::simd("auto"));
  ASSERT_EQ(cost->rows(), 2U);
  ASSERT_EQ(cost->columns(), 1U);
  std::vector<double> out(32);
  cost->fill(0, 2, 0, 1, out.data(), 16);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[16], 2);
}

}  // namespace
}  // namespace fedsinkhorn
