// Methods that end with Newton's steps against fifty digits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fedsinkhorn/solve.hpp"
#include "support/hard.hpp"
#include "support/plans.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

/// Plain Sinkhorn in fifty digits converges like (1 - gap)^k, so what needs more iterations has a gap below 0.012. A
/// marginal error e means an error of about e / gap in the plan: 1e-9 for e = 1e-11.
constexpr std::int64_t kWellConditioned = 2500;

class SmallProblems : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(FiftyDigits, SmallProblems, ::testing::ValuesIn(hard_families()), testing::name_of_family);

// Where fifty digits take too long, the problem is badly conditioned. There only what the tolerance is about is
// compared: the marginals of the plan, and its dual value with the objective, which enclose the least objective.
TEST_P(SmallProblems, PlansAreThoseOfFiftyDigits) {
  Random random(1);
  std::size_t compared = 0;
  for (const double epsilon : {1e-1, 3e-2, 1e-2, 3e-3, 1e-3}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const std::size_t n = 3 + random.below(10);
      const std::size_t m = 3 + random.below(10);
      SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(m) + ", epsilon " + std::to_string(epsilon) + ", seed " +
                   std::to_string(seed));
      const OwnedProblem owned = testing::hard(GetParam(), n, m, epsilon, seed);
      const Problem problem = owned.view();
      Options options;
      options.threads = 1;
      options.precision = Precision::digits50;
      options.tolerance = 1e-13;
      options.max_iterations = kWellConditioned;
      const Result exact = solve(problem, options);
      const std::vector<double> expected = testing::whole_plan(problem, exact);
      compared += exact.status == Status::converged ? 1 : 0;

      options.precision = Precision::float64;
      options.tolerance = 1e-11;
      options.max_iterations = 500;
      for (const char* method : {"newton", "auto"}) {
        options.method = method;
        const Result result = solve(problem, options);
        EXPECT_EQ(result.status, Status::converged) << method << ' ' << result.error.a << ' ' << result.error.b;
        const std::vector<double> plan = testing::whole_plan(problem, result);
        EXPECT_LE(testing::plan_error(plan, owned.a, owned.b), 2e-11) << method;
        EXPECT_NEAR(result.cost.objective, result.cost.dual, 1e-9) << method;
        if (exact.status != Status::converged) {
          EXPECT_GE(result.cost.dual, exact.cost.dual - 1e-10) << method << ": more rounds, a better bound";
          continue;
        }
        EXPECT_LE(testing::l1_distance(plan, expected), 1e-9) << method << ", " << exact.iterations << " iterations";
        EXPECT_NEAR(result.cost.linear, exact.cost.linear, 1e-9) << method;
        EXPECT_NEAR(result.cost.objective, exact.cost.objective, 1e-10) << method;
      }
    }
  }
  EXPECT_GE(compared, 2U) << "a test that compares nothing";
}

}  // namespace
}  // namespace fedsinkhorn
