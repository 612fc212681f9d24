// Worst cases that are known in closed form (Blanchet and Murthy, 2019; Kuhn et al., 2019).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn {
namespace {

/// side x side points over [-reach, reach]^2.
std::vector<double> grid(std::size_t side, double reach) {
  std::vector<double> points;
  const double step = 2 * reach / static_cast<double>(side - 1);
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      points.push_back(-reach + static_cast<double>(i) * step);
      points.push_back(-reach + static_cast<double>(j) * step);
    }
  }
  return points;
}

// A linear loss at squared distance: every day moves by sqrt(delta) in the direction of w, and the worst case is
// E[w.x] + sqrt(delta) |w|.
TEST(RiskClosedForm, LinearLoss) {
  constexpr double kRadius = 0.25;
  constexpr std::size_t kDays = 30;
  const std::vector<double> w = {0.8, -0.6};
  Random random(5);
  std::vector<double> returns;
  for (std::size_t k = 0; k < 2 * kDays; ++k) returns.push_back(0.5 * std::clamp(random.normal(), -2.0, 2.0));
  std::printf("  side  epsilon  worst case  closed form  error\n");
  double before = INFINITY;
  for (const auto& [side, epsilon] : {std::pair(21U, 0.1), std::pair(41U, 0.03), std::pair(81U, 0.01),
                                      std::pair(161U, 0.003), std::pair(241U, 0.001)}) {
    const std::vector<double> scenarios = grid(side, 2);
    RiskProblem problem;
    problem.returns = MatrixView<double>{returns.data(), kDays, 2};
    problem.scenarios = MatrixView<double>{scenarios.data(), scenarios.size() / 2, 2};
    problem.weights = w;
    problem.radius = kRadius;
    problem.epsilon = epsilon;
    const RiskResult result = worst_case(problem);
    EXPECT_EQ(result.status, Status::converged);
    const double closed = result.expected_loss + std::sqrt(kRadius);
    const double error = std::abs(result.worst.loss - closed) / closed;
    std::printf("  %4u  %7g  %10.6f  %11.6f  %.2e\n", side, epsilon, result.worst.loss, closed, error);
    EXPECT_LT(error, before);
    before = error;
    // The closed form bounds: a grid is less than the plane.
    EXPECT_LE(result.worst.loss, closed + 1e-9);
    EXPECT_NEAR(result.worst.lambda, 1 / (2 * std::sqrt(kRadius)), 0.3);
  }
  EXPECT_LT(before, 0.01);
}

// CVaR of a linear loss: CVaR(w.x) + |w| sqrt(delta / (1 - alpha)); a normal distribution has
// CVaR = mu + s phi(z) / (1 - alpha).
TEST(RiskClosedForm, TailOfANormalDistribution) {
  constexpr std::size_t kDays = 1000;
  constexpr double kLevel = 0.95;
  constexpr double kWeight = 1.5;
  constexpr double kSpread = 0.02;
  constexpr double kMean = 0.001;
  // Quantiles of the normal distribution by bisection.
  const auto quantile = [](double p) {
    double low = -10;
    double high = 10;
    for (int round = 0; round < 80; ++round) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
    }
    return high;
  };
  std::vector<double> returns;
  for (std::size_t i = 0; i < kDays; ++i) {
    returns.push_back(kMean + kSpread * quantile((static_cast<double>(i) + 0.5) / static_cast<double>(kDays)));
  }
  std::vector<double> scenarios;
  for (int j = 0; j <= 800; ++j) scenarios.push_back(-0.16 + 0.0004 * j);
  const double z = quantile(kLevel);
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
  const double observed = kWeight * (kMean + kSpread * density / (1 - kLevel));
  for (const double radius : {1e-6, 1e-5, 5e-5}) {
    RiskProblem problem;
    problem.returns = MatrixView<double>{returns.data(), kDays, 1};
    problem.scenarios = MatrixView<double>{scenarios.data(), scenarios.size(), 1};
    const std::vector<double> weights = {kWeight};
    problem.weights = weights;
    problem.radius = radius;
    problem.epsilon = 1e-4;
    problem.cvar_level = kLevel;
    problem.may_stay = true;
    const RiskResult result = worst_case(problem);
    EXPECT_EQ(result.status, Status::converged);
    const double closed = observed + kWeight * std::sqrt(radius / (1 - kLevel));
    std::printf(
        "  radius %g: observed %.6f (closed form %.6f), worst %.6f (closed form %.6f, error %.2e), %lld passes\n",
        radius, result.expected_loss, observed, result.worst.loss, closed,
        std::abs(result.worst.loss - closed) / closed, static_cast<long long>(result.passes));
    EXPECT_NEAR(result.expected_loss, observed, 0.005 * observed);
    EXPECT_NEAR(result.worst.loss, closed, 0.02 * closed);
  }
}

}  // namespace
}  // namespace fedsinkhorn
