// Costs in the memory of a device, and plans that are computed there, against the same on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cuda/on_the_device.hpp"
#include "device/transfer.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/gradients.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

using DeviceCosts = testing::OnTheDevice;
using PlanOnDevice = testing::OnTheDevice;

/// The costs of a problem on device 0.
template <class T>
class CostsThere {
 public:
  explicit CostsThere(const OwnedProblem& owned)
      : buffer_(cuda::on_device(std::vector<T>(owned.cost.begin(), owned.cost.end()))), n_(owned.n), m_(owned.m) {}

  [[nodiscard]] Problem given(Problem problem) const {
    problem.cost = DeviceCostMatrix{MatrixView<T>{buffer_.data(), n_, m_}, 0};
    return problem;
  }

 private:
  cuda::DeviceBuffer<T> buffer_;
  std::size_t n_, m_;
};

Options on(const std::string& backend) {
  Options options;
  options.backend = backend;
  options.threads = 2;
  return options;
}

/// Lines without mass, so that the block is not the whole matrix.
void add_gaps(OwnedProblem& owned) {
  owned.a[3] = owned.a[owned.n - 1] = 0;
  owned.b[owned.targets * 2] = 0;
  testing::normalise(owned.a);
  for (std::size_t k = 0; k < owned.targets; ++k) testing::normalise(owned.b, k, owned.targets);
}

void expect_same(const Result& result, const Result& expected) {
  EXPECT_EQ(result.backend, expected.backend);
  EXPECT_EQ(result.status, expected.status);
  EXPECT_EQ(result.iterations, expected.iterations);
  EXPECT_EQ(result.f, expected.f);
  EXPECT_EQ(result.g, expected.g);
  EXPECT_EQ(result.cost.linear, expected.cost.linear);
}

TEST_F(DeviceCosts, GiveTheSameBitsAsCostsOnTheHost) {
  for (const bool has_gaps : {false, true}) {
    for (const std::string backend : {"cuda", "cpu"}) {
      OwnedProblem owned = testing::random_problem(170, 130, 0.02, 5);
      if (has_gaps) add_gaps(owned);
      const CostsThere<double> there(owned);
      expect_same(solve(there.given(owned.view()), on(backend)), solve(owned.view(), on(backend)));
    }
  }
}

TEST_F(DeviceCosts, MayBeFloat32) {
  OwnedProblem owned = testing::random_problem(90, 120, 0.05, 6);
  const std::vector<float> rounded(owned.cost.begin(), owned.cost.end());
  Problem on_host = owned.view();
  on_host.cost = CostMatrix{MatrixView<float>{rounded.data(), owned.n, owned.m}};
  const CostsThere<float> there(owned);
  expect_same(solve(there.given(owned.view()), on("cuda")), solve(on_host, on("cuda")));
}

TEST_F(DeviceCosts, AreCutForClients) {
  OwnedProblem owned = testing::random_problem(64, 64, 0.05, 7);
  for (std::size_t i = 0; i < owned.n; ++i) {
    for (std::size_t j = 0; j < i; ++j) owned.cost[i * owned.m + j] = owned.cost[j * owned.m + i];
  }
  const CostsThere<double> there(owned);
  for (const std::string topology : {"all-to-all", "star", "row-reduce", "grid"}) {
    Options options = on("cuda");
    options.topology = topology;
    options.clients = 3;
    expect_same(solve(there.given(owned.view()), options), solve(owned.view(), options));
  }
}

TEST_F(DeviceCosts, WithForbiddenPairsAreCheckedLikeOthers) {
  OwnedProblem owned = testing::random_problem(40, 50, 0.1, 8);
  owned.cost[7] = owned.cost[3 * owned.m + 2] = testing::kInfinity;
  const CostsThere<double> there(owned);
  expect_same(solve(there.given(owned.view()), on("cuda")), solve(owned.view(), on("cuda")));
  for (std::size_t j = 0; j < owned.m; ++j) owned.cost[j] = testing::kInfinity;
  const CostsThere<double> without_a_row(owned);
  EXPECT_THROW((void)solve(without_a_row.given(owned.view()), on("cuda")), InputError);
}

