// Radii, losses, costs and inputs at the edge of what can be asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "risk/linear_program.hpp"
#include "risk/reference.hpp"
#include "support/line_of.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

using testing::RiskInstance;

using testing::kInfinity;
using testing::kNan;

RiskOptions plain() {
  RiskOptions options;
  options.options.threads = 1;
  return options;
}

RiskResult solved(const RiskInstance& instance) { return worst_case(instance.view(), plain()); }

/// Days that are scenarios as well.
RiskInstance days_among_scenarios(std::size_t d, unsigned seed) {
  RiskInstance instance = testing::random_points(9, 14, d, seed);
  std::copy(instance.returns.begin(), instance.returns.end(), instance.scenarios.begin());
  instance.settings.epsilon = 0.01;
  return instance;
}

TEST(RiskRadiusZero, LeavesEveryDayWhereItIs) {
  for (const RiskCost cost : {RiskCost::sqeuclidean, RiskCost::euclidean, RiskCost::cosine, RiskCost::mahalanobis}) {
    for (const std::size_t d : {1U, 3U, 40U}) {
      if (cost == RiskCost::cosine && d == 1) continue;  // all costs are 0
      if (cost == RiskCost::mahalanobis && d > 3) continue;
      SCOPED_TRACE("cost " + std::to_string(static_cast<int>(cost)) + ", d " + std::to_string(d));
      RiskInstance instance = days_among_scenarios(d, 3);
      instance.settings.cost = cost;
      const RiskResult result = solved(instance);
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_NEAR(result.worst.loss, result.expected_loss, 1e-12);
      EXPECT_NEAR(result.worst.duality_gap(), 0, 1e-12);
      EXPECT_NEAR(result.worst.entropic_primal, result.worst.loss, 1e-12);
      EXPECT_TRUE(std::isfinite(result.worst.lambda));
      EXPECT_GT(result.worst.lambda, 0);
      EXPECT_NEAR(result.worst.transport_cost, 0, 1e-15);
    }
  }
}

TEST(RiskRadiusZero, MayStay) {
  for (const double level : {0.0, 0.8}) {
    RiskInstance instance = testing::random_points(9, 14, 2, 4);
    instance.settings.epsilon = 0.01;
    instance.settings.may_stay = true;
    instance.settings.cvar_level = level;
    const RiskResult result = solved(instance);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_NEAR(result.worst.loss, result.expected_loss, 1e-9) << level;
    EXPECT_NEAR(result.worst.duality_gap(), 0, 1e-9) << level;
    EXPECT_TRUE(std::isfinite(result.worst.lambda));
    EXPECT_NEAR(result.stays, 1, 1e-12);
    for (const DayMove& move : result.moves) {
      EXPECT_EQ(move.scenario, 14U);
      EXPECT_EQ(move.stays, 1);
      EXPECT_EQ(move.cost, 0);
    }
  }
}

/// Two scenarios are equally near: the worse one bounds, both get mass.
TEST(RiskRadiusZero, WithTies) {
  RiskInstance instance;
  instance.n = 2;
  instance.m = 3;
  instance.costs = {0, 0, 1, 1, 0, 2};
  instance.scenario_losses = {1, 2, 5};
  instance.return_losses = {1, 2};
  instance.settings.epsilon = 0.5;
  const RiskResult result = solved(instance);
  const double share = 1 / (1 + std::exp(-2.0));  // of loss 2 on the first day
  EXPECT_NEAR(result.worst.loss, (1 + share + 2) / 2, 1e-12);
  EXPECT_NEAR(result.worst.dual, 2, 1e-12);
  const double entropy = -share * std::log(share) - (1 - share) * std::log(1 - share);
  EXPECT_NEAR(result.worst.entropic_primal, result.worst.loss + 0.5 * entropy / 2, 1e-12);
  EXPECT_NEAR(result.worst.entropic_dual, result.worst.entropic_primal, 1e-12);
}

