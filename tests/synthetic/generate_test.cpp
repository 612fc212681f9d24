#include "synthetic/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/npy.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

std::vector<double> column_of_masses(const std::vector<double>& matrix, std::size_t columns, std::size_t t) {
  std::vector<double> values;
  for (std::size_t j = t; j < matrix.size(); j += columns) values.push_back(matrix[j]);
  return values;
}

double total(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

std::vector<double> cost_matrix(const SyntheticProblem& problem) {
  std::vector<double> cost;
  for_each_cost_block(problem, [&](std::size_t first_row, std::span<const double> values) {
    EXPECT_EQ(first_row * problem.spec.columns, cost.size());
    cost.insert(cost.end(), values.begin(), values.end());
  });
  return cost;
}

double squared_distance(const SyntheticProblem& problem, std::size_t i, std::size_t j) {
  const std::size_t d = problem.spec.dimension;
  double sum = 0;
  for (std::size_t k = 0; k < d; ++k) {
    const double difference = problem.x[i * d + k] - problem.y[j * d + k];
    sum += difference * difference;
  }
  return sum;
}

double largest_by_brute_force(const SyntheticProblem& problem) {
  double largest = 0;
  for (std::size_t i = 0; i < problem.spec.rows; ++i) {
    for (std::size_t j = 0; j < problem.spec.columns; ++j) largest = std::max(largest, squared_distance(problem, i, j));
  }
  return largest;
}

TEST(RandomTest, GivesTheSameNumbersEverywhere) {
  // Written down once; a machine or a change that gives others breaks every published problem.
  Random random(1);
  EXPECT_EQ(random.bits(), 8144083929183497542U);
  EXPECT_EQ(random.uniform(), 0.32840228721762499);
  EXPECT_EQ(random.normal(), -0.72687558939145513);
  EXPECT_EQ(random.normal(), 0.65782302062161246);
  EXPECT_EQ(random.below(1000), 406U);
}

TEST(RandomTest, SeedsAndStreamsDiffer) {
  EXPECT_NE(Random(1).bits(), Random(2).bits());
  EXPECT_NE(Random(1, 0).bits(), Random(1, 1).bits());
  EXPECT_NE(Random(0, 1).bits(), Random(1, 0).bits());
}

TEST(RandomTest, UniformFillsTheUnitInterval) {
  Random random(3);
  double sum = 0;
  constexpr int kDraws = 100000;
  for (int k = 0; k < kDraws; ++k) {
    const double value = random.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
}

TEST(RandomTest, NormalHasTheMomentsOfANormal) {
  Random random(4);
  constexpr int kDraws = 200000;
  double first = 0;
  double second = 0;
  double fourth = 0;
  int beyond_two = 0;
  for (int k = 0; k < kDraws; ++k) {
    const double z = random.normal();
    first += z;
    second += z * z;
    fourth += z * z * z * z;
    beyond_two += std::abs(z) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(first / kDraws, 0, 0.01);
  EXPECT_NEAR(second / kDraws, 1, 0.015);
  EXPECT_NEAR(fourth / kDraws, 3, 0.12);
  EXPECT_NEAR(static_cast<double>(beyond_two) / kDraws, 0.0455, 0.002);
}

TEST(RandomTest, BelowReachesEveryValue) {
  Random random(5);
  std::vector<int> count(7, 0);
  for (int k = 0; k < 7000; ++k) ++count.at(random.below(7));
  for (const int c : count) EXPECT_NEAR(c, 1000, 150);
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_LT(random.below(std::numeric_limits<std::uint64_t>::max()), std::numeric_limits<std::uint64_t>::max());
}

TEST(GenerateTest, SameSeedSameNumbersForEveryKind) {
  SyntheticSpec spec;
  spec.rows = 20;
  spec.columns = 15;
  spec.dimension = 3;
  spec.targets = 2;
  spec.marginal_decades = 3;
  spec.seed = 7;
  for (const CloudKind kind : all_choices<CloudKind>()) {
    const std::string_view name = name_of(kind);
    spec.kind = kind;
    const SyntheticProblem one = generate(spec);
    const SyntheticProblem two = generate(spec);
    EXPECT_EQ(one.x, two.x) << name;
    EXPECT_EQ(one.y, two.y) << name;
    EXPECT_EQ(one.a, two.a) << name;
    EXPECT_EQ(one.b, two.b) << name;

    SyntheticSpec other = spec;
    other.seed = 8;
    const SyntheticProblem three = generate(other);
    EXPECT_NE(one.x, three.x) << name;
    EXPECT_NE(one.y, three.y) << name;
    EXPECT_NE(one.a, three.a) << name;
    EXPECT_NE(one.b, three.b) << name;
  }
}

TEST(GenerateTest, PinnedValues) {
  SyntheticSpec spec;
  spec.rows = 5;
  spec.columns = 4;
  spec.seed = 1;
  spec.cost_scale = 0;
  spec.random_marginals = true;
  const SyntheticProblem uniform = generate(spec);
  EXPECT_DOUBLE_EQ(uniform.x[0], 0.71669132095293619);
  EXPECT_DOUBLE_EQ(uniform.y[7], 0.38977079239087009);
  EXPECT_DOUBLE_EQ(uniform.a[4], 0.19928986246755923);
  EXPECT_DOUBLE_EQ(uniform.b[0], 0.29726425106692594);
  spec.kind = CloudKind::gaussian;
  EXPECT_DOUBLE_EQ(generate(spec).y[3], 0.43781972213989928);
  spec.kind = CloudKind::clusters;
  EXPECT_DOUBLE_EQ(generate(spec).x[3], 0.8248288775776359);
  spec.kind = CloudKind::embedding;
  EXPECT_NEAR(generate(spec).x[3], -0.94505506971525299, 1e-14);
}

TEST(GenerateTest, ShapesFollowTheSpec) {
  SyntheticSpec spec;
  spec.rows = 6;
  spec.columns = 9;
  spec.dimension = 4;
  spec.targets = 3;
  const SyntheticProblem problem = generate(spec);
  EXPECT_EQ(problem.x.size(), 24U);
  EXPECT_EQ(problem.y.size(), 36U);
  EXPECT_EQ(problem.a.size(), 6U);
  EXPECT_EQ(problem.b.size(), 27U);
  EXPECT_EQ(cost_matrix(problem).size(), 54U);

  spec.columns = 0;
  EXPECT_EQ(generate(spec).spec.columns, 6U);
}

TEST(GenerateTest, SharedSupportRepeatsTheSource) {
  SyntheticSpec spec;
  spec.rows = 10;
  spec.same_points = true;
  const SyntheticProblem problem = generate(spec);
  EXPECT_EQ(problem.x, problem.y);
  const std::vector<double> cost = cost_matrix(problem);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(cost[i * 10 + i], 0);
}

TEST(GenerateTest, MoreTargetsLeaveTheRestUnchanged) {
  SyntheticSpec spec;
  spec.rows = 12;
  spec.random_marginals = true;
  const SyntheticProblem one = generate(spec);
  spec.targets = 4;
  const SyntheticProblem four = generate(spec);
  EXPECT_EQ(one.x, four.x);
  EXPECT_EQ(one.a, four.a);
  EXPECT_EQ(one.b, column_of_masses(four.b, 4, 0));
  EXPECT_NE(column_of_masses(four.b, 4, 0), column_of_masses(four.b, 4, 1));
}

TEST(GenerateTest, EmbeddingVectorsHaveNormNearOne) {
  SyntheticSpec spec;
  spec.kind = CloudKind::embedding;
  spec.rows = 200;
  spec.dimension = 48;
  spec.cost_scale = 0;
  const SyntheticProblem problem = generate(spec);
  for (std::size_t i = 0; i < 200; ++i) {
    double norm = 0;
    for (std::size_t k = 0; k < 48; ++k) norm += problem.x[i * 48 + k] * problem.x[i * 48 + k];
    EXPECT_NEAR(std::sqrt(norm), 1, 0.3);
  }
}

TEST(GenerateTest, LargestCostIsTheScale) {
  SyntheticSpec spec;
  spec.rows = 70;
  spec.columns = 53;
  for (const CloudKind kind : all_choices<CloudKind>()) {
    const std::string_view name = name_of(kind);
    for (const std::size_t dimension : {1U, 2U, 17U}) {
      spec.kind = kind;
      spec.dimension = dimension;
      spec.cost_scale = 2.5;
      const SyntheticProblem scaled = generate(spec);
      EXPECT_TRUE(scaled.largest_cost_exact);
      EXPECT_NEAR(largest_by_brute_force(scaled), 2.5, 1e-13) << name << " " << dimension;
      spec.cost_scale = 0;
      const SyntheticProblem drawn = generate(spec);
      EXPECT_DOUBLE_EQ(largest_by_brute_force(drawn), drawn.largest_cost) << name << " " << dimension;
    }
  }
}

TEST(GenerateTest, OnePointOnItselfCostsNothing) {
  SyntheticSpec spec;
  spec.rows = 1;
  spec.same_points = true;
  const SyntheticProblem problem = generate(spec);
  EXPECT_EQ(problem.largest_cost, 0);
  EXPECT_EQ(cost_matrix(problem), std::vector<double>{0.0});
  EXPECT_EQ(problem.a, std::vector<double>{1.0});
}

TEST(GenerateTest, MassesAreUniformByDefault) {
  SyntheticSpec spec;
  spec.rows = 8;
  spec.columns = 5;
  const SyntheticProblem problem = generate(spec);
  EXPECT_EQ(problem.a, std::vector<double>(8, 0.125));
  EXPECT_EQ(problem.b, std::vector<double>(5, 0.2));
}

TEST(GenerateTest, MassesSpanTheDecades) {
  SyntheticSpec spec;
  spec.rows = 4000;
  spec.dimension = 1;
  spec.marginal_decades = 6;
  const SyntheticProblem problem = generate(spec);
  EXPECT_NEAR(total(problem.a), 1, 1e-12);
  const auto [low, high] = std::minmax_element(problem.a.begin(), problem.a.end());
  EXPECT_LE(*high / *low, 1e6 * (1 + 1e-12));
  EXPECT_GE(*high / *low, 1e6 * 0.9);
}

TEST(GenerateTest, RandomMassesStayWithinADecade) {
  SyntheticSpec spec;
  spec.rows = 500;
  spec.random_marginals = true;
  const SyntheticProblem problem = generate(spec);
  EXPECT_NEAR(total(problem.a), 1, 1e-13);
  const auto [low, high] = std::minmax_element(problem.a.begin(), problem.a.end());
  EXPECT_LE(*high / *low, 10 * (1 + 1e-12));
  EXPECT_GT(*high / *low, 5);
}

TEST(GenerateTest, ZeroMassesAreExactlyAsManyAsAsked) {
  SyntheticSpec spec;
  spec.rows = 40;
  spec.columns = 50;
  spec.targets = 3;
  spec.zero_mass = 0.3;
  spec.random_marginals = true;
  const SyntheticProblem problem = generate(spec);
  EXPECT_EQ(std::count(problem.a.begin(), problem.a.end(), 0.0), 12);
  EXPECT_NEAR(total(problem.a), 1, 1e-14);
  for (std::size_t t = 0; t < 3; ++t) {
    const std::vector<double> b = column_of_masses(problem.b, 3, t);
    EXPECT_EQ(std::count(b.begin(), b.end(), 0.0), 15);
    EXPECT_NEAR(total(b), 1, 1e-14);
  }
}

TEST(GenerateTest, OneMassAlwaysStays) {
  SyntheticSpec spec;
  spec.rows = 1;
  spec.columns = 2;
  spec.zero_mass = 0.99;
  const SyntheticProblem problem = generate(spec);
  EXPECT_EQ(problem.a, std::vector<double>{1.0});
  EXPECT_EQ(total(problem.b), 1.0);
}

TEST(GenerateTest, CostsAreSquaredDistances) {
  SyntheticSpec spec;
  spec.rows = 33;
  spec.columns = 18;  // not a multiple of the tile
  spec.dimension = 5;
  const SyntheticProblem problem = generate(spec);
  const std::vector<double> cost = cost_matrix(problem);
  for (std::size_t i = 0; i < 33; ++i) {
    for (std::size_t j = 0; j < 18; ++j) EXPECT_DOUBLE_EQ(cost[i * 18 + j], squared_distance(problem, i, j));
  }
}

TEST(GenerateTest, CostsComeInSeveralBlocksWithoutAGap) {
  SyntheticSpec spec;
  spec.rows = 900;
  spec.columns = 1000;  // more than one block of 2^19 values
  const SyntheticProblem problem = generate(spec);
  std::size_t blocks = 0;
  std::size_t values_seen = 0;
  for_each_cost_block(problem, [&](std::size_t first_row, std::span<const double> values) {
    EXPECT_EQ(first_row * 1000, values_seen);
    EXPECT_DOUBLE_EQ(values[3], squared_distance(problem, first_row, 3));
    values_seen += values.size();
    ++blocks;
  });
  EXPECT_EQ(values_seen, 900000U);
  EXPECT_GT(blocks, 1U);
}

/// Walks the north-west-corner plan by moving what is left of the masses, and reports every pair it uses.
template <class Visit>
void walk_north_west_corner(std::vector<double> a, std::vector<double> b, const Visit& visit) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const double moved = std::min(a[i], b[j]);
    if (moved > 0) visit(i, j);
    a[i] -= moved;
    b[j] -= moved;
    if (a[i] <= b[j]) {
      ++i;
    } else {
      ++j;
    }
  }
}

TEST(GenerateTest, ForbiddenPairsLeaveEveryTargetFeasible) {
  SyntheticSpec spec;
  spec.columns = 90;
  spec.targets = 3;
  spec.forbidden = 0.95;
  spec.zero_mass = 0.2;
  for (const std::size_t rows : {1U, 60U, 90U, 400U}) {
    for (const double decades : {0.0, 5.0, 14.0}) {
      spec.rows = rows;
      spec.marginal_decades = decades;
      const SyntheticProblem problem = generate(spec);
      const std::vector<double> cost = cost_matrix(problem);
      EXPECT_EQ(std::count_if(cost.begin(), cost.end(), [](double c) { return std::isnan(c) || c < 0; }), 0);
      for (std::size_t t = 0; t < spec.targets; ++t) {
        walk_north_west_corner(
            problem.a, column_of_masses(problem.b, spec.targets, t), [&](std::size_t i, std::size_t j) {
              EXPECT_TRUE(std::isfinite(cost[i * spec.columns + j])) << rows << " " << decades << " " << i << " " << j;
            });
      }
    }
  }
}

TEST(GenerateTest, EqualMassesKeepTheDiagonal) {
  // Every step of the staircase is a tie here: rounding must not decide.
  SyntheticSpec spec;
  spec.rows = 97;
  spec.forbidden = 0.999;
  const std::vector<double> cost = cost_matrix(generate(spec));
  for (std::size_t i = 0; i < 97; ++i) EXPECT_TRUE(std::isfinite(cost[i * 97 + i]));
}

TEST(GenerateTest, ForbiddenShareIsAboutWhatWasAsked) {
  SyntheticSpec spec;
  spec.rows = 300;
  spec.columns = 400;
  spec.forbidden = 0.25;
  const std::vector<double> cost = cost_matrix(generate(spec));
  const auto forbidden =
      static_cast<double>(std::count(cost.begin(), cost.end(), std::numeric_limits<double>::infinity()));
  EXPECT_NEAR(forbidden / 120000, 0.25, 0.01);
}

TEST(GenerateTest, NorthWestCornerByHand) {
  const std::vector<double> a{0.5, 0.0, 0.5};
  const std::vector<double> b{0.25, 0.5, 0.25};
  const std::vector<ColumnRange> ranges = north_west_corner(a, b);
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].first, 0U);
  EXPECT_EQ(ranges[0].last, 1U);
  EXPECT_EQ(ranges[1].first, 1U);
  EXPECT_EQ(ranges[1].last, 1U);
  EXPECT_EQ(ranges[2].first, 1U);
  EXPECT_EQ(ranges[2].last, 2U);
}

