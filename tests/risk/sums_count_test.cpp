// Worst cases under policy sums: what is counted, and the limit on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "risk/reference.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

using testing::RiskInstance;

constexpr std::size_t kDeskDays = 40;
constexpr std::size_t kDeskScenarios = 30;
constexpr std::size_t kDeskAssets = 3;
constexpr std::size_t kDesks = 4;

RiskInstance desks(RiskCost cost, double level) {
  RiskInstance instance = testing::random_points(kDeskDays, kDeskScenarios, kDeskAssets, 31);
  testing::draw_masses(instance, 6);
  instance.settings.cost = cost;
  instance.settings.epsilon = 0.02;
  instance.settings.radius = cost == RiskCost::mahalanobis ? 2.0 : 0.4;
  instance.settings.cvar_level = level;
  return instance;
}

RiskOptions desks_by_sums() {
  RiskOptions options;
  options.options.threads = 1;
  options.options.clients = kDesks;
  options.options.policy = "sums";
  return options;
}

TEST(RiskSums, UnknownAreTheOthersReturnsAndMasses) {
  RiskInstance instance = desks(RiskCost::sqeuclidean, 0);
  const auto unknown_to_first = [&] { return worst_case(instance.view(), desks_by_sums()).clients.at(0).unknown; };
  const std::uint64_t others = kDeskDays - kDeskDays / kDesks;
  EXPECT_EQ(unknown_to_first(), others * (kDeskAssets + 1));
  instance.a.clear();
  EXPECT_EQ(unknown_to_first(), others * kDeskAssets);
}

TEST(RiskSums, OpenRunsCountNothing) {
  RiskOptions open = desks_by_sums();
  open.options.policy = "open";
  EXPECT_EQ(worst_case(desks(RiskCost::sqeuclidean, 0).view(), open).sums.seen, 0U);
}

/// A bound on the worst case holds wherever the search ends.
void expect_bound(const RiskResult& result, const RiskResult& best) {
  EXPECT_TRUE(std::isfinite(result.worst.loss));
  EXPECT_GE(result.worst.dual, best.worst.loss - 1e-9);
  EXPECT_EQ(result.scenario_weights.size(), kDeskScenarios);
}

struct LimitedRisk {
  RiskCost cost;
  double level;
  std::vector<double> radii;
};

std::vector<double> many_radii() {
  std::vector<double> radii;
  for (int k = 2; k <= 60; ++k) radii.push_back(0.02 * k);
  return radii;
}

class RiskSumsLimits : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static LimitedRisk run() {
    const std::vector<LimitedRisk> runs = {{RiskCost::sqeuclidean, 0, {}},
                                           {RiskCost::sqeuclidean, 0, many_radii()},
                                           {RiskCost::euclidean, 0.9, {}},
                                           {RiskCost::mahalanobis, 0, {}}};
    return runs.at(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Runs, RiskSumsLimits, ::testing::Range(std::size_t{0}, std::size_t{4}));

TEST_P(RiskSumsLimits, AreNeverExceeded) {
  RiskInstance instance = desks(run().cost, run().level);
  if (!run().radii.empty()) instance.settings.epsilon = 1e-4;  // takes many passes
  RiskOptions options = desks_by_sums();
  options.radii = run().radii;
  const RiskResult best = worst_case(instance.view(), options);
  ASSERT_EQ(best.status, Status::converged);
  ASSERT_GT(best.sums.seen, 0U);
  bool was_limited = false;
  bool was_refused = false;
  for (std::uint64_t limit = 100; limit <= best.sums.seen + 2000; limit += 100) {
    SCOPED_TRACE(limit);
    options.options.most_sums = limit;
    try {
      const RiskResult result = worst_case(instance.view(), options);
      EXPECT_LE(result.sums.seen, limit);
      EXPECT_TRUE(result.status == Status::converged || result.status == Status::sums_limit);
      was_limited = was_limited || result.status == Status::sums_limit;
      expect_bound(result, best);
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find("most_sums: "), 0U) << error.what();
      was_refused = true;
    }
  }
  EXPECT_TRUE(was_refused);
  EXPECT_EQ(worst_case(instance.view(), options).sums.seen, best.sums.seen);
  if (!run().radii.empty() || run().level > 0) {  // else the search takes fewer than the least limit
    EXPECT_TRUE(was_limited);
  }
}

TEST(RiskSums, TheLimitHoldsForAllSolvesOfAStressTogether) {
  const RiskInstance instance = desks(RiskCost::sqeuclidean, 0);
  const std::vector<double> b(kDeskScenarios, 1.0 / kDeskScenarios);
  RiskProblem problem = instance.view();
  problem.radius = 3;
  RiskOptions options = desks_by_sums();
  problem.radius = 0.7 * stressed_plan(problem, {b, {}}, options).largest_radius;
  const RiskResult best = stressed_plan(problem, {b, {}}, options);
  ASSERT_EQ(best.status, Status::converged);
  ASSERT_TRUE(best.worst.is_binding);
  std::size_t limited = 0;
  constexpr std::uint64_t least = 1100;
  ASSERT_GT(best.sums.seen, 2 * least);
  for (std::uint64_t part = 0; part <= 8; ++part) {
    options.options.most_sums = least + part * (best.sums.seen - least) / 7;
    SCOPED_TRACE(options.options.most_sums);
    const RiskResult result = stressed_plan(problem, {b, {}}, options);
    EXPECT_LE(result.sums.seen, options.options.most_sums);
    if (result.status == Status::sums_limit)
      ++limited;
    else
      EXPECT_EQ(result.status, Status::converged);
    EXPECT_TRUE(std::isfinite(result.worst.transport_cost));
  }
  EXPECT_GT(limited, 2U);
}

// Ten assets: their covariance has more numbers than there are scenarios.
TEST(RiskSums, ALargeCovarianceIsAddedUpOnlyIfAskedFor) {
  RiskInstance instance = testing::random_points(kDeskDays, kDeskScenarios, 10, 32);
  instance.settings.cost = RiskCost::mahalanobis;
  instance.settings.epsilon = 0.02;
  instance.settings.radius = 20;
  RiskOptions options = desks_by_sums();
  const std::string line = test::line_of<InputError>([&] { (void)worst_case(instance.view(), options); });
  EXPECT_NE(line.find("share_matrices"), std::string::npos) << line;
  options.options.share_matrices = true;
  const RiskResult result = worst_case(instance.view(), options);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.sums.matrices, 1U);
  options.options.share_matrices = false;
  instance.covariance.assign(100, 0.0);
  for (std::size_t k = 0; k < 10; ++k) instance.covariance[11 * k] = 1;
  EXPECT_EQ(worst_case(instance.view(), options).sums.matrices, 0U);
}

}  // namespace
}  // namespace fedsinkhorn
