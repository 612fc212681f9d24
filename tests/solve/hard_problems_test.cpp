// How many rounds `auto` needs where plain Sinkhorn is hopeless.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/random.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/hard.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

constexpr std::int64_t kMostRounds = 500;
constexpr std::int64_t kUsualRounds = 250;
constexpr double kShareOfUsual = 0.95;

Options limited() {
  Options options;
  options.threads = 1;
  options.max_iterations = kMostRounds;
  return options;
}

// Also where the limit allows no more: levels of epsilon get a share of it.
class Rounds : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(HardProblems, Rounds, ::testing::Values(Options().max_iterations, kMostRounds),
                         [](const auto& info) { return "Limit" + std::to_string(info.param); });

TEST_P(Rounds, AutoNeedsAFewHundred) {
  Options options = limited();
  options.max_iterations = GetParam();
  std::size_t problems = 0;
  std::size_t usual = 0;
  std::ostringstream slow;
  for (const std::string_view family : hard_families()) {
    for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{60, 60}, {50, 40}, {20, 150}}) {
      OwnedProblem owned = testing::hard(family, n, m, 1, 1);
      for (const double epsilon : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
        owned.epsilon = epsilon;
        const Result result = solve(owned.view(), options);
        std::ostringstream label;
        label << family << ", " << n << " x " << m << ", epsilon " << epsilon << ": " << result.iterations
              << " iterations, errors " << result.error.a << " and " << result.error.b;
        EXPECT_EQ(result.status, Status::converged) << label.str();
        EXPECT_LE(result.iterations, kMostRounds) << label.str();
        if (result.status == Status::converged) {
          EXPECT_LE(std::max(result.error.a, result.error.b), 1e-9) << label.str();
        }
        ++problems;
        if (result.iterations <= kUsualRounds) {
          ++usual;
        } else {
          slow << "\n" << label.str();
        }
      }
    }
  }
  EXPECT_GE(static_cast<double>(usual), kShareOfUsual * static_cast<double>(problems)) << slow.str();
}

// As reported: independent costs, uniform masses, a thousandth of the largest cost.
TEST(HardProblems, IndependentCostsWithUniformMasses) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const OwnedProblem owned = testing::hard("random", 100, 100, 1e-3, seed);
    Problem problem = owned.view();
    EXPECT_EQ(solve(problem, limited()).status, Status::converged) << "seed " << seed;
    problem.a = {};
    problem.b = {};
    EXPECT_EQ(solve(problem, limited()).status, Status::converged) << "seed " << seed << ", masses left out";
  }
}

// A little mass must cross between blocks that are nearly separate: less than ends a level, more than the tolerance.
// The potentials of the blocks then differ by the costs over epsilon, further than steps of the last level can carry
// them.
TEST(HardProblems, LittleMassBetweenBlocks) {
  const OwnedProblem blocks = testing::hard("blocks", 50, 40, 1e-6, 6);
  Options options = limited();
  options.max_iterations = 10'000;
  EXPECT_LE(solve(blocks.view(), options).iterations, kMostRounds);
  const OwnedProblem line = testing::hard("anti-monge", 60, 60, 1e-5, 2);
  options.method = "newton";
  options.tolerance = 1e-11;
  EXPECT_LE(solve(line.view(), options).iterations, kUsualRounds);
}

// Costs above those that matter, by a row, a column, a block or single pairs. Levels there say nothing about the
// others.
enum class Extra { row, column, block, rows_and_columns, outlier, bargain };

OwnedProblem with_extra(Extra extra, double amount, std::size_t n, std::size_t m, std::uint64_t seed) {
  OwnedProblem owned = testing::random_problem(n, m, 1e-6, seed);
  Random random(seed, 1);
  std::vector<double> of_row(n);
  std::vector<double> of_column(m);
  if (extra == Extra::row) of_row[1] = amount;
  if (extra == Extra::column) of_column[1] = amount;
  if (extra == Extra::rows_and_columns) {
    for (double& x : of_row) x = amount * random.uniform();
    for (double& x : of_column) x = -amount * random.uniform();
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      owned.cost[i * m + j] += of_row[i] + of_column[j];
      if (extra == Extra::block && 2 * i < n && 3 * j < m) owned.cost[i * m + j] += amount;
    }
  }
  if (extra == Extra::outlier) owned.cost[0] = amount;
  if (extra == Extra::bargain) owned.cost[0] = -amount;
  return owned;
}

TEST(HardProblems, OutliersAndOffsets) {
  for (const char* method : {"auto", "newton"}) {
    Options options = limited();
    options.method = method;
    for (const Extra extra :
         {Extra::row, Extra::column, Extra::block, Extra::rows_and_columns, Extra::outlier, Extra::bargain}) {
      for (const double amount : {1e3, 3e8}) {
        SCOPED_TRACE(std::string(method) + ", extra " + std::to_string(static_cast<int>(extra)) + ", " +
                     std::to_string(amount));
        const Result result = solve(with_extra(extra, amount, 60, 25, 1).view(), options);
        EXPECT_EQ(result.status, Status::converged);
        EXPECT_LE(result.iterations, kUsualRounds);
      }
    }
  }
}

// Under policy sums products take the place of matrices, but levels are the same.
TEST(HardProblems, AnOutlierUnderPolicySums) {
  Options options = limited();
  options.max_iterations = 2 * kMostRounds;
  options.clients = 3;
  options.policy = "sums";
  EXPECT_EQ(solve(with_extra(Extra::outlier, 3e8, 30, 20, 1).view(), options).status, Status::converged);
}

// Few rows, split between clients, and too many columns for a matrix over them.
TEST(HardProblems, FewRowsOfSeveralClients) {
  for (const double epsilon : {1e-3, 1e-5}) {
    const OwnedProblem owned = testing::random_problem(20, 1500, epsilon, 1);
    const Result alone = solve(owned.view(), limited());
    for (const char* topology : {"row-reduce", "all-to-all", "star"}) {
      SCOPED_TRACE(std::string(topology) + ", epsilon " + std::to_string(epsilon));
      Options options = limited();
      options.topology = topology;
      options.clients = 3;
      const Result result = solve(owned.view(), options);
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_NEAR(static_cast<double>(result.iterations), static_cast<double>(alone.iterations), 8);
      EXPECT_EQ(result.newton.products, 0);
    }
  }
}

// One target that acceleration is slow with must not keep the others from converging, nor they it.
TEST(HardProblems, OneHardTargetAmongEasyOnes) {
  constexpr std::size_t n = 50;
  constexpr std::size_t m = 40;
  constexpr std::size_t targets = 4;
  for (const std::string_view family : {"one-hot", "wide-masses", "dirichlet"}) {
    const OwnedProblem hard = testing::hard(family, n, m, 1, 3);
    OwnedProblem owned = testing::hard("square-2", n, m, 1, 3);
    owned.targets = targets;
    owned.b = testing::random_problem(n, m, 1, 9, targets).b;
    for (std::size_t j = 0; j < m; ++j) owned.b[j * targets + 2] = hard.b[j];
    for (const double epsilon : {1e-2, 1e-3, 1e-4, 1e-5}) {
      SCOPED_TRACE(std::string(family) + ", epsilon " + std::to_string(epsilon));
      owned.epsilon = epsilon;
      const Result result = solve(owned.view(), limited());
      for (std::size_t k = 0; k < targets; ++k) {
        EXPECT_EQ(result.per_target[k].status, Status::converged) << "target " << k;
        EXPECT_LE(result.per_target[k].error.a, 1e-9) << "target " << k;
        EXPECT_LE(result.per_target[k].error.b, 1e-9) << "target " << k;
      }
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
