// Passes that leave out pairs of no weight: with epsilon so small, and so many scenarios, that most are left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "risk/reference.hpp"

namespace fedsinkhorn {
namespace {

using testing::precise;
using testing::RiskInstance;
using testing::WidePlan;

/// As the reference, at several radii in one call: later ones meet the lists of earlier ones.
void expect_right_at(RiskInstance instance, const std::vector<double>& radii) {
  RiskOptions options = precise();
  options.radii = radii;
  instance.settings.radius = radii.front();
  const RiskResult result = worst_case(instance.view(), options);
  ASSERT_EQ(result.sweep.size(), radii.size());
  for (std::size_t k = 0; k < radii.size(); ++k) {
    SCOPED_TRACE("radius " + std::to_string(radii[k]));
    instance.settings.radius = radii[k];
    const WidePlan reference = testing::reference_worst_case(testing::widened(instance));
    const auto loss = static_cast<double>(reference.loss);
    const auto scale = static_cast<double>(reference.lambda) * radii[k] + std::abs(loss);
    EXPECT_EQ(result.sweep[k].status, Status::converged);
    EXPECT_NEAR(result.sweep[k].loss, loss, 2e-6 * scale);
    EXPECT_NEAR(result.sweep[k].lambda, static_cast<double>(reference.lambda),
                2e-3 * static_cast<double>(reference.lambda));
    EXPECT_NEAR(result.sweep[k].transport_cost, static_cast<double>(reference.transport_cost), 1e-8 * radii[k]);
    EXPECT_GE(result.sweep[k].dual, loss - 1e-9 * scale);
    if (k > 0) continue;
    EXPECT_NEAR(result.worst.loss, loss, 1e-9 * scale);
    for (std::size_t j = 0; j < result.columns; ++j) {
      EXPECT_NEAR(result.scenario_weights[j], static_cast<double>(reference.columns[j]), 1e-8) << j;
    }
  }
}

TEST(ActivePairs, ChangeNoWorstCaseOfPoints) {
  for (const double epsilon : {1e-2, 1e-4}) {
    for (const bool may_stay : {false, true}) {
      SCOPED_TRACE("epsilon " + std::to_string(epsilon) + (may_stay ? ", days may stay" : ""));
      RiskInstance instance = testing::random_points(20, 250, 2, 11);
      testing::draw_masses(instance, 12);
      instance.settings.epsilon = epsilon;
      instance.settings.may_stay = may_stay;
      const auto least = static_cast<double>(testing::least_radius(testing::widened(instance)));
      std::vector<double> radii;
      for (const double more : {0.05, 0.06, 0.12, 0.35, 0.01}) radii.push_back(least + more);
      expect_right_at(std::move(instance), radii);
    }
  }
}

TEST(ActivePairs, ChangeNoWorstCaseWithForbiddenMoves) {
  for (const double forbidden : {0.3, 0.95}) {
    RiskInstance instance = testing::random_costs(20, 200, forbidden, 21);
    instance.settings.epsilon = 2e-4;
    const auto least = static_cast<double>(testing::least_radius(testing::widened(instance)));
    expect_right_at(std::move(instance), {least + 0.01, least + 0.02, least + 0.005, least + 0.04});
  }
}

/// The budget is a tiny share of the largest cost: weights that elsewhere count for nothing are all there is.
TEST(ActivePairs, ATinyBudgetIsSpentToItsLastDigits) {
  for (const double radius : {1e-6, 1e-10, 1e-14}) {
    SCOPED_TRACE("radius " + std::to_string(std::log10(radius)));
    RiskInstance instance = testing::random_points(20, 200, 2, 31);
    instance.settings.epsilon = 1e-3;
    instance.settings.may_stay = true;
    instance.settings.radius = radius;
    const WidePlan reference = testing::reference_worst_case(testing::widened(instance));
    const RiskResult result = worst_case(instance.view(), precise());
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_NEAR(result.worst.transport_cost, radius, 1e-11 * radius);
    EXPECT_NEAR(result.worst.lambda, static_cast<double>(reference.lambda),
                1e-8 * static_cast<double>(reference.lambda));
  }
}

TEST(ActivePairs, DoNotDependOnHowDaysAreDealt) {
  RiskInstance instance = testing::random_points(41, 300, 2, 41);
  instance.settings.epsilon = 1e-3;
  instance.settings.may_stay = true;
  instance.settings.radius = 0.05;
  RiskOptions options = precise();
  options.radii = {0.02, 0.04, 0.08, 0.16};
  const RiskResult alone = worst_case(instance.view(), options);
  for (const std::size_t clients : {3U, 7U}) {
    options.options.clients = clients;
    const RiskResult together = worst_case(instance.view(), options);
    EXPECT_EQ(together.worst.loss, alone.worst.loss);
    EXPECT_EQ(together.worst.lambda, alone.worst.lambda);
    for (std::size_t k = 0; k < options.radii.size(); ++k) EXPECT_EQ(together.sweep[k].loss, alone.sweep[k].loss);
  }
}

}  // namespace
}  // namespace fedsinkhorn
