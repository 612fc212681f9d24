// What noise leaves of the result: the transport cost and the columns' masses of the plan, against those without noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

struct Data {
  std::vector<double> x;  // records
  std::vector<double> y;  // bins
  std::vector<double> b;
  std::size_t dimension = 1;

  [[nodiscard]] std::size_t n() const { return x.size() / dimension; }
  [[nodiscard]] std::size_t m() const { return y.size() / dimension; }
  [[nodiscard]] Problem view(double epsilon) const {
    Problem problem;
    problem.cost =
        PointClouds{MatrixView<double>{x.data(), n(), dimension}, MatrixView<double>{y.data(), m(), dimension}};
    problem.epsilon = epsilon;
    if (!b.empty()) problem.b = {b.data(), m(), 1};
    return problem;
  }
};

/// Records in two heaps on a line; bins along it, with masses that rise and fall.
Data on_a_line(std::size_t n, std::size_t m) {
  Data data;
  Random random(11);
  for (std::size_t i = 0; i < n; ++i) {
    data.x.push_back(i % 3 == 0 ? 0.2 + 0.06 * random.normal() : 0.65 + 0.1 * random.normal());
  }
  for (std::size_t j = 0; j < m; ++j) {
    const double at = (static_cast<double>(j) + 0.5) / static_cast<double>(m);
    data.y.push_back(at);
    data.b.push_back(0.5 + std::exp(-30 * (at - 0.4) * (at - 0.4)));
  }
  testing::normalise(data.b);
  return data;
}

/// Records and bins all over a square; bins have equal masses.
Data on_a_square(std::size_t n, std::size_t m) {
  Data data;
  data.dimension = 2;
  Random random(12);
  for (std::size_t i = 0; i < 2 * n; ++i) data.x.push_back(std::pow(random.uniform(), 1.5));
  for (std::size_t j = 0; j < 2 * m; ++j) data.y.push_back(random.uniform());
  return data;
}

struct SlowPlanSums {
  double cost = 0;
  double error = 0;  // of the columns, L1
  double rows = 0;   // largest error of a row, relative to its mass
};

/// Of the plan that f and g define. The slow way.
SlowPlanSums plan_sums(const Data& data, double epsilon, const Result& result) {
  const std::size_t m = data.m();
  SlowPlanSums sums;
  std::vector<double> columns(m);
  for (std::size_t i = 0; i < data.n(); ++i) {
    double row = 0;
    for (std::size_t j = 0; j < m; ++j) {
      double cost = 0;
      for (std::size_t d = 0; d < data.dimension; ++d) {
        cost += std::pow(data.x[i * data.dimension + d] - data.y[j * data.dimension + d], 2);
      }
      const double mass = std::exp((result.f[i] + result.g[j] - cost) / epsilon);
      sums.cost += mass * cost;
      columns[j] += mass;
      row += mass;
    }
    sums.rows = std::max(sums.rows, std::abs(row * static_cast<double>(data.n()) - 1));
  }
  for (std::size_t j = 0; j < m; ++j) {
    sums.error += std::abs(columns[j] - (data.b.empty() ? 1 / static_cast<double>(m) : data.b[j]));
  }
  return sums;
}

double cost_without_noise(const Data& data, double epsilon) {
  Options options;
  options.threads = 1;
  options.backend = "cpu";
  return solve(data.view(epsilon), options).cost.linear;
}

Options with_budget(std::size_t clients, std::size_t seed) {
  Options options;
  options.policy = "private";
  options.clients = clients;
  options.budget = {1, 1e-6};
  options.noise_seed = seed;
  options.threads = 1;
  return options;
}

struct Worst {
  double cost = 0;   // relative
  double error = 0;  // L1
};

/// Over so many seeds, with releases auto.
Worst worst_of(const Data& data, double epsilon, std::size_t clients, std::size_t seeds) {
  const double cost = cost_without_noise(data, epsilon);
  Worst worst;
  double mean = 0;
  for (std::size_t seed = 1; seed <= seeds; ++seed) {
    const Result result = solve(data.view(epsilon), with_budget(clients, seed));
    EXPECT_EQ(result.status, Status::budget_spent);
    EXPECT_LE(result.privacy.epsilon_exact, 1);
    EXPECT_GE(result.privacy.epsilon_exact, 0.999);
    const SlowPlanSums sums = plan_sums(data, epsilon, result);
    EXPECT_LE(sums.rows, 1e-9) << "rows of the plan need no noise";
    worst.cost = std::max(worst.cost, std::abs(sums.cost / cost - 1));
    worst.error = std::max(worst.error, sums.error);
    mean += sums.error / static_cast<double>(seeds);
  }
  ::testing::Test::RecordProperty("cost", std::to_string(worst.cost));
  ::testing::Test::RecordProperty("error", std::to_string(worst.error));
  ::testing::Test::RecordProperty("mean_error", std::to_string(mean));
  return worst;
}

void expect_useful(const Worst& worst, double error = 0.06) {
  EXPECT_LE(worst.cost, 0.02);
  EXPECT_LE(worst.error, error);
}

class Utility : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Clients, Utility, ::testing::Values(1, 2, 5, 20),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(Utility, OverManySeeds) { expect_useful(worst_of(on_a_line(20'000, 50), 0.05, GetParam(), 20)); }

TEST(ShortUtility, OverAFewSeeds) { expect_useful(worst_of(on_a_line(20'000, 50), 0.05, 3, 2)); }

TEST(ShortUtility, OnASquare) { expect_useful(worst_of(on_a_square(20'000, 50), 0.05, 2, 4)); }

// More bins share the same mass: noise is added to each.
TEST(ShortUtility, OfMoreBins) { expect_useful(worst_of(on_a_square(20'000, 100), 0.05, 2, 3), 0.12); }

// Noise is that of one record: twice the records, half the noise.
TEST(ShortUtility, MoreRecordsHaveLessError) {
  const Worst few = worst_of(on_a_line(8'000, 50), 0.05, 2, 4);
  const Worst many = worst_of(on_a_line(64'000, 50), 0.05, 2, 4);
  expect_useful(many, 0.02);
  EXPECT_LE(many.error, few.error / 3);
}

// The paper's mechanism with the same budget: noise on u and v of hundreds, where the potentials themselves are of the
// order of 10. What is left is no plan.
TEST(ShortUtility, TheScalingsMechanismIsFarWorse) {
  const Data data = on_a_line(2'000, 50);
  const double cost = cost_without_noise(data, 0.05);
  const Worst ours = worst_of(data, 0.05, 2, 3);
  for (const char* rows_moved : {"all", "paper"}) {
    SCOPED_TRACE(rows_moved);
    Options options = with_budget(2, 1);
    options.mechanism = "scalings";
    options.topology = "all-to-all";
    options.releases = 10;
    options.clip = 10;
    options.rows_moved = rows_moved;
    const Result result = solve(data.view(0.05), options);
    EXPECT_LE(result.privacy.epsilon_exact, 1);
    EXPECT_GE(result.privacy.epsilon_exact, 0.999);
    EXPECT_GT(result.privacy.sigma, 100);
    const SlowPlanSums sums = plan_sums(data, 0.05, result);
    EXPECT_FALSE(std::abs(sums.cost / cost - 1) < 10 * ours.cost);
    EXPECT_FALSE(sums.error < 1) << sums.error;
  }
  EXPECT_LT(ours.error, 0.5);
}

}  // namespace
}  // namespace fedsinkhorn
