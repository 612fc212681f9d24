// Small epsilon against exact linear programs.
#include <gtest/gtest.h>

#include <cmath>

#include "fedsinkhorn/solve.hpp"
#include "support/hard.hpp"
#include "support/transport_lp.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;
using testing::TransportLp;

TEST(LinearProgram, ByHand) {
  // Row 0 fills column 1 for nothing; what it has left must go to column 0 with row 1.
  const std::vector<double> cost = {2, 0, 1, 5};
  const TransportLp program(cost, {0.7, 0.3}, {0.6, 0.4});
  EXPECT_NEAR(program.value, 0.3 * 2 + 0.3 * 1, 1e-15);
  EXPECT_NEAR(program.dual, program.value, 1e-15);
  EXPECT_EQ(program.infeasibility, 0);
}

// The greedy choice, (0, 0) and then (1, 1), is the wrong one: the first path is undone by the second.
TEST(LinearProgram, ByHandWithAChangeOfMind) {
  const std::vector<double> cost = {0, 1, 0.5, 10};
  const TransportLp program(cost, {0.5, 0.5}, {0.5, 0.5});
  EXPECT_NEAR(program.value, 0.75, 1e-15);
  EXPECT_NEAR(program.dual, 0.75, 1e-15);
}

double entropy(const std::vector<double>& masses) {
  double sum = 0;
  for (const double mass : masses) sum -= mass * std::log(mass);
  return sum;
}

class AgainstLinearPrograms : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Families, AgainstLinearPrograms, ::testing::ValuesIn(hard_families()),
                         testing::name_of_family);

// <P, C> - epsilon H(P) is least at the entropic plan P. H(P) is at most H(a) + H(b), and at least the larger of them
// at the plan of the program. So 0 <= <P, C> - value <= epsilon min(H(a), H(b)), which is below epsilon log(n m).
TEST_P(AgainstLinearPrograms, TheCostIsAsNearAsEpsilonAllows) {
  constexpr double tolerance = 1e-9;
  std::uint64_t seed = 0;
  for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{40, 40}, {30, 37}, {35, 30}}) {
    OwnedProblem owned = testing::hard(GetParam(), n, m, 1, ++seed);
    const TransportLp program(owned.cost, owned.a, owned.b);
    ASSERT_NEAR(program.value, program.dual, 1e-13);
    ASSERT_LE(program.infeasibility, 1e-14);
    ASSERT_LE(program.left, 1e-14);
    const double least = std::max(entropy(owned.a), entropy(owned.b));
    const double most = entropy(owned.a) + entropy(owned.b);
    for (const double epsilon : {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
      owned.epsilon = epsilon;
      for (const char* method : {"auto", "newton"}) {
        SCOPED_TRACE(std::string(method) + ", " + std::to_string(n) + " x " + std::to_string(m) + ", epsilon " +
                     std::to_string(epsilon));
        Options options;
        options.method = method;
        options.threads = 1;
        options.tolerance = tolerance;
        const Result result = solve(owned.view(), options);
        EXPECT_EQ(result.status, Status::converged);
        // Mass that is not where it should be is worth at most the largest cost, 1, in a plan, and at most the range
        // of the program's potentials in a bound.
        const double excess = result.cost.linear - program.value;
        EXPECT_GE(excess, -100 * tolerance);
        EXPECT_LE(excess, epsilon * std::min(least, most - least) + 2 * tolerance);
        const double dual = result.cost.dual + epsilon - program.value;  // the objective has -epsilon (H + 1)
        EXPECT_GE(dual, -epsilon * most - 100 * tolerance);
        EXPECT_LE(dual, -epsilon * least + 2 * tolerance);
      }
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
