// worst_case() at small epsilon against the linear program that it approximates.
#include "risk/linear_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace fedsinkhorn {
namespace {

using testing::RiskInstance;
using testing::WideProblem;

constexpr std::size_t kProgramDays = 40;
constexpr std::size_t kScenarios = 60;

/// Costs and losses in [0, 1).
RiskInstance instance_of_costs(unsigned seed) {
  RiskInstance instance = testing::random_costs(kProgramDays, kScenarios, 0.1, seed);
  testing::draw_masses(instance, seed);
  instance.settings.may_stay = seed % 2 == 1;
  return instance;
}

double radius_of(const RiskInstance& instance, double share) {
  const WideProblem wide = testing::widened(instance);
  return static_cast<double>(testing::least_radius(wide)) + share;
}

/// LP - loss.
struct Error {
  double of_all = 0;
  double of_binding = 0;
};

/// The bounds that hold whatever epsilon is.
void expect_bounds(const RiskInstance& instance, Error& largest) {
  const double exact = testing::linear_program(testing::widened(instance));
  RiskOptions options;
  options.options.threads = 1;
  const RiskResult result = worst_case(instance.view(), options);
  const double room = instance.settings.epsilon * std::log(static_cast<double>(kScenarios + 1));
  const WorstCase& worst = result.worst;
  EXPECT_EQ(worst.status, Status::converged);
  EXPECT_LE(worst.loss, exact + 1e-9);
  EXPECT_GE(worst.loss, exact - room - 1e-9);
  EXPECT_GE(worst.dual, exact - 1e-9);
  EXPECT_LE(worst.duality_gap(), room + 1e-9);
  largest.of_all = std::max(largest.of_all, exact - worst.loss);
  if (worst.is_binding) largest.of_binding = std::max(largest.of_binding, exact - worst.loss);
}

TEST(RiskLinearProgram, BoundsTheExpectedLoss) {
  for (const double epsilon : {0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
    Error largest;
    for (unsigned seed = 1; seed <= 6; ++seed) {
      for (const double share : {0.001, 0.03, 0.2, 2.0}) {
        SCOPED_TRACE("epsilon " + std::to_string(epsilon) + ", seed " + std::to_string(seed) + ", share " +
                     std::to_string(share));
        RiskInstance instance = instance_of_costs(seed);
        instance.settings.epsilon = epsilon;
        instance.settings.radius = radius_of(instance, share);
        expect_bounds(instance, largest);
      }
    }
    std::printf("epsilon %.0e: largest LP - loss %.3e, where the radius binds %.3e, epsilon log m %.3e\n", epsilon,
                largest.of_all, largest.of_binding, epsilon * std::log(kScenarios));
    // Much better than the bound: few days are torn between scenarios. Without a radius that binds, all are, if the
    // two largest losses differ by as little as epsilon.
    if (epsilon <= 1e-5) {
      EXPECT_LE(largest.of_binding, 1e-6);
    }
  }
}

TEST(RiskLinearProgram, BoundsTheTail) {
  for (const double epsilon : {1e-2, 1e-3, 1e-4, 1e-5}) {
    Error largest;
    for (unsigned seed = 1; seed <= 2; ++seed) {
      for (const double share : {0.003, 0.1}) {
        for (const double level : {0.5, 0.95}) {
          SCOPED_TRACE("epsilon " + std::to_string(epsilon) + ", seed " + std::to_string(seed) + ", share " +
                       std::to_string(share) + ", level " + std::to_string(level));
          RiskInstance instance = instance_of_costs(seed);
          instance.settings.epsilon = epsilon;
          instance.settings.cvar_level = level;
          instance.settings.radius = radius_of(instance, share);
          expect_bounds(instance, largest);
        }
      }
    }
    std::printf("CVaR, epsilon %.0e: largest LP - loss %.3e, where the radius binds %.3e\n", epsilon, largest.of_all,
                largest.of_binding);
    if (epsilon <= 1e-5) {
      EXPECT_LE(largest.of_binding, 3e-6);
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
