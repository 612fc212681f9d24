// worst_case() against the slow reference.
#include "risk/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

namespace fedsinkhorn {
namespace {

using testing::precise;
using testing::RiskInstance;
using testing::Wide;
using testing::WidePlan;
using testing::WideProblem;

constexpr double kClose = 1e-8;

void expect_close(double got, Wide wanted, double tolerance, const std::string& what) {
  const auto reference = static_cast<double>(wanted);
  EXPECT_NEAR(got, reference, tolerance * std::max(std::abs(reference), 1e-3)) << what;
}

void expect_as_reference(const RiskResult& result, const WideProblem& problem, const WidePlan& reference,
                         double tolerance) {
  const WorstCase& worst = result.worst;
  EXPECT_EQ(worst.status, Status::converged);
  EXPECT_EQ(worst.is_binding, reference.is_binding);
  expect_close(worst.loss, reference.loss, tolerance, "loss");
  expect_close(worst.lambda, reference.lambda, tolerance, "lambda");
  expect_close(worst.transport_cost, reference.transport_cost, tolerance, "transport cost");
  expect_close(worst.dual, reference.dual, tolerance, "dual");
  expect_close(worst.entropic_primal, reference.entropic, tolerance, "entropic primal");
  expect_close(worst.entropic_dual, reference.entropic + reference.lambda * (problem.radius - reference.transport_cost),
               tolerance, "entropic dual");
  ASSERT_EQ(result.scenario_weights.size(), result.columns);
  for (std::size_t j = 0; j < result.columns; ++j) {
    EXPECT_NEAR(result.scenario_weights[j], static_cast<double>(reference.columns[j]), tolerance) << j;
  }
  const bool stays = problem.m > result.columns;
  EXPECT_NEAR(result.stays, stays ? static_cast<double>(reference.columns.back()) : 0.0, tolerance);
  expect_close(result.least_radius, testing::least_radius(problem), 1e-12, "least radius");
}

void expect_moves(const RiskResult& result, const WideProblem& problem, const WidePlan& reference) {
  const std::size_t m = problem.m;
  for (const DayMove& move : result.moves) {
    const std::size_t i = move.day;
    EXPECT_NEAR(move.mass, static_cast<double>(problem.a[i]), 1e-15);
    Wide loss = 0;
    Wide cost = 0;
    Wide best = 0;
    for (std::size_t j = 0; j < m; ++j) {
      const Wide share = reference.plan[i * m + j] / problem.a[i];
      if (share == 0) continue;
      loss += share * problem.losses[i * m + j];
      cost += share * problem.costs[i * m + j];
      best = std::max(best, share);
    }
    expect_close(move.loss_after, loss, kClose, "loss after");
    expect_close(move.cost, cost, kClose, "cost of a day");
    EXPECT_NEAR(move.share, static_cast<double>(best), kClose);
    const auto likeliest = static_cast<double>(reference.plan[i * m + move.scenario] / problem.a[i]);
    EXPECT_NEAR(move.share, likeliest, kClose);
  }
}

/// Radii as shares of what is spent at lambda = 0.
constexpr double kShares[] = {1e-6, 1e-3, 0.1, 0.5, 0.95, 1.5};

void compare_with_reference(RiskInstance instance) {
  const WideProblem free = testing::widened(instance);
  const Wide least = testing::least_radius(free);
  const Wide range = testing::plan_at(free, 0).transport_cost - least;
  for (const double share : kShares) {
    if (range > 0 && range < 1e-12) break;  // no day ever moves
    instance.settings.radius = static_cast<double>(least + share * (range > 0 ? range : 1));
    SCOPED_TRACE("share " + std::to_string(share));
    const WideProblem problem = testing::widened(instance);
    const WidePlan reference = testing::reference_worst_case(problem);
    const RiskResult result = worst_case(instance.view(), precise());
    // radius - least radius is all that counts, and it has lost digits to rounding.
    const double lost = range > 0 ? 1e-15 * static_cast<double>(least / range) / share : 0;
    const double condition = 1 + static_cast<double>(reference.lambda * range) / instance.settings.epsilon;
    expect_as_reference(result, problem, reference, std::max(kClose, 10 * lost * condition));
    if (share > 1e-4) expect_moves(result, problem, reference);
    if (range == 0) break;
  }
}

class Sizes : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  std::size_t n_ = std::get<0>(GetParam());
  std::size_t m_ = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(RiskReference, Sizes,
                         ::testing::Combine(::testing::Values(1U, 2U, 7U, 40U), ::testing::Values(1U, 2U, 7U, 40U)),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + "x" +
                                  std::to_string(std::get<1>(info.param));
                         });

unsigned seed_of(std::size_t n, std::size_t m) { return static_cast<unsigned>(100 * n + m); }

TEST_P(Sizes, OfPoints) {
  constexpr RiskCost kCosts[] = {RiskCost::sqeuclidean, RiskCost::euclidean, RiskCost::cosine};
  double epsilon = 1;
  for (const RiskCost cost : kCosts) {
    for (const bool stays : {false, true}) {
      RiskInstance instance = testing::random_points(n_, m_, 3, seed_of(n_, m_));
      instance.settings.cost = cost;
      instance.settings.may_stay = stays;
      instance.settings.are_gains = stays;
      instance.settings.epsilon = epsilon;
      if (stays) testing::draw_masses(instance, 7);
      SCOPED_TRACE("cost " + std::to_string(static_cast<int>(cost)) + ", stays " + std::to_string(stays) +
                   ", epsilon " + std::to_string(epsilon));
      compare_with_reference(instance);
      epsilon = epsilon < 2e-4 ? 1 : epsilon / 6.3;
    }
  }
}

TEST_P(Sizes, OfWhitenedPoints) {
  for (const bool is_given : {false, true}) {
    RiskInstance instance = testing::random_points(n_, m_, 2, seed_of(n_, m_) + 1);
    testing::draw_masses(instance, 9);
    if (is_given) instance.covariance = {0.04, 0.01, 0.01, 0.02};
    const auto held = std::count_if(instance.a.begin(), instance.a.end(), [](double mass) { return mass > 0; });
    if (!is_given && held < 4) continue;  // two assets need three days
    instance.settings.cost = RiskCost::mahalanobis;
    instance.settings.epsilon = is_given ? 0.05 : 0.002;
    SCOPED_TRACE(is_given ? "given covariance" : "covariance of the returns");
    compare_with_reference(instance);
  }
}

TEST_P(Sizes, OfGivenCosts) {
  for (const double epsilon : {1.0, 0.1, 0.01, 0.001, 0.0001}) {
    RiskInstance instance = testing::random_costs(n_, m_, 0.3, seed_of(n_, m_) + 2);
    instance.settings.may_stay = epsilon == 0.01;
    instance.settings.epsilon = epsilon;
    testing::draw_masses(instance, 8);
    SCOPED_TRACE("epsilon " + std::to_string(epsilon));
    compare_with_reference(instance);
  }
}

TEST(RiskReference, OfFloat32Points) {
  const RiskInstance narrow = testing::random_points(7, 9, 3, 4);
  const std::vector<float> returns(narrow.returns.begin(), narrow.returns.end());
  const std::vector<float> scenarios(narrow.scenarios.begin(), narrow.scenarios.end());
  RiskInstance instance = narrow;
  instance.returns.assign(returns.begin(), returns.end());
  instance.scenarios.assign(scenarios.begin(), scenarios.end());
  instance.settings.epsilon = 0.01;
  instance.settings.radius = 0.2;
  RiskProblem problem = instance.view();
  problem.returns = MatrixView<float>{returns.data(), 7, 3};
  problem.scenarios = MatrixView<float>{scenarios.data(), 9, 3};
  const WideProblem wide = testing::widened(instance);
  expect_as_reference(worst_case(problem, precise()), wide, testing::reference_worst_case(wide), kClose);
}

void compare_tail(RiskInstance instance) {
  const WideProblem free = testing::widened(instance);
  const Wide least = testing::least_radius(free);
  for (const double share : {0.02, 0.3}) {
    for (const double level : {0.5, 0.9}) {
      instance.settings.cvar_level = level;
      instance.settings.radius = static_cast<double>(least + share * testing::plan_at(free, 0).transport_cost);
      SCOPED_TRACE("share " + std::to_string(share) + ", level " + std::to_string(level));
      const WideProblem problem = testing::widened(instance);
      const WidePlan reference = testing::reference_worst_case(problem);
      const RiskResult result = worst_case(instance.view(), precise());
      EXPECT_EQ(result.worst.status, Status::converged);
      EXPECT_EQ(result.worst.is_binding, reference.is_binding);
      EXPECT_NEAR(result.worst.entropic_primal, static_cast<double>(reference.entropic), kClose);
      EXPECT_NEAR(result.worst.loss, static_cast<double>(reference.loss), 1e-7);
      EXPECT_NEAR(result.worst.value_at_risk, static_cast<double>(reference.threshold), 1e-6);
      EXPECT_NEAR(result.worst.dual, static_cast<double>(reference.dual), 1e-6);
    }
  }
}

TEST(RiskReference, Tails) {
  for (const double epsilon : {0.5, 0.05, 0.005}) {
    for (const bool stays : {false, true}) {
      SCOPED_TRACE("epsilon " + std::to_string(epsilon) + ", stays " + std::to_string(stays));
      RiskInstance costs = testing::random_costs(7, 5, 0.2, 31);
      costs.settings.epsilon = epsilon;
      costs.settings.may_stay = stays;
      testing::draw_masses(costs, 3);
      compare_tail(costs);
      RiskInstance points = testing::random_points(5, 12, 2, 32);
      points.settings.epsilon = epsilon;
      points.settings.may_stay = stays;
      compare_tail(points);
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
