// Costs as they are reported against costs of the plan, added up slowly in fifty digits.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <string>

#include "fedsinkhorn/solve.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;
using SlowNumber = boost::multiprecision::cpp_bin_float_50;

struct SlowCosts {
  SlowNumber linear = 0;
  SlowNumber linear_magnitude = 0;  // sum P |C|, of which a rounding error is a part
  SlowNumber p_log_p = 0;
  SlowNumber mass = 0;
  SlowNumber divergence = 0;  // sum P log(P / ab) - P + ab
};

SlowCosts slow_costs(const OwnedProblem& owned, const std::vector<double>& plan, std::size_t target) {
  SlowCosts sums;
  for (std::size_t i = 0; i < owned.n; ++i) {
    for (std::size_t j = 0; j < owned.m; ++j) {
      const SlowNumber p = plan[i * owned.m + j];
      const SlowNumber product = SlowNumber(owned.a[i]) * SlowNumber(owned.b[j * owned.targets + target]);
      sums.divergence += product;
      if (p == 0) continue;
      const SlowNumber cost = owned.cost[i * owned.m + j];
      sums.linear += p * cost;
      sums.linear_magnitude += p * abs(cost);
      sums.p_log_p += p * log(p);
      sums.mass += p;
      sums.divergence += p * log(p / product) - p;
    }
  }
  return sums;
}

void expect_cost_near(double reported, const SlowNumber& slow, const SlowNumber& scale, const char* name) {
  EXPECT_LE(abs(SlowNumber(reported) - slow).convert_to<double>(), (1e-12 * scale).convert_to<double>())
      << name << ": " << reported << " against " << slow;
}

void expect_costs_of_plan(const OwnedProblem& owned, const Result& result, std::size_t target) {
  const SlowCosts slow = slow_costs(owned, testing::whole_plan(owned.view(), result, target), target);
  const Costs& cost = result.per_target[target].cost;
  const SlowNumber epsilon = owned.epsilon;
  const SlowNumber entropy = slow.mass - slow.p_log_p;
  expect_cost_near(cost.linear, slow.linear, slow.linear_magnitude, "linear");
  expect_cost_near(cost.entropy, entropy, slow.mass + abs(slow.p_log_p), "entropy");
  expect_cost_near(cost.shannon_entropy, -slow.p_log_p, slow.mass + abs(slow.p_log_p), "Shannon entropy");
  expect_cost_near(cost.objective, slow.linear - epsilon * entropy, slow.linear_magnitude + epsilon * abs(entropy),
                   "objective");
  expect_cost_near(cost.kl_objective, slow.linear + epsilon * slow.divergence,
                   slow.linear_magnitude + epsilon * slow.divergence, "KL objective");
}

class CostsAtEpsilon : public ::testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Epsilon, CostsAtEpsilon,
                         ::testing::Values(1e-12, 1e-6, 1e-3, 0.1, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15),
                         [](const auto& info) {
                           const int exponent = static_cast<int>(std::lround(std::log10(info.param)));
                           return (exponent < 0 ? "Minus" : "Plus") + std::to_string(std::abs(exponent));
                         });

Options precise() {
  Options options;
  options.threads = 1;
  options.tolerance = 1e-10;
  options.max_iterations = 100000;
  return options;
}

TEST_P(CostsAtEpsilon, AreThoseOfThePlan) {
  const OwnedProblem owned = testing::random_problem(6, 7, GetParam(), 5);
  const Result result = solve(owned.view(), precise());
  EXPECT_EQ(result.status, Status::converged);
  expect_costs_of_plan(owned, result, 0);
}

TEST_P(CostsAtEpsilon, OfAnySignWithForbiddenPairs) {
  OwnedProblem owned = testing::random_problem(6, 7, GetParam(), 8);
  for (double& cost : owned.cost) cost -= 0.5;
  owned.cost[1 * 7 + 2] = owned.cost[3 * 7 + 3] = owned.cost[4 * 7 + 0] = testing::kInfinity;
  expect_costs_of_plan(owned, solve(owned.view(), precise()), 0);
}

TEST_P(CostsAtEpsilon, OfEveryTargetWithoutMassHereAndThere) {
  OwnedProblem owned = testing::random_problem(5, 6, GetParam(), 11, 3);
  owned.b[2 * 3 + 1] = 0;
  owned.a[3] = 0;
  testing::normalise(owned.a);
  testing::normalise(owned.b, 1, 3);
  const Result result = solve(owned.view(), precise());
  for (std::size_t k = 0; k < 3; ++k) {
    SCOPED_TRACE(k);
    expect_costs_of_plan(owned, result, k);
  }
  EXPECT_EQ(result.cost.linear,
            result.per_target[0].cost.linear + result.per_target[1].cost.linear + result.per_target[2].cost.linear);
}

TEST_P(CostsAtEpsilon, OfMassesThatAreNoProbabilities) {
  OwnedProblem owned = testing::random_problem(6, 7, GetParam(), 5);
  for (double& mass : owned.a) mass *= 37;
  for (double& mass : owned.b) mass *= 37;
  expect_costs_of_plan(owned, solve(owned.view(), precise()), 0);
}

TEST_P(CostsAtEpsilon, InEveryTopology) {
  const OwnedProblem owned = testing::random_problem(6, 7, GetParam(), 5);
  for (const std::string& topology : testing::topologies_in_step()) {
    SCOPED_TRACE(topology);
    Options options = precise();
    options.clients = 3;
    options.topology = topology;
    expect_costs_of_plan(owned, solve(owned.view(), options), 0);
  }
}

TEST(CostsOfFiftyDigits, AreThoseOfThePlan) {
  for (const double epsilon : {0.1, 1e6, 1e15}) {
    SCOPED_TRACE(epsilon);
    OwnedProblem owned = testing::random_problem(6, 7, epsilon, 5);
    for (double& mass : owned.a) mass *= 3;
    for (double& mass : owned.b) mass *= 3;
    Options options = precise();
    options.precision = Precision::digits50;
    expect_costs_of_plan(owned, solve(owned.view(), options), 0);
  }
}

}  // namespace
}  // namespace fedsinkhorn
