// At small epsilon the transport cost jumps where a day leaves one scenario for another: budgets between both ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "risk/linear_program.hpp"
#include "risk/reference.hpp"

namespace fedsinkhorn {
namespace {

using testing::RiskInstance;

std::size_t size_up_to(Random& random, double most) { return static_cast<std::size_t>(random.uniform(1, most + 1)); }

/// Points or costs, of any shape and scale; scenarios twice, costs and losses that tie, days without mass.
RiskInstance drawn(unsigned seed) {
  Random random(seed, 7);
  const bool has_points = random.uniform() < 0.6;
  const std::size_t n = size_up_to(random, random.uniform() < 0.3 ? 3 : 60);
  const std::size_t m = size_up_to(random, random.uniform() < 0.2 ? 3 : 60);
  RiskInstance instance = has_points ? testing::random_points(n, m, 1 + size_up_to(random, 5), seed)
                                     : testing::random_costs(n, m, seed % 3 == 0 ? 0.3 : 0, seed);
  const double kind = random.uniform();
  if (has_points) {
    instance.settings.cost = static_cast<RiskCost>(size_up_to(random, 4) - 1);
    instance.settings.are_gains = random.uniform() < 0.5;
    if (instance.settings.cost == RiskCost::mahalanobis) {
      instance.covariance.assign(instance.d * instance.d, 0);
      for (std::size_t k = 0; k < instance.d; ++k) instance.covariance[k * instance.d + k] = random.uniform(0.5, 2);
    }
    if (kind < 0.2) std::ranges::fill(instance.weights, 0.0);
    if (kind > 0.8)
      std::copy_n(instance.scenarios.begin(), m / 2 * instance.d,
                  instance.scenarios.end() - static_cast<std::ptrdiff_t>(m / 2 * instance.d));
    for (double& x : instance.returns) x = kind > 0.9 ? std::round(4 * x) / 4 + 0.1 : x;
  } else {
    const double scale = std::pow(10, random.uniform(-4, 4));
    for (double& cost : instance.costs) cost = scale * (kind < 0.3 ? std::floor(5 * cost) : cost);
    for (double& loss : instance.scenario_losses) loss = kind > 0.8 ? 1 : kind > 0.6 ? std::floor(4 * loss) : loss;
  }
  if (seed % 2 == 0) testing::draw_masses(instance, seed);
  instance.settings.may_stay = random.uniform() < 0.5;
  instance.settings.epsilon = std::pow(10, random.uniform(-9, -5));
  return instance;
}

/// From the least radius to more than can be spent; some of them exactly what a plan without ties spends.
double drawn_radius(const RiskInstance& instance, Random& random) {
  testing::WideProblem wide = testing::widened(instance);
  const double least = std::max(0.0, static_cast<double>(testing::least_radius(wide)));  // cosines round
  const auto largest = std::max(least, static_cast<double>(testing::plan_at(wide, 0).transport_cost));
  const double kind = random.uniform();
  if (kind < 0.05) return least;
  if (kind < 0.1) return 3 * largest;
  if (kind < 0.3) return least + (largest - least) * std::pow(10, random.uniform(-9, 0));
  if (kind > 0.4) return least + (largest - least) * random.uniform();
  wide.epsilon = 1e-15;
  return std::max(least, static_cast<double>(testing::plan_at(wide, random.uniform(0.1, 5)).transport_cost));
}

double largest_loss(const testing::WideProblem& wide) {
  double largest = 0;
  for (const testing::Wide loss : wide.losses) largest = std::max(largest, std::abs(static_cast<double>(loss)));
  return largest;
}

/// Nearly the exact worst case, from below. (Entropy costs epsilon / 3 at most where a day is torn between two losses.)
void expect_exact(const WorstCase& worst, RiskInstance instance) {
  instance.settings.radius = worst.radius;
  const testing::WideProblem wide = testing::widened(instance);
  const double exact = testing::dual_program(wide);
  const double rounding = 1e-12 * largest_loss(wide);
  EXPECT_EQ(worst.status, Status::converged);
  EXPECT_LE(worst.transport_cost, worst.radius * (1 + 1e-9) + 1e-15);
  EXPECT_LE(worst.loss, exact + 1e-9 * worst.lambda * worst.radius + rounding);
  EXPECT_GE(worst.loss, exact - 1e-6 * largest_loss(wide));
  EXPECT_GE(worst.dual, exact - rounding);
}

/// The plan that is reported is the one that has this loss and this cost.
void expect_plan(const RiskResult& result) {
  double cost = 0;
  double loss = 0;
  double mass = result.stays;
  for (const DayMove& move : result.moves) {
    cost += move.mass * move.cost;
    loss += move.mass * move.loss_after;
    EXPECT_LE(move.share, 1 + 1e-12);
  }
  for (const double weight : result.scenario_weights) mass += weight;
  EXPECT_NEAR(mass, 1, 1e-10);
  EXPECT_NEAR(cost, result.worst.transport_cost, 1e-9 * cost + 1e-15);
  EXPECT_NEAR(loss, result.worst.loss, 1e-9 * std::abs(loss) + 1e-11);
}

RiskResult solved_with(const RiskInstance& instance, std::size_t clients, const std::string& policy) {
  RiskOptions options;
  options.options.threads = 1;
  options.options.clients = clients;
  options.options.policy = policy;
  return worst_case(instance.view(), options);
}

TEST(RiskJumps, AThousandProblemsAndTheirLinearPrograms) {
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 8);
    RiskInstance instance = drawn(seed);
    instance.settings.radius = drawn_radius(instance, random);
    const RiskResult result = worst_case(instance.view(), seed % 2 == 0 ? testing::precise() : RiskOptions{});
    expect_exact(result.worst, instance);
    expect_plan(result);
  }
}

