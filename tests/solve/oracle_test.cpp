// The fast solver against fifty digits.
#include <gtest/gtest.h>

#include "fedsinkhorn/solve.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

struct OracleCase {
  std::size_t n;
  std::size_t m;
  double epsilon;  // of the largest cost
  bool zero_weights;
  bool forbidden;
  double cost_offset;
  std::uint64_t seed;
};

OwnedProblem make(const OracleCase& c) {
  OwnedProblem problem = c.epsilon < 0.01 ? testing::point_problem(c.n, c.m, c.epsilon, c.seed)
                                          : testing::random_problem(c.n, c.m, c.epsilon, c.seed);
  Random random(c.seed, 2);
  if (c.forbidden) {
    // A tenth of the pairs, never those of the first row and column: any masses can still be moved... through them.
    for (std::size_t i = 1; i < c.n; ++i) {
      for (std::size_t j = 1; j < c.m; ++j) {
        if (random.uniform() < 0.1) problem.cost[i * c.m + j] = testing::kInfinity;
      }
    }
  }
  if (c.zero_weights) {
    problem.a[c.n / 2] = 0;
    problem.a[c.n - 1] = 0;
    problem.b[0] = 0;
    testing::normalise(problem.a);
    testing::normalise(problem.b);
  }
  for (double& cost : problem.cost) cost += c.cost_offset;
  return problem;
}

std::vector<OracleCase> cases() {
  std::vector<OracleCase> list;
  std::uint64_t seed = 101;
  for (const double epsilon : {1.0, 0.1, 0.01, 1e-3, 1e-4}) {
    for (const bool zero_weights : {false, true}) {
      for (const bool forbidden : {false, true}) {
        list.push_back({5 + seed % 7, 4 + seed % 9, epsilon, zero_weights, forbidden, 0, seed});
        ++seed;
        list.push_back({12, 9, epsilon, zero_weights, forbidden, seed % 3 == 0 ? -2.5 : 0.0, seed});
        ++seed;
      }
    }
  }
  return list;
}

class AgainstFiftyDigits : public ::testing::TestWithParam<OracleCase> {};
INSTANTIATE_TEST_SUITE_P(Random, AgainstFiftyDigits, ::testing::ValuesIn(cases()), [](const auto& info) {
  const OracleCase& c = info.param;
  return std::to_string(c.n) + "x" + std::to_string(c.m) + "_eps" + std::to_string(static_cast<int>(1e4 * c.epsilon)) +
         "e_4" + (c.zero_weights ? "_zeros" : "") + (c.forbidden ? "_forbidden" : "") + "_seed" +
         std::to_string(c.seed);
});

TEST_P(AgainstFiftyDigits, PlansAgree) {
  const OwnedProblem owned = make(GetParam());
  const Problem problem = owned.view();
  Options options;
  options.tolerance = 1e-12;
  options.max_iterations = 200000;
  options.precision = Precision::digits50;
  const Result exact = solve(problem, options);
  ASSERT_EQ(exact.status, Status::converged) << exact.error.a;
  const std::vector<double> expected = testing::whole_plan(problem, exact);

  options.precision = Precision::float64;
  for (const KernelKind kernel : {KernelKind::dense, KernelKind::online}) {
    for (const Passes passes : {Passes::fused, Passes::two}) {
      options.kernel = kernel;
      options.passes = passes;
      const Result fast = solve(problem, options);
      ASSERT_EQ(fast.status, Status::converged) << fast.error.a;
      const std::vector<double> plan = testing::whole_plan(problem, fast);
      EXPECT_LE(testing::l1_distance(plan, expected), 1e-10) << exact.iterations << " and " << fast.iterations;
      EXPECT_LE(testing::plan_error(plan, owned.a, owned.b), 2e-12);
      EXPECT_LE(fast.error.a, 1e-12);
      EXPECT_LE(fast.error.b, 1e-12);
      EXPECT_NEAR(fast.cost.linear, exact.cost.linear, 1e-10);
      EXPECT_NEAR(fast.cost.entropy, exact.cost.entropy, 1e-8);
      EXPECT_NEAR(fast.cost.objective, exact.cost.objective, 1e-10);
      EXPECT_NEAR(fast.cost.dual, exact.cost.dual, 1e-10);
    }
  }
  options.stabilization = Stabilization::log;
  options.tolerance = 1e-10;  // the log domain loses digits to large potentials
  const Result log = solve(problem, options);
  ASSERT_EQ(log.status, Status::converged);
  EXPECT_LE(testing::l1_distance(testing::whole_plan(problem, log), expected), 1e-7);
}

}  // namespace
}  // namespace fedsinkhorn
