// Newton's method on problems beyond a factor of the whole matrix.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "fedsinkhorn/solve.hpp"
#include "support/hard.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::largest_difference;

Options newton_on(std::size_t clients) {
  Options options;
  options.method = "newton";
  options.tolerance = 1e-10;
  options.threads = 1;
  options.clients = clients;
  options.topology = clients == 1 ? "centralized" : "row-reduce";
  if (clients > 1) options.row_weights = {3, 0, 1};
  return options;
}

TEST(LargeNewton, ConvergesToTheSamePotentialsOnAnyNumberOfClients) {
  const testing::OwnedProblem owned = testing::hard("clusters-2", 1100, 1200, 1e-4, 1);
  const Problem problem = owned.view();
  const Result alone = solve(problem, newton_on(1));
  const Result together = solve(problem, newton_on(3));
  for (const Result* result : {&alone, &together}) {
    EXPECT_EQ(result->status, Status::converged);
    EXPECT_LE(result->iterations, 600);
  }
  EXPECT_LE(largest_difference(alone.f, together.f), 1e-8);
  EXPECT_LE(largest_difference(alone.g, together.g), 1e-8);
}

// A product with the plan is a pass over K and an exchange like any other, and is counted as one.
TEST(LargeNewton, CountsItsProductsAsIterations) {
  const testing::OwnedProblem owned = testing::hard("random", 1100, 1100, 1e-3, 1);
  const Result result = solve(owned.view(), newton_on(3));
  ASSERT_EQ(result.status, Status::converged);
  // The first round counts as an iteration, but waits for nothing.
  EXPECT_EQ(result.exchanges, static_cast<std::uint64_t>(result.iterations - 1));
}

// More columns than rows, and forbidden pairs that leave separate parts.
TEST(LargeNewton, SolvesAwkwardProblems) {
  for (const char* family : {"separate", "one-hot", "wide-masses"}) {
    SCOPED_TRACE(family);
    const testing::OwnedProblem owned = testing::hard(family, 1050, 1300, 1e-3, 1);
    const Result result = solve(owned.view(), newton_on(1));
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(result.iterations, 2000);
  }
}

}  // namespace
}  // namespace fedsinkhorn