/// Below the rounding of losses, entropy no longer matters.
TEST(RiskJumps, AnyEpsilon) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 8);
    RiskInstance instance = drawn(seed);
    instance.settings.radius = drawn_radius(instance, random);
    instance.settings.epsilon = std::pow(10, random.uniform(-40, -10));
    const RiskResult result = worst_case(instance.view());
    expect_exact(result.worst, instance);
    expect_plan(result);
  }
}

TEST(RiskJumps, DualProgramsAreLinearPrograms) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Random random(seed, 9);
    RiskInstance instance = testing::random_costs(12, 15, 0.2, seed);
    instance.settings.radius = 0.1 + 0.3 * random.uniform();
    const testing::WideProblem wide = testing::widened(instance);
    EXPECT_NEAR(testing::dual_program(wide), testing::linear_program(wide), 1e-9) << seed;
  }
}

/// Gain 1 for a cost of 1: the budget is the part of the day that moves, and the worst case. Lambda is 1.
TEST(RiskJumps, OneDayBetweenTwoScenarios) {
  RiskInstance instance;
  instance.n = 1;
  instance.m = 2;
  instance.costs = {0, 1};
  instance.scenario_losses = {0, 1};
  for (const double epsilon : {1e-5, 1e-9, 1e-13, 1e-20, 1e-300}) {
    for (const double radius : {1e-9, 0.3, 0.999}) {
      SCOPED_TRACE("epsilon " + std::to_string(std::log10(epsilon)) + ", radius " + std::to_string(radius));
      instance.settings.epsilon = epsilon;
      instance.settings.radius = radius;
      const RiskResult result = worst_case(instance.view());
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_NEAR(result.worst.loss, radius, 2e-9 * radius);
      EXPECT_NEAR(result.worst.transport_cost, radius, 2e-9 * radius);
      EXPECT_NEAR(result.worst.lambda, 1, 1e-3);
      EXPECT_GE(result.worst.dual, radius);
      EXPECT_NEAR(result.scenario_weights[1], radius, 2e-9 * radius);
      const DayMove& move = result.moves.at(0);
      EXPECT_EQ(move.scenario, radius > 0.5 ? 1U : 0U);
      EXPECT_NEAR(move.share, std::max(radius, 1 - radius), 1e-8);
    }
  }
}

TEST(RiskJumps, ClientsMixTheSamePlan) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 8);
    RiskInstance instance = drawn(seed);
    instance.settings.radius = drawn_radius(instance, random);
    const RiskResult alone = solved_with(instance, 1, "open");
    for (const std::size_t clients : {3U, 5U}) {
      for (const std::string policy : {"open", "sums"}) {
        const RiskResult together = solved_with(instance, clients, policy);
        expect_exact(together.worst, instance);
        EXPECT_NEAR(together.worst.loss, alone.worst.loss, 1e-8 * largest_loss(testing::widened(instance)));
        const double mass =
            std::accumulate(together.scenario_weights.begin(), together.scenario_weights.end(), together.stays);
        EXPECT_NEAR(mass, 1, 1e-10);
      }
    }
  }
}

TEST(RiskJumps, SweepsAndTheirLinearPrograms) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Random random(seed, 8);
    RiskInstance instance = drawn(seed);
    instance.settings.radius = drawn_radius(instance, random);
    RiskOptions options;
    options.options.threads = 1;
    options.skips_unreachable = true;
    for (int k = 0; k < 12; ++k)
      options.radii.push_back(instance.settings.radius * std::pow(10, random.uniform(-1, 1)));
    for (const WorstCase& one : worst_case(instance.view(), options).sweep) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", radius " + std::to_string(one.radius));
      expect_exact(one, instance);
    }
  }
}

TEST(RiskJumps, TailsAndTheirLinearPrograms) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 8);
    RiskInstance instance = testing::random_costs(size_up_to(random, 12), size_up_to(random, 15), 0.2, seed);
    instance.settings.may_stay = seed % 2 == 0;
    instance.settings.epsilon = std::pow(10, random.uniform(-9, -6));
    instance.settings.cvar_level = random.uniform(0.1, 0.9);
    instance.settings.radius = drawn_radius(instance, random);
    const double exact = testing::linear_program(testing::widened(instance));
    const RiskResult result = worst_case(instance.view());
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_NEAR(result.worst.loss, exact, 1e-6 + 10 * instance.settings.epsilon);
    EXPECT_GE(result.worst.dual, exact - 1e-8);
  }
}

/// A search that a limit ends is not converged, even if the last part of it was: a CVaR has a search per threshold.
TEST(RiskJumps, ALimitTellsTheTruth) {
  for (const double level : {0.0, 0.5, 0.8}) {
    for (const double epsilon : {1e-2, 1e-7}) {
      RiskInstance instance = testing::random_costs(12, 15, 0.2, 6);
      instance.settings.epsilon = epsilon;
      instance.settings.cvar_level = level;
      instance.settings.radius = static_cast<double>(testing::least_radius(testing::widened(instance))) + 0.1;
      const WorstCase whole = worst_case(instance.view()).worst;
      std::size_t converged = 0;
      for (int limit = 1; limit <= 30; ++limit) {
        SCOPED_TRACE("limit " + std::to_string(limit) + ", level " + std::to_string(level));
        RiskOptions options;
        options.options.max_iterations = limit;
        const WorstCase worst = worst_case(instance.view(), options).worst;
        EXPECT_GE(worst.dual, whole.loss - 1e-9);
        if (worst.status != Status::converged) continue;
        ++converged;
        EXPECT_NEAR(worst.loss, whole.loss, 1e-8);
      }
      EXPECT_GT(converged, 5U);
      EXPECT_LT(converged, 30U);
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