TEST_F(DeviceCosts, ThatAreBadAreNamedByTheirPlace) {
  OwnedProblem owned = testing::random_problem(300, 70, 0.1, 9);
  owned.cost[200 * owned.m + 3] = std::numeric_limits<double>::quiet_NaN();
  owned.cost[100 * owned.m + 64] = -testing::kInfinity;
  const auto message = [](const Problem& problem) -> std::string {
    try {
      (void)solve(problem, on("cuda"));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const CostsThere<double> there(owned);
  EXPECT_EQ(message(there.given(owned.view())), message(owned.view()));
  EXPECT_NE(message(owned.view()).find("100"), std::string::npos);
}

// ---------------------------------------------------------------------------------------------------------------------

std::vector<double> numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = 2 * random.uniform() - 1;
  return values;
}

/// Relative to the largest of each list.
void expect_close(const std::vector<double>& x, const std::vector<double>& y, const char* what) {
  ASSERT_EQ(x.size(), y.size()) << what;
  double largest = 0;
  for (const double value : y) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!std::isfinite(y[k])) {
      ASSERT_EQ(std::isnan(x[k]), std::isnan(y[k])) << what << " at " << k;
    } else {
      ASSERT_NEAR(x[k], y[k], 1e-12 * largest) << what << " at " << k;
    }
  }
}

/// Every verb of a plan, on the device that solved the problem and on the host.
void compare_plans(const Problem& problem, const Result& result, const Problem& on_host) {
  ASSERT_EQ(result.backend, "cuda");
  Result copy = result;
  copy.backend = "cpu";
  const Plan plan(problem, result, 2);
  const Plan expected(on_host, copy, 2);
  ASSERT_TRUE(plan.device().has_value());
  ASSERT_FALSE(expected.device().has_value());
  const std::size_t n = result.rows;
  const std::size_t m = result.columns;
  for (std::size_t target = 0; target < result.targets; ++target) {
    std::vector<double> rows(n * m);
    std::vector<double> expected_rows(n * m);
    plan.rows(0, n, target, rows);
    expected.rows(0, n, target, expected_rows);
    expect_close(rows, expected_rows, "rows");
    const auto poisoned = cuda::on_device(std::vector<double>((n - 2) * m, -1.0));
    plan.rows(1, n - 2, target, DeviceRows{poisoned.data(), (n - 2) * m, 0});
    expect_close(
        cuda::on_host(poisoned),
        {expected_rows.begin() + static_cast<std::ptrdiff_t>(m), expected_rows.end() - static_cast<std::ptrdiff_t>(m)},
        "rows on the device");
    const auto in_float32 = cuda::on_device(std::vector<float>(n * m, -1.0F));
    plan.rows(0, n, target, DeviceRows{in_float32.data(), n * m, 0});
    const std::vector<float> rounded = cuda::on_host(in_float32);
    for (std::size_t k = 0; k < rounded.size(); ++k) {
      ASSERT_EQ(rounded[k], static_cast<float>(rows[k])) << k;
    }
    constexpr std::size_t width = 131;  // more than are multiplied at once
    const std::vector<double> right = numbers(m * width, 1);
    const std::vector<double> left = numbers(n * width, 2);
    std::vector<double> out(n * width);
    std::vector<double> expected_out(n * width);
    plan.apply({right.data(), m, width}, target, out);
    expected.apply({right.data(), m, width}, target, expected_out);
    expect_close(out, expected_out, "apply");
    plan.barycentric({right.data(), m, width}, target, out);
    expected.barycentric({right.data(), m, width}, target, expected_out);
    expect_close(out, expected_out, "barycentric");
    out.resize(m * width);
    expected_out.resize(m * width);
    plan.apply_transposed({left.data(), n, width}, target, out);
    expected.apply_transposed({left.data(), n, width}, target, expected_out);
    expect_close(out, expected_out, "apply_transposed");
    const MassGradients masses = mass_gradients(problem, result, target, 2);
    const MassGradients expected_masses = mass_gradients(on_host, copy, target, 2);
    expect_close(masses.a, expected_masses.a, "gradient of a");
    expect_close(masses.b, expected_masses.b, "gradient of b");
    if (std::holds_alternative<PointClouds>(problem.cost)) {
      const PointGradients points = point_gradients(problem, result, target, 2);
      const PointGradients expected_points = point_gradients(on_host, copy, target, 2);
      expect_close(points.x, expected_points.x, "gradient of x");
      expect_close(points.y, expected_points.y, "gradient of y");
    }
  }
}

