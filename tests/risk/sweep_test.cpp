// Many radii at once: each as if it were asked for alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "risk/reference.hpp"

namespace fedsinkhorn {
namespace {

using testing::precise;
using testing::RiskInstance;

RiskInstance swept_instance(bool has_points, double epsilon) {
  RiskInstance instance = has_points ? testing::random_points(30, 50, 2, 12) : testing::random_costs(30, 50, 0.2, 12);
  instance.settings.epsilon = epsilon;
  return instance;
}

double largest_radius(const RiskInstance& instance) {
  return static_cast<double>(testing::plan_at(testing::widened(instance), 0).transport_cost);
}

/// From the least radius to beyond the largest one: twenty, not in order, one of them twice.
std::vector<double> radii_for(const RiskInstance& instance) {
  const double least = static_cast<double>(testing::least_radius(testing::widened(instance)));
  const double range = largest_radius(instance) - least;
  std::vector<double> radii;
  for (int k = 0; k < 19; ++k) radii.push_back(least + range * std::pow(1.2 * ((k * 7) % 19 + 1) / 19, 2));
  radii.push_back(radii[4]);
  return radii;
}

void compare_with_single_radii(RiskInstance instance) {
  RiskOptions options = precise();
  options.radii = radii_for(instance);
  instance.settings.radius = options.radii[7];
  const RiskResult all = worst_case(instance.view(), options);
  EXPECT_EQ(all.status, Status::converged);
  ASSERT_EQ(all.sweep.size(), options.radii.size());
  for (std::size_t k = 0; k < all.sweep.size(); ++k) {
    instance.settings.radius = options.radii[k];
    const WorstCase alone = worst_case(instance.view(), precise()).worst;
    const WorstCase& one = all.sweep[k];
    SCOPED_TRACE("radius " + std::to_string(options.radii[k]));
    EXPECT_EQ(one.radius, options.radii[k]);
    EXPECT_EQ(one.status, alone.status);
    EXPECT_EQ(one.is_binding, alone.is_binding);
    EXPECT_NEAR(one.loss, alone.loss, 1e-6 * std::abs(alone.loss));
    EXPECT_NEAR(one.lambda, alone.lambda, 1e-3 * alone.lambda + 1e-9);
    EXPECT_NEAR(one.transport_cost, alone.transport_cost, 1e-9 * alone.transport_cost);
    EXPECT_NEAR(one.dual, alone.dual, 1e-4 * std::abs(alone.dual));
    EXPECT_GE(one.dual, one.loss);
    EXPECT_NEAR(one.entropic_primal, alone.entropic_primal, 1e-6 * std::abs(alone.entropic_primal));
    EXPECT_NEAR(one.entropic_dual, alone.entropic_dual, 1e-6 * std::abs(alone.entropic_dual));
    if (instance.settings.cvar_level > 0) {
      EXPECT_NEAR(one.value_at_risk, alone.value_at_risk, 1e-4);
    }
  }
}

TEST(RiskSweep, IsEachRadiusAlone) {
  for (const bool has_points : {true, false}) {
    for (const double epsilon : {0.1, 0.01, 0.001, 1e-4}) {
      SCOPED_TRACE("points " + std::to_string(has_points) + ", epsilon " + std::to_string(epsilon));
      compare_with_single_radii(swept_instance(has_points, epsilon));
    }
  }
}

TEST(RiskSweep, OfTailsIsEachRadiusAlone) {
  for (const double epsilon : {0.1, 0.01}) {
    for (const bool stays : {false, true}) {
      SCOPED_TRACE("epsilon " + std::to_string(epsilon) + ", stays " + std::to_string(stays));
      RiskInstance instance = swept_instance(true, epsilon);
      instance.settings.cvar_level = 0.9;
      instance.settings.may_stay = stays;
      compare_with_single_radii(instance);
    }
  }
}

TEST(RiskSweep, AroundTheLargestRadius) {
  RiskInstance instance = swept_instance(true, 0.01);
  const double largest = largest_radius(instance);
  RiskOptions options = precise();
  options.radii = {largest * 0.99,       largest * (1 - 1e-6), largest,
                   largest * (1 + 1e-6), largest * (1 + 1e-5), largest * 1.001};
  instance.settings.radius = 0.9 * largest;
  const RiskResult all = worst_case(instance.view(), options);
  EXPECT_NEAR(all.largest_radius, largest, 1e-12);
  for (const WorstCase& one : all.sweep) {
    EXPECT_GE(one.lambda, 0) << one.radius / largest - 1;
    EXPECT_LE(one.transport_cost, largest * (1 + 1e-12)) << one.radius / largest - 1;
    if (one.radius > largest * (1 + 1e-9)) {
      EXPECT_FALSE(one.is_binding) << one.radius / largest - 1;
    }
  }
}

TEST(RiskSweep, IsMonotoneAndConcave) {
  RiskInstance instance = swept_instance(true, 0.01);
  const double least = static_cast<double>(testing::least_radius(testing::widened(instance)));
  RiskOptions options = precise();
  const double step = 1.2 * (largest_radius(instance) - least) / 20;
  for (int k = 1; k <= 20; ++k) options.radii.push_back(least + k * step);
  instance.settings.radius = 0.1;
  const std::vector<WorstCase> sweep = worst_case(instance.view(), options).sweep;
  for (std::size_t k = 1; k < sweep.size(); ++k) {
    EXPECT_GE(sweep[k].loss, sweep[k - 1].loss - 1e-9);
    EXPECT_GE(sweep[k].entropic_primal, sweep[k - 1].entropic_primal - 1e-9);
    EXPECT_LE(sweep[k].lambda, sweep[k - 1].lambda + 1e-9);
    if (k < 2) continue;
    // What is maximised is concave; its slope is lambda.
    const double rise = sweep[k].entropic_primal - sweep[k - 1].entropic_primal;
    EXPECT_LE(rise, sweep[k - 1].entropic_primal - sweep[k - 2].entropic_primal + 1e-9);
    EXPECT_LE(rise, sweep[k - 1].lambda * step + 1e-9);
    EXPECT_GE(rise, sweep[k].lambda * step - 1e-9);
  }
}

TEST(RiskSweep, VisitedPointsLieOnTheCurve) {
  RiskInstance instance = swept_instance(false, 0.01);
  RiskOptions options = precise();
  options.radii = radii_for(instance);
  instance.settings.radius = options.radii[3];
  const std::vector<WorstCase> visited = worst_case(instance.view(), options).visited;
  ASSERT_GT(visited.size(), 5U);
  EXPECT_TRUE(std::is_sorted(visited.begin(), visited.end(),
                             [](const WorstCase& one, const WorstCase& other) { return one.radius < other.radius; }));
  const double largest = largest_radius(instance);
  for (const WorstCase& one : visited) {
    if (one.radius >= largest * (1 - 1e-9)) continue;
    instance.settings.radius = one.radius;
    const WorstCase alone = worst_case(instance.view(), precise()).worst;
    EXPECT_NEAR(one.loss, alone.loss, 1e-8) << one.radius;
    EXPECT_NEAR(one.lambda, alone.lambda, 1e-5 * alone.lambda) << one.radius;
    EXPECT_NEAR(one.dual, alone.dual, 1e-7) << one.radius;
  }
}

/// A plateau: at tiny epsilon, the excess is constant over wide ranges of lambda, and radii may fall on it.
TEST(RiskSweep, OnPlateaus) {
  RiskInstance instance = swept_instance(false, 1e-5);
  instance.settings.radius = static_cast<double>(testing::least_radius(testing::widened(instance))) + 0.1;
  RiskOptions options = precise();
  for (const WorstCase& one : worst_case(instance.view(), precise()).visited) {
    for (const double factor : {1.0, 1 - 1e-15, 1 + 1e-15, 1 - 1e-12}) options.radii.push_back(one.radius * factor);
  }
  const RiskResult all = worst_case(instance.view(), options);
  ASSERT_EQ(all.sweep.size(), options.radii.size());
  for (const WorstCase& one : all.sweep) {
    EXPECT_GE(one.dual, one.loss - 1e-9) << one.radius;  // the tolerance of the cost
    EXPECT_LE(one.duality_gap(), 1e-4) << one.radius;
    EXPECT_GE(one.lambda, 0);
  }
}

}  // namespace
}  // namespace fedsinkhorn