TEST(RiskRadius, BelowTheLeastIsRefused) {
  RiskInstance instance = testing::random_points(9, 14, 2, 5);
  instance.settings.epsilon = 0.01;
  const std::string line = test::line_of<InputError>([&] { (void)solved(instance); });
  EXPECT_EQ(line.find("radius: 0 is less than "), 0U) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
  RiskOptions three = plain();
  three.options.clients = 3;
  EXPECT_EQ(test::line_of<InputError>([&] { (void)worst_case(instance.view(), three); }), line);
  instance.settings.radius = 0.4;
  RiskOptions sweep = plain();
  sweep.radii = {0.5, 1e-9};
  EXPECT_EQ(test::line_of<InputError>([&] { (void)worst_case(instance.view(), sweep); }).find("radius: 1e-09 is less"),
            0U);
}

TEST(RiskRadius, FarBeyondDoesNotBind) {
  for (const double level : {0.0, 0.9}) {
    RiskInstance instance = testing::random_points(9, 14, 2, 5);
    instance.settings.epsilon = 0.01;
    instance.settings.radius = 1e6;
    instance.settings.cvar_level = level;
    const RiskResult result = solved(instance);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_FALSE(result.worst.is_binding);
    EXPECT_EQ(result.worst.lambda, 0);
    EXPECT_LT(result.worst.transport_cost, 10);
    if (level == 0) {
      EXPECT_EQ(result.worst.transport_cost, result.largest_radius);
    }
  }
}

TEST(RiskEdges, OneScenario) {
  RiskInstance instance = testing::random_points(9, 1, 2, 5);
  instance.settings.epsilon = 0.01;
  instance.settings.radius = 1;
  const RiskResult result = solved(instance);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_FALSE(result.worst.is_binding);
  EXPECT_DOUBLE_EQ(result.worst.loss, result.scenario_losses[0]);
  EXPECT_DOUBLE_EQ(result.scenario_weights[0], 1);
  EXPECT_EQ(result.least_radius, result.largest_radius);
}

TEST(RiskEdges, OneDay) {
  RiskInstance instance = testing::random_costs(1, 2, 0, 5);
  instance.costs = {0, 1};
  instance.scenario_losses = {0, 1};
  instance.settings.epsilon = 1e-3;
  instance.settings.radius = 0.25;
  const RiskResult result = solved(instance);
  EXPECT_NEAR(result.worst.loss, 0.25, 1e-9);
  EXPECT_NEAR(result.scenario_weights[1], 0.25, 1e-9);
}

TEST(RiskEdges, EqualLosses) {
  for (const double level : {0.0, 0.9}) {
    for (const bool stays : {false, true}) {
      RiskInstance instance = testing::random_costs(6, 8, 0, 6);
      std::fill(instance.scenario_losses.begin(), instance.scenario_losses.end(), -3.5);
      std::fill(instance.return_losses.begin(), instance.return_losses.end(), -3.5);
      instance.settings.epsilon = 0.1;
      instance.settings.radius = 0.3;
      instance.settings.cvar_level = level;
      instance.settings.may_stay = stays;
      const RiskResult result = solved(instance);
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_NEAR(result.worst.loss, -3.5, 1e-12);
      EXPECT_GE(result.worst.dual, -3.5 - 1e-12);
    }
  }
}

TEST(RiskEdges, EqualCosts) {
  RiskInstance instance = testing::random_costs(6, 8, 0, 6);
  std::fill(instance.costs.begin(), instance.costs.end(), 0.7);
  instance.settings.epsilon = 0.1;
  for (const double radius : {0.7, 0.71}) {
    instance.settings.radius = radius;
    const RiskResult result = solved(instance);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_FALSE(result.worst.is_binding) << radius;
    EXPECT_EQ(result.worst.lambda, 0);
    EXPECT_NEAR(result.worst.entropic_primal, result.worst.entropic_dual, 1e-12) << radius;
  }
}

