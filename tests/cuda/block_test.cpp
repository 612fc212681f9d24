// Every verb of a block on the device against the same block on the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cuda/on_the_device.hpp"
#include "registry/registry.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using CudaBlock = testing::OnTheDevice;

/// Relative to the largest, which is what sums of positive numbers are accurate to.
void expect_close(const std::vector<double>& x, const std::vector<double>& y, double tolerance, const char* what) {
  ASSERT_EQ(x.size(), y.size()) << what;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (std::isinf(y[k])) {
      ASSERT_EQ(x[k], y[k]) << what << " at " << k;
    } else {
      ASSERT_NEAR(x[k], y[k], tolerance * (std::abs(y[k]) + 1e-300)) << what << " at " << k;
    }
  }
}

struct Case {
  Problem problem;
  std::size_t rows;
  std::size_t columns;
  double epsilon = 0.1;
  KernelKind kind = KernelKind::dense;
  Precision precision = Precision::float64;
  Precision reference = Precision::float64;
  std::size_t targets = 1;
  double tolerance = 1e-12;
};

std::vector<double> random_numbers(std::size_t count, std::uint64_t seed, double low, double high) {
  Random random(seed);
  std::vector<double> numbers(count);
  for (double& x : numbers) x = low + (high - low) * random.uniform();
  return numbers;
}

void compare(const Case& test) {
  const std::size_t n = test.rows;
  const std::size_t m = test.columns;
  const std::size_t targets = test.targets;
  CostBlock costs;
  costs.costs = make_cost_input(test.problem.cost);
  for (std::size_t i = 0; i < n; ++i) costs.rows.push_back(i);
  for (std::size_t j = 0; j < m; ++j) costs.columns.push_back(j);
  const cpu::Simd& simd = cpu::simd("auto");
  const auto make = [&](const char* backend, Precision precision) {
    MakeBlock* make_block = kernels().find(KernelName(test.kind).text(), "--kernel").on(backend)->make;
    return make_block(costs, {{precision, test.epsilon, 2}, simd, make_block, make_block, 0, targets});
  };
  const auto device = make("cuda", test.precision);
  const auto cpu = make("cpu", test.reference);

  // Potentials such that K is the density of a plan: a round in logs.
  const std::vector<double> a = random_numbers(n, 1, 0.1, 1);
  std::vector<double> log_a(n);
  for (std::size_t i = 0; i < n; ++i) log_a[i] = std::log(a[i]);
  std::vector<double> phi(n);
  std::vector<double> psi = random_numbers(m, 2, -0.1, 0.1);
  std::vector<double> row_sums(n);
  std::vector<double> expected_row_sums(n);
  device->row_log_sums(psi, row_sums);
  cpu->row_log_sums(psi, expected_row_sums);
  expect_close(row_sums, expected_row_sums, 1e-13, "row log sums");
  for (std::size_t i = 0; i < n; ++i) phi[i] = -test.epsilon * expected_row_sums[i];
  std::vector<double> column_sums(m);
  std::vector<double> expected_column_sums(m);
  device->column_log_sums(phi, log_a, column_sums);
  cpu->column_log_sums(phi, log_a, expected_column_sums);
  for (std::size_t j = 0; j < m; ++j) ASSERT_NEAR(column_sums[j], expected_column_sums[j], 1e-12) << j;
  for (std::size_t j = 0; j < m; ++j) psi[j] = -test.epsilon * expected_column_sums[j];

  device->absorb(phi, psi);
  cpu->absorb(phi, psi);
  const std::vector<double> v = random_numbers(targets * m, 3, 0.1, 2);
  const std::vector<double> u = random_numbers(targets * n, 4, 0.1, 2);
  std::vector<double> q(targets * n);
  std::vector<double> r(targets * m);
  std::vector<double> expected_q(targets * n);
  std::vector<double> expected_r(targets * m);
  device->apply(targets, v.data(), q.data());
  cpu->apply(targets, v.data(), expected_q.data());
  expect_close(q, expected_q, test.tolerance, "q");
  device->apply_transposed(targets, u.data(), r.data());
  cpu->apply_transposed(targets, u.data(), expected_r.data());
  expect_close(r, expected_r, test.tolerance, "r");

  std::vector<double> scalings(targets * n);
  std::vector<double> expected_scalings(targets * n);
  device->fused(targets, {a}, v.data(), q.data(), scalings.data(), r.data());
  cpu->fused(targets, {a}, v.data(), expected_q.data(), expected_scalings.data(), expected_r.data());
  expect_close(q, expected_q, test.tolerance, "fused q");
  expect_close(scalings, expected_scalings, test.tolerance, "fused u");
  expect_close(r, expected_r, test.tolerance, "fused r");

  device->weighted(u.data(), v.data(), r.data());
  cpu->weighted(u.data(), v.data(), expected_r.data());
  expect_close({r.begin(), r.begin() + static_cast<std::ptrdiff_t>(m)},
               {expected_r.begin(), expected_r.begin() + static_cast<std::ptrdiff_t>(m)}, 2 * test.tolerance,
               "weighted");
  const std::size_t first = n / 3;
  std::vector<double> rows((n - first) * m);
  std::vector<double> expected_rows((n - first) * m);
  device->copy_rows(first, n - first, rows.data());
  cpu->copy_rows(first, n - first, expected_rows.data());
  // The CPU stores what is below 2e-300, or 2e-38, as 0.
  for (std::size_t k = 0; k < rows.size(); ++k) ASSERT_NEAR(rows[k], expected_rows[k], 1e-37 + 1e-6 * rows[k]) << k;

  const std::vector<PlanSums> plans = device->plan_sums(phi, psi, targets, u.data(), v.data());
  const std::vector<PlanSums> expected_plans = cpu->plan_sums(phi, psi, targets, u.data(), v.data());
  ASSERT_EQ(plans.size(), expected_plans.size());
  for (std::size_t k = 0; k < targets; ++k) {
    expect_close(plans[k].rows, expected_plans[k].rows, 1e-12, "plan rows");
    expect_close(plans[k].columns, expected_plans[k].columns, 1e-12, "plan columns");
    const auto expect_near = [](const ExactSum& sum, const ExactSum& expected) {
      EXPECT_NEAR(sum.total(), expected.total(), 1e-10 * (1 + std::abs(expected.total())));
    };
    expect_near(plans[k].logarithm, expected_plans[k].logarithm);
    expect_near(plans[k].cost, expected_plans[k].cost);
    expect_near(plans[k].divergence, expected_plans[k].divergence);
  }
}