TEST(GenerateTest, WritesTheCostsItHandsOut) {
  SyntheticSpec spec;
  spec.rows = 30;
  spec.columns = 20;
  spec.forbidden = 0.3;
  const SyntheticProblem problem = generate(spec);
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "fedsinkhorn_generate_test_cost.npy";
  write_cost(problem, path);
  {
    const NpyFile file = NpyFile::open(path);
    ASSERT_EQ(file.shape().size(), 2U);
    EXPECT_EQ(file.shape()[0], 30U);
    EXPECT_EQ(file.shape()[1], 20U);
    EXPECT_EQ(file.to_vector(), cost_matrix(problem));
  }
  std::filesystem::remove(path);
}

/// The message of the InputError that the spec causes, or nothing.
std::string complaint(const SyntheticSpec& spec) {
  return test::line_of<InputError>([&] { (void)generate(spec); }, "");
}

TEST(GenerateTest, NonsenseIsRefusedByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto with = [](auto change) {
    SyntheticSpec spec;
    spec.rows = 10;
    change(spec);
    return complaint(spec);
  };
  EXPECT_EQ(with([](SyntheticSpec&) {}), "");
  EXPECT_EQ(with([](SyntheticSpec& s) { s.rows = 0; }).rfind("--rows", 0), 0U);
  EXPECT_EQ(with([](SyntheticSpec& s) { s.dimension = 0; }).rfind("--dimension", 0), 0U);
  EXPECT_EQ(with([](SyntheticSpec& s) { s.targets = 0; }).rfind("--targets", 0), 0U);
  EXPECT_EQ(with([](SyntheticSpec& s) { s.marginal_decades = -1; }).rfind("--decades", 0), 0U);
  EXPECT_EQ(with([](SyntheticSpec& s) { s.zero_mass = 1; }).rfind("--zero-mass", 0), 0U);
  EXPECT_EQ(with([&](SyntheticSpec& s) { s.zero_mass = nan; }).rfind("--zero-mass", 0), 0U);
  EXPECT_EQ(with([](SyntheticSpec& s) { s.cost_scale = -1; }).rfind("--cost-scale", 0), 0U);
  EXPECT_EQ(with([](SyntheticSpec& s) { s.forbidden = 1; }).rfind("--forbidden", 0), 0U);
  EXPECT_EQ(with([](SyntheticSpec& s) { s.rows = std::numeric_limits<std::size_t>::max() / 4; }).rfind("--rows", 0),
            0U);
  EXPECT_EQ(with([](SyntheticSpec& s) {
              s.same_points = true;
              s.columns = 11;
            }).rfind("--columns", 0),
            0U);
}

}  // namespace
}  // namespace fedsinkhorn