TEST(RiskEdges, AllCostsZero) {
  RiskInstance instance = testing::random_costs(6, 8, 0, 6);
  std::fill(instance.costs.begin(), instance.costs.end(), 0.0);
  instance.settings.epsilon = 1e-3;
  const RiskResult result = solved(instance);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_NEAR(result.worst.loss, *std::max_element(instance.scenario_losses.begin(), instance.scenario_losses.end()),
              1e-2);
}

/// Splitting a scenario in two changes entropy alone.
TEST(RiskEdges, DuplicatedScenarios) {
  RiskInstance instance = testing::random_points(7, 6, 2, 8);
  instance.settings.epsilon = 1e-4;
  instance.settings.radius = 0.3;
  RiskInstance twice = instance;
  twice.m = 12;
  twice.scenarios.insert(twice.scenarios.end(), instance.scenarios.begin(), instance.scenarios.end());
  const RiskResult once = solved(instance);
  const RiskResult both = solved(twice);
  EXPECT_NEAR(once.worst.loss, both.worst.loss, 1e-8);
  EXPECT_NEAR(once.worst.lambda, both.worst.lambda, 1e-6);
  for (std::size_t j = 0; j < 6; ++j) {
    EXPECT_NEAR(both.scenario_weights[j], both.scenario_weights[j + 6], 1e-12);
    EXPECT_NEAR(both.scenario_weights[j], once.scenario_weights[j] / 2, 1e-7);
  }
}

TEST(RiskEdges, TinyEpsilonTellsTheTruth) {
  for (const double epsilon : {1e-8, 1e-10, 1e-12, 1e-15}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      for (const double level : {0.0, 0.7}) {
        SCOPED_TRACE("epsilon " + std::to_string(epsilon * 1e15) + "e-15, seed " + std::to_string(seed) + ", level " +
                     std::to_string(level));
        RiskInstance instance = testing::random_costs(12, 15, 0.1, seed);
        instance.settings.epsilon = epsilon;
        instance.settings.cvar_level = level;
        instance.settings.radius = static_cast<double>(testing::least_radius(testing::widened(instance))) + 0.1;
        const double exact = testing::linear_program(testing::widened(instance));
        const RiskResult result = solved(instance);
        EXPECT_LE(result.worst.loss, exact + 1e-10);
        EXPECT_GE(result.worst.dual, exact - 1e-10);
        EXPECT_LE(result.worst.transport_cost, instance.settings.radius * (1 + 1e-9));
        if (result.worst.status == Status::converged) {
          EXPECT_NEAR(result.worst.loss, exact, 1e-6);
          EXPECT_NEAR(result.worst.transport_cost, instance.settings.radius, 1e-6 * instance.settings.radius);
        }
      }
    }
  }
}

TEST(RiskEdges, HugeEpsilon) {
  RiskInstance instance = testing::random_costs(12, 15, 0, 1);
  const double least = static_cast<double>(testing::least_radius(testing::widened(instance)));
  for (const double radius : {least + 0.1, 10.0}) {
    instance.settings.epsilon = 1e9;
    instance.settings.radius = radius;
    const RiskResult result = solved(instance);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(result.worst.transport_cost, radius * (1 + 1e-9));
    double mean = 0;
    for (const double loss : instance.scenario_losses) mean += loss / 15;
    if (!result.worst.is_binding) {
      EXPECT_NEAR(result.worst.loss, mean, 1e-7);  // all scenarios are as good
    }
  }
}