TEST_F(CudaBlock, MatricesOfEveryShape) {
  for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{1, 1},
                             {1, 9},
                             {9, 1},
                             {64, 64},
                             {65, 127},
                             {300, 211},
                             {5000, 70},
                             {70, 9000}}) {
    SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(m));
    const testing::OwnedProblem owned = testing::random_problem(n, m, 0.1, n + m);
    compare({owned.view(), n, m});
  }
}

TEST_F(CudaBlock, ForbiddenPairs) {
  testing::OwnedProblem owned = testing::random_problem(130, 170, 0.1, 5);
  for (std::size_t k = 0; k < owned.cost.size(); k += 3) owned.cost[k] = testing::kInfinity;
  compare({owned.view(), 130, 170});
}

TEST_F(CudaBlock, SmallEpsilon) {
  const testing::OwnedProblem owned = testing::point_problem(200, 150, 1e-3, 6);
  compare({owned.view(), 200, 150, 1e-3, KernelKind::dense, Precision::float64, Precision::float64, 1, 1e-11});
}

TEST_F(CudaBlock, EveryStorage) {
  const testing::OwnedProblem owned = testing::random_problem(150, 333, 0.1, 7);
  for (const std::size_t targets : {1, 2, 5}) {
    SCOPED_TRACE("targets " + std::to_string(targets));
    using enum Precision;
    compare({owned.view(), 150, 333, 0.1, KernelKind::dense, float64, float64, targets, 1e-12});
    compare({owned.view(), 150, 333, 0.1, KernelKind::dense, mixed, mixed, targets, 1e-7});
    compare({owned.view(), 150, 333, 0.1, KernelKind::dense, float32, float32, targets, 1e-5});
    compare({owned.view(), 150, 333, 0.1, KernelKind::dense, bfloat16, float64, targets, 1e-2});
  }
}

TEST_F(CudaBlock, CostsGivenAsFloat32) {
  testing::OwnedProblem owned = testing::random_problem(90, 70, 0.1, 8);
  const std::vector<float> narrow(owned.cost.begin(), owned.cost.end());
  Problem problem = owned.view();
  problem.cost = CostMatrix{MatrixView<float>{narrow.data(), 90, 70}};
  compare({problem, 90, 70});
}

TEST_F(CudaBlock, PointsOfEveryMetricAndDimension) {
  const std::size_t n = 150;
  const std::size_t m = 211;
  for (const std::size_t dimension : {1, 2, 3, 16, 17, 64, 200}) {
    const double width = 1 / std::sqrt(static_cast<double>(dimension));
    const std::vector<double> x = random_numbers(n * dimension, 11, 0, width);
    const std::vector<double> y = random_numbers(m * dimension, 12, 0, width);
    for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::cosine}) {
      SCOPED_TRACE("dimension " + std::to_string(dimension) + ", metric " + std::to_string(static_cast<int>(metric)));
      Problem problem;
      problem.cost =
          PointClouds{MatrixView<double>{x.data(), n, dimension}, MatrixView<double>{y.data(), m, dimension}, metric};
      using enum Precision;
      compare({problem, n, m, 0.05, KernelKind::dense, float64, float64, 1, 1e-12});
      compare({problem, n, m, 0.05, KernelKind::online, float64, float64, 2, 1e-12});
      compare({problem, n, m, 0.05, KernelKind::online, float32, float64, 1, 2e-5});
      compare({problem, n, m, 0.05, KernelKind::online, tf32, float64, 3, 5e-2});
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