TEST_F(PlanOnDevice, OfCostsThere) {
  OwnedProblem owned = testing::random_problem(150, 170, 0.03, 3, 2);
  add_gaps(owned);
  owned.cost[8 * owned.m + 9] = testing::kInfinity;
  const CostsThere<double> there(owned);
  const Problem problem = there.given(owned.view());
  compare_plans(problem, solve(problem, on("cuda")), owned.view());
}

TEST_F(PlanOnDevice, OfPoints) {
  for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::cosine}) {
    for (const std::size_t d : {std::size_t{3}, std::size_t{40}}) {
      OwnedProblem owned = testing::random_problem(130, 90, 0.2, 4);
      add_gaps(owned);
      const std::vector<double> x = numbers(owned.n * d, 5);
      const std::vector<double> y = numbers(owned.m * d, 6);
      Problem problem = owned.view();
      problem.cost =
          PointClouds{MatrixView<double>{x.data(), owned.n, d}, MatrixView<double>{y.data(), owned.m, d}, metric};
      Options options = on("cuda");
      options.kernel = KernelKind::online;
      compare_plans(problem, solve(problem, options), problem);
    }
  }
}

TEST_F(PlanOnDevice, OfMoreLinesThanOneBlockSums) {
  const std::size_t n = 4200;
  const std::size_t m = 4300;
  const std::vector<double> x = numbers(n * 2, 7);
  const std::vector<double> y = numbers(m * 2, 8);
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{x.data(), n, 2}, MatrixView<double>{y.data(), m, 2}};
  problem.epsilon = 0.1;
  Result result = solve(problem, on("cuda"));
  compare_plans(problem, result, problem);
}

TEST_F(PlanOnDevice, OfNewRows) {
  const std::vector<double> x = numbers(60 * 2, 9);
  const std::vector<double> y = numbers(50 * 2, 10);
  const std::vector<double> others = numbers(30 * 2, 11);
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{x.data(), 60, 2}, MatrixView<double>{y.data(), 50, 2}};
  problem.epsilon = 0.1;
  Problem more = problem;
  more.cost = PointClouds{MatrixView<double>{others.data(), 30, 2}, MatrixView<double>{y.data(), 50, 2}};
  const Result result = solve(problem, on("cuda"));
  Result on_host = result;
  on_host.backend = "cpu";
  const Result extended = extend_rows(more, result);
  expect_close(extended.f, extend_rows(more, on_host).f, "f of new rows");
  EXPECT_TRUE(Plan(more, extended).device().has_value());
}

TEST_F(PlanOnDevice, DoesNotWriteElsewhere) {
  const OwnedProblem owned = testing::random_problem(20, 30, 0.1, 12);
  const Result result = solve(owned.view(), on("cpu"));
  const Problem problem = owned.view();
  const Plan plan(problem, result);
  const auto room = cuda::on_device(std::vector<double>(20 * 30));
  EXPECT_THROW(plan.rows(0, 20, 0, DeviceRows{room.data(), room.size(), 0}), InputError);
}

}  // namespace
}  // namespace fedsinkhorn