TEST(RiskEdges, CostsAndLossesOfAnySize) {
  RiskInstance instance = testing::random_costs(12, 15, 0.2, 2);
  instance.settings.epsilon = 0.01;
  const double least = static_cast<double>(testing::least_radius(testing::widened(instance)));
  for (const double level : {0.0, 0.8}) {
    instance.settings.cvar_level = level;
    instance.settings.radius = least + 0.1;
    const RiskResult usual = solved(instance);
    for (const double scale : {1e-12, 1e12, 1e-150, 1e150}) {
      SCOPED_TRACE("scale 1e" + std::to_string(std::log10(scale)) + ", level " + std::to_string(level));
      RiskInstance scaled = instance;
      for (double& cost : scaled.costs) cost *= scale;
      scaled.settings.radius *= scale;
      const RiskResult costs = solved(scaled);
      EXPECT_EQ(costs.status, Status::converged);
      EXPECT_NEAR(costs.worst.loss, usual.worst.loss, 1e-7);
      EXPECT_NEAR(costs.worst.lambda * scale, usual.worst.lambda, 1e-6 * usual.worst.lambda);
      RiskInstance lost = instance;
      for (double& loss : lost.scenario_losses) loss *= scale;
      for (double& loss : lost.return_losses) loss *= scale;
      lost.settings.epsilon *= scale;
      const RiskResult losses = solved(lost);
      EXPECT_EQ(losses.status, Status::converged);
      EXPECT_NEAR(losses.worst.loss / scale, usual.worst.loss, 1e-7);
      EXPECT_NEAR(losses.worst.lambda / scale, usual.worst.lambda, 1e-6 * usual.worst.lambda);
    }
  }
}

