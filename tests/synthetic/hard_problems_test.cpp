#include "synthetic/hard_problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "fedsinkhorn/solve.hpp"
#include "support/hard.hpp"

namespace fedsinkhorn {
namespace {

struct Shape {
  std::size_t n, m;
};
constexpr Shape kShapes[] = {{40, 40}, {33, 20}, {7, 50}};

class EveryFamily : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(HardProblems, EveryFamily, ::testing::ValuesIn(hard_families()), testing::name_of_family);

TEST_P(EveryFamily, HasTheShapeAndTheScaleThatAreStated) {
  for (const Shape shape : kShapes) {
    for (const std::uint64_t seed : {1, 2}) {
      const HardProblem problem = hard_problem(GetParam(), shape.n, shape.m, seed);
      EXPECT_EQ(problem.n, shape.n);
      EXPECT_EQ(problem.m, shape.m);
      ASSERT_EQ(problem.cost.size(), shape.n * shape.m);
      ASSERT_EQ(problem.a.size(), shape.n);
      ASSERT_EQ(problem.b.size(), shape.m);
      for (const auto& masses : {problem.a, problem.b}) {
        for (const double mass : masses) EXPECT_GT(mass, 0);
        EXPECT_NEAR(std::accumulate(masses.begin(), masses.end(), 0.0), 1, 1e-14);
      }
      double largest = 0;
      for (const double cost : problem.cost) {
        ASSERT_GE(cost, 0);  // and not NaN
        if (std::isfinite(cost)) largest = std::max(largest, cost);
      }
      EXPECT_EQ(largest, 1);
    }
  }
}

TEST_P(EveryFamily, CanBeSolved) {
  for (const Shape shape : kShapes) {
    const testing::OwnedProblem owned = testing::hard(GetParam(), shape.n, shape.m, 0.1, 3);
    EXPECT_EQ(solve(owned.view()).status, Status::converged) << shape.n << " x " << shape.m;
  }
}

TEST_P(EveryFamily, IsTheSameForTheSameSeedOnly) {
  const HardProblem first = hard_problem(GetParam(), 20, 15, 4);
  const HardProblem again = hard_problem(GetParam(), 20, 15, 4);
  EXPECT_EQ(first.cost, again.cost);
  EXPECT_EQ(first.a, again.a);
  EXPECT_EQ(first.b, again.b);
  EXPECT_NE(first.cost, hard_problem(GetParam(), 20, 15, 5).cost);
}

TEST(HardProblems, AnUnknownFamilyIsNamed) {
  try {
    (void)hard_problem("easy", 3, 3, 1);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("easy"), std::string::npos);
  }
}

TEST(HardProblems, PairsBetweenBlocksAreForbidden) {
  const HardProblem separate = hard_problem("separate", 9, 12, 1);
  const HardProblem bridges = hard_problem("bridges", 9, 12, 1);
  std::size_t crossings = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 12; ++j) {
      EXPECT_EQ(std::isinf(separate.cost[i * 12 + j]), i / 3 != j / 4);
      if ((i < 5) != (j < 6) && std::isfinite(bridges.cost[i * 12 + j])) ++crossings;
    }
  }
  EXPECT_EQ(crossings, 2U);
}

}  // namespace
}  // namespace fedsinkhorn