/// Less than one day lies in the tail.
TEST(RiskEdges, TailOfLessThanADay) {
  RiskInstance instance = testing::random_points(40, 60, 2, 3);
  instance.settings.epsilon = 1e-4;
  instance.settings.cvar_level = 0.999;
  for (const double radius : {0.02, 0.1, 1.0}) {
    for (const bool stays : {false, true}) {
      instance.settings.radius = radius;
      instance.settings.may_stay = stays;
      const double exact = testing::linear_program(testing::widened(instance));
      const RiskResult result = solved(instance);
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_LE(result.worst.loss, exact + 1e-9);
      EXPECT_NEAR(result.worst.loss, exact, 1e-3) << radius << " " << stays;
      EXPECT_GE(result.worst.dual, exact - 1e-9);
      const WorstCase& worst = result.worst;
      EXPECT_GE(worst.value_at_risk, -2);
      EXPECT_GE(worst.loss, worst.value_at_risk - 1e-9);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------

TEST(RiskObserved, ExpectedLossAndTail) {
  RiskInstance instance = testing::random_costs(40, 5, 0, 3);
  for (std::size_t i = 0; i < 40; ++i) instance.return_losses[i] = static_cast<double>((i * 17) % 40 + 1);  // 1 to 40
  instance.settings.epsilon = 1;
  instance.settings.radius = 10;
  EXPECT_DOUBLE_EQ(solved(instance).expected_loss, 20.5);
  EXPECT_TRUE(std::isnan(solved(instance).value_at_risk));
  instance.settings.cvar_level = 0.95;  // the last two days
  const RiskResult tail = solved(instance);
  EXPECT_NEAR(tail.value_at_risk, 38, 1e-9);
  EXPECT_NEAR(tail.expected_loss, 39.5, 1e-9);
  instance.settings.cvar_level = 0.96;  // 1.6 days: 40 and 0.6 of 39
  EXPECT_NEAR(solved(instance).expected_loss, (40 + 0.6 * 39) / 1.6, 1e-9);
  EXPECT_NEAR(solved(instance).value_at_risk, 39, 1e-9);
  instance.return_losses.clear();
  EXPECT_TRUE(std::isnan(solved(instance).expected_loss));
  EXPECT_TRUE(solved(instance).histogram.before.empty());
}

TEST(RiskObserved, HistogramsHaveAllMass) {
  for (const bool stays : {false, true}) {
    RiskInstance instance = testing::random_points(20, 30, 2, 3);
    testing::draw_masses(instance, 2);
    instance.settings.epsilon = 0.01;
    instance.settings.radius = 0.2;
    instance.settings.may_stay = stays;
    const RiskResult result = solved(instance);
    double before = 0;
    double after = 0;
    for (const double mass : result.histogram.before) before += mass;
    for (const double mass : result.histogram.after) after += mass;
    EXPECT_NEAR(before, 1, 1e-12);
    EXPECT_NEAR(after, 1, 1e-12);
    double columns = result.stays;
    for (const double mass : result.scenario_weights) columns += mass;
    EXPECT_NEAR(columns, 1, 1e-12);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

struct Wrong {
  const char* begins;
  bool has_points;
  std::function<void(RiskInstance&, RiskProblem&)> change;
};

TEST(RiskInput, NamesTheCulprit) {
  const std::vector<Wrong> wrongs = {
      {"returns: row 2, column 1 is nan", true, [](auto& own, auto&) { own.returns[2] = kNan; }},
      {"returns: row 1, column 2 is inf", true, [](auto& own, auto&) { own.returns[1] = kInfinity; }},
      {"scenarios: row 3, column 1 is nan", true, [](auto& own, auto&) { own.scenarios[4] = kNan; }},
      {"weights: number 1 is nan", true, [](auto& own, auto&) { own.weights[0] = kNan; }},
      {"weights: has 1 numbers", true, [](auto&, auto& problem) { problem.weights = problem.weights.first(1); }},
      {"weights: has 0 numbers", true, [](auto&, auto& problem) { problem.weights = {}; }},
      {"returns: there are no returns", true, [](auto&, auto& problem) { problem.returns = AnyMatrix{}; }},
      {"scenarios: there are no scenarios", true, [](auto&, auto& problem) { problem.scenarios = AnyMatrix{}; }},
      {"scenarios: has 1 columns", true,
       [](auto& own, auto& problem) {
         problem.scenarios = MatrixView<double>{own.scenarios.data(), 6, 1};
       }},
      {"covariance: is for the cost mahalanobis", true,
       [](auto& own, auto& problem) {
         problem.covariance = {own.scenarios.data(), 2, 2};
       }},
      {"covariance: is 1 x 2", true,
       [](auto& own, auto& problem) {
         problem.cost = RiskCost::mahalanobis;
         problem.covariance = {own.scenarios.data(), 1, 2};
       }},
      {"covariance: is not symmetric", true,
       [](auto& own, auto& problem) {
         problem.cost = RiskCost::mahalanobis;
         own.covariance = {1, 0.5, 0.2, 1};
         problem.covariance = {own.covariance.data(), 2, 2};
       }},
      {"covariance: is not positive definite", true,
       [](auto& own, auto& problem) {
         problem.cost = RiskCost::mahalanobis;
         own.covariance = {1, 2, 2, 1};
         problem.covariance = {own.covariance.data(), 2, 2};
       }},
      {"covariance: row 1, column 1 is nan", true,
       [](auto& own, auto& problem) {
         problem.cost = RiskCost::mahalanobis;
         own.covariance = {kNan, 0, 0, 1};
         problem.covariance = {own.covariance.data(), 2, 2};
       }},
      {"returns: the covariance of the returns is singular", true,
       [](auto& own, auto& problem) {
         problem.cost = RiskCost::mahalanobis;
         for (std::size_t i = 0; i < own.n; ++i) own.returns[2 * i + 1] = 3 * own.returns[2 * i];
       }},
      {"return losses: ", true,
       [](auto& own, auto& problem) {
         own.return_losses.assign(own.n, 1.0);
         problem.return_losses = own.return_losses;
       }},
      {"weights: the losses are given themselves", true,
       [](auto& own, auto& problem) {
         own.scenario_losses.assign(own.m, 1.0);
         problem.scenario_losses = own.scenario_losses;
       }},
      {"costs: row 2, scenario 1: a cost of -1", false, [](auto& own, auto&) { own.costs[own.m] = -1; }},
      {"costs: row 2, scenario 1: a cost of nan", false, [](auto& own, auto&) { own.costs[own.m] = kNan; }},
      {"costs: row 2, scenario 3: a cost of -inf", false, [](auto& own, auto&) { own.costs[own.m + 2] = -kInfinity; }},
      {"costs: row 3: every move of this day is forbidden", false,
       [](auto& own, auto&) { std::fill_n(own.costs.begin() + 2 * 6, 6, kInfinity); }},
      {"costs: without returns there are no losses", false, [](auto&, auto& problem) { problem.scenario_losses = {}; }},
      {"costs: returns and scenarios have costs of their own", false,
       [](auto& own, auto& problem) {
         problem.returns = MatrixView<double>{own.costs.data(), 5, 2};
       }},
      {"scenario losses: has 5 numbers", false,
       [](auto&, auto& problem) { problem.scenario_losses = problem.scenario_losses.first(5); }},
      {"scenario losses: number 6 is inf", false, [](auto& own, auto&) { own.scenario_losses[5] = kInfinity; }},
      {"return losses: has 4 numbers", false,
       [](auto&, auto& problem) { problem.return_losses = problem.return_losses.first(4); }},
      {"return losses: number 1 is nan", false, [](auto& own, auto&) { own.return_losses[0] = kNan; }},
      {"may_stay: the loss of a day that stays is not known", false,
       [](auto&, auto& problem) {
         problem.return_losses = {};
         problem.may_stay = true;
       }},
      {"are_gains: ", false, [](auto&, auto& problem) { problem.are_gains = true; }},
      {"a: number 2 is -1", false,
       [](auto& own, auto& problem) {
         own.a = {1, -1, 1, 1, 1};
         problem.a = own.a;
       }},
      {"a: number 3 is nan", false,
       [](auto& own, auto& problem) {
         own.a = {1, 1, kNan, 1, 1};
         problem.a = own.a;
       }},
      {"a: has 3 numbers", false,
       [](auto& own, auto& problem) {
         own.a = {1, 1, 1};
         problem.a = own.a;
       }},
      {"a: the days have no mass", false,
       [](auto& own, auto& problem) {
         own.a = {0, 0, 0, 0, 0};
         problem.a = own.a;
       }},
      {"radius: -1 is no radius", false, [](auto&, auto& problem) { problem.radius = -1; }},
      {"radius: nan is no radius", false, [](auto&, auto& problem) { problem.radius = kNan; }},
      {"epsilon: 0 cannot", false, [](auto&, auto& problem) { problem.epsilon = 0; }},
      {"epsilon: nan cannot", false, [](auto&, auto& problem) { problem.epsilon = kNan; }},
      {"cvar_level: a CVaR at level 1", false, [](auto&, auto& problem) { problem.cvar_level = 1; }},
      {"cvar_level: a CVaR at level -0.5", false, [](auto&, auto& problem) { problem.cvar_level = -0.5; }},
      {"cvar_level: a CVaR at level nan", false, [](auto&, auto& problem) { problem.cvar_level = kNan; }},
  };
  for (const Wrong& wrong : wrongs) {
    for (const std::size_t clients : {1U, 3U}) {
      RiskInstance instance = wrong.has_points ? testing::random_points(5, 6, 2, 1) : testing::random_costs(5, 6, 0, 1);
      instance.settings.epsilon = 0.1;
      instance.settings.radius = 1;
      RiskProblem problem = instance.view();
      wrong.change(instance, problem);
      RiskOptions options = plain();
      options.options.clients = clients;
      const std::string line = test::line_of<InputError>([&] { (void)worst_case(problem, options); });
      EXPECT_EQ(line.find(wrong.begins), 0U) << clients << " clients; wanted " << wrong.begins << ", got " << line;
      EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    }
  }
}

TEST(RiskInput, RadiiOfASweepAreChecked) {
  RiskInstance instance = testing::random_costs(5, 6, 0, 1);
  instance.settings.epsilon = 0.1;
  instance.settings.radius = 1;
  RiskOptions options = plain();
  options.radii = {1, kNan};
  EXPECT_EQ(test::line_of<InputError>([&] { (void)worst_case(instance.view(), options); }).find("radius: nan"), 0U);
}

TEST(RiskInput, PrivateIsRefused) {
  RiskInstance instance = testing::random_costs(5, 6, 0, 1);
  instance.settings.epsilon = 0.1;
  instance.settings.radius = 1;
  RiskOptions options = plain();
  options.options.policy = "private";
  EXPECT_EQ(test::line_of<InputError>([&] { (void)worst_case(instance.view(), options); }).find("policy: private"), 0U);
}

TEST(RiskInterrupt, BeforeTheStart) {
  const std::atomic<bool> stop = true;
  RiskInstance instance = testing::random_points(50, 60, 2, 1);
  instance.settings.epsilon = 0.1;
  instance.settings.radius = 0.2;
  for (const std::size_t clients : {1U, 3U}) {
    RiskOptions options = plain();
    options.options.clients = clients;
    options.options.interrupt = &stop;
    EXPECT_THROW((void)worst_case(instance.view(), options), Interrupted) << clients;
  }
}

TEST(RiskInterrupt, OnTheWay) {
  RiskInstance instance = testing::random_points(50, 60, 2, 1);
  instance.settings.epsilon = 0.01;
  instance.settings.radius = 0.2;
  for (const std::size_t clients : {1U, 3U}) {
    std::atomic<bool> stop = false;
    RiskOptions options = plain();
    options.options.clients = clients;
    options.options.interrupt = &stop;
    options.on_pass = [&](const RiskProgress& progress) { stop = stop || progress.passes == 2; };
    EXPECT_THROW((void)worst_case(instance.view(), options), Interrupted) << clients;
  }
}

TEST(RiskInterrupt, InASweepKeepsWhatIsThere) {
  RiskInstance instance = testing::random_points(50, 60, 2, 1);
  instance.settings.epsilon = 0.01;
  instance.settings.radius = 0.2;
  for (const std::size_t clients : {1U, 3U}) {
    std::atomic<bool> stop = false;
    RiskOptions options = plain();
    options.options.clients = clients;
    options.options.interrupt = &stop;
    options.radii = {0.3, 0.1, 0.15, 0.25};
    options.on_pass = [&](const RiskProgress& progress) { stop = stop || progress.radii_done == 2; };
    const RiskResult result = worst_case(instance.view(), options);
    EXPECT_EQ(result.status, Status::interrupted);
    EXPECT_EQ(result.worst.status, Status::converged);
    ASSERT_EQ(result.sweep.size(), 1U);
    EXPECT_EQ(result.sweep[0].radius, 0.1);
    EXPECT_EQ(result.moves.size(), 50U);
  }
}

TEST(RiskProgress, TellsHowFar) {
  RiskInstance instance = testing::random_points(50, 60, 2, 1);
  instance.settings.epsilon = 0.01;
  instance.settings.radius = 0.2;
  RiskOptions options = plain();
  options.options.clients = 3;
  options.radii = {0.1, 0.3};
  std::vector<RiskProgress> calls;
  options.on_pass = [&](const RiskProgress& progress) { calls.push_back(progress); };
  const RiskResult result = worst_case(instance.view(), options);
  ASSERT_EQ(calls.size(), static_cast<std::size_t>(result.passes));
  for (std::size_t k = 0; k < calls.size(); ++k) {
    EXPECT_EQ(calls[k].passes, static_cast<std::int64_t>(k + 1));
    EXPECT_EQ(calls[k].radii, 3U);
    EXPECT_LT(calls[k].radii_done, 3U);
  }
}

TEST(RiskLimit, OfPassesIsAStatus) {
  RiskInstance instance = testing::random_points(50, 60, 2, 1);
  instance.settings.epsilon = 0.001;
  instance.settings.radius = 0.1;
  RiskOptions options = plain();
  options.options.max_iterations = 1;
  const RiskResult result = worst_case(instance.view(), options);
  EXPECT_EQ(result.status, Status::iteration_limit);
  EXPECT_EQ(result.worst.status, Status::iteration_limit);
  EXPECT_GE(result.worst.dual, testing::linear_program(testing::widened(instance)) - 1e-9);
}

}  // namespace
}  // namespace fedsinkhorn
