// Who owns which rows and columns.
#include "problem/shapes.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "problem/clients.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;
using Ranges = std::vector<Range>;

TEST(Deal, EvenlyUnlessThereAreWeights) {
  EXPECT_EQ(deal(6, 3, {}), (Ranges{{0, 2}, {2, 4}, {4, 6}}));
  EXPECT_EQ(deal(2, 4, {}), (Ranges{{0, 0}, {0, 1}, {1, 1}, {1, 2}}));
  EXPECT_EQ(deal(0, 2, {}), (Ranges{{0, 0}, {0, 0}}));
  EXPECT_EQ(deal(5, 1, {}), (Ranges{{0, 5}}));
}

TEST(Deal, InProportionToTheWeights) {
  using Weights = std::vector<double>;
  EXPECT_EQ(deal(12, 3, Weights{1, 2, 3}), (Ranges{{0, 2}, {2, 6}, {6, 12}}));
  EXPECT_EQ(deal(12, 3, Weights{0.25, 0.5, 0.25}), (Ranges{{0, 3}, {3, 9}, {9, 12}}));
  EXPECT_EQ(deal(10, 3, Weights{0, 1, 0}), (Ranges{{0, 0}, {0, 10}, {10, 10}}));
  EXPECT_EQ(deal(10, 3, Weights{0, 0, 1}), (Ranges{{0, 0}, {0, 0}, {0, 10}}));
  // One line goes to somebody, whatever the weights.
  EXPECT_EQ(deal(1, 3, Weights{1, 1, 1}), (Ranges{{0, 0}, {0, 1}, {1, 1}}));
  EXPECT_EQ(deal(0, 2, Weights{1, 1}), (Ranges{{0, 0}, {0, 0}}));
}

TEST(Deal, EveryLineToOneClientWhateverTheRounding) {
  const std::vector<std::vector<double>> awkward = {
      std::vector<double>(10, 0.1),  // sums to a little less than 1
      {1e-300, 1, 1e-300},          {1e300, 1, 1e300}, {1, 0, 0, 0, 1}, {std::numeric_limits<double>::denorm_min(), 1},
      {0.7, 0.1, 0.1, 0.1},
  };
  for (const std::vector<double>& weights : awkward) {
    double total = 0;
    for (const double weight : weights) total += weight;
    for (const std::size_t count : {0, 1, 2, 7, 101, 1000000}) {
      SCOPED_TRACE(::testing::PrintToString(weights) + ", " + std::to_string(count));
      const Ranges slices = deal(count, weights.size(), weights);
      ASSERT_EQ(slices.size(), weights.size());
      std::size_t next = 0;
      for (std::size_t k = 0; k < slices.size(); ++k) {
        ASSERT_EQ(slices[k].first, next);
        ASSERT_GE(slices[k].last, slices[k].first);
        // Both ends are rounded.
        ASSERT_NEAR(static_cast<double>(slices[k].size()), static_cast<double>(count) * (weights[k] / total), 1.001);
        next = slices[k].last;
      }
      ASSERT_EQ(next, count);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------

std::vector<Problem> for_all(const Problem& problem, std::size_t clients) {
  return std::vector<Problem>(clients, problem);
}

TEST(Shapes, ASquareIsDealtAlikeInBothDirections) {
  const OwnedProblem owned = testing::random_problem(12, 12, 0.1, 1);
  Options options;
  options.row_weights = {1, 2, 3};
  for (const CheckedProblem& checked : testing::checked_by_all(for_all(owned.view(), 3), "row-reduce", options)) {
    EXPECT_EQ(checked.rows.given_slices, (Ranges{{0, 2}, {2, 6}, {6, 12}}));
    EXPECT_EQ(checked.columns.given_slices, checked.rows.given_slices);
    EXPECT_EQ(checked.n(), checked.own_rows().size());
    EXPECT_EQ(checked.block_rows(), checked.own_rows());
    EXPECT_EQ(checked.block_columns(), (Range{0, 12}));
    EXPECT_EQ(checked.first_held_row, 0U);
  }
}

TEST(Shapes, AGridHoldsBlocks) {
  const OwnedProblem owned = testing::random_problem(12, 18, 0.1, 1);
  Options options;
  options.grid = {2, 3};
  const auto all = testing::checked_by_all(for_all(owned.view(), 6), "grid", options);
  std::vector<int> held(12 * 18);
  std::vector<int> owners(18);
  for (std::size_t k = 0; k < 6; ++k) {
    SCOPED_TRACE("client " + std::to_string(k));
    const Range rows = all[k].block_rows();
    const Range columns = all[k].block_columns();
    EXPECT_EQ(rows, k < 3 ? (Range{0, 6}) : (Range{6, 12}));
    EXPECT_EQ(columns, (Range{6 * (k % 3), 6 * (k % 3) + 6}));
    // What it owns lies in what it holds: its results stay where they are needed.
    EXPECT_GE(all[k].own_columns().first, columns.first);
    EXPECT_LE(all[k].own_columns().last, columns.last);
    EXPECT_EQ(all[k].own_rows(), (Range{2 * k, 2 * k + 2}));
    for (std::size_t i = rows.first; i < rows.last; ++i) {
      for (std::size_t j = columns.first; j < columns.last; ++j) ++held[i * 18 + j];
    }
    for (std::size_t j = all[k].own_columns().first; j < all[k].own_columns().last; ++j) ++owners[j];
  }
  EXPECT_EQ(held, std::vector<int>(12 * 18, 1));
  EXPECT_EQ(owners, std::vector<int>(18, 1));
}

TEST(Shapes, AStarsServerHoldsAll) {
  const OwnedProblem owned = testing::random_problem(6, 4, 0.1, 1);
  std::vector<Problem> problems = for_all(owned.view(), 3);
  problems[1].cost = problems[2].cost = CostMatrix{};
  const auto all = testing::checked_by_all(problems, "star");
  EXPECT_EQ(all[0].block_rows(), (Range{0, 6}));
  EXPECT_EQ(all[0].block_columns(), (Range{0, 4}));
  for (const std::size_t k : {1, 2}) {
    EXPECT_TRUE(all[k].block_rows().empty());
    EXPECT_EQ(all[k].rows.given, 6U);  // told by the server
    EXPECT_EQ(all[k].columns.given, 4U);
    EXPECT_EQ(all[k].own_rows(), (Range{2 * k, 2 * k + 2}));
  }
}

/// Client k holds rows cuts[k] to cuts[k + 1].
std::vector<Problem> in_parts_by_rows(const OwnedProblem& owned, const std::vector<std::size_t>& cuts) {
  std::vector<Problem> problems;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    Problem problem = owned.view();
    problem.cost =
        CostMatrix{MatrixView<double>{owned.cost.data() + cuts[k] * owned.m, cuts[k + 1] - cuts[k], owned.m}};
    problem.a = problem.a.subspan(cuts[k], cuts[k + 1] - cuts[k]);
    problem.parts.rows = problem.parts.a = true;
    problem.names.cost = "cost of " + std::to_string(k);
    problem.names.a = "a of " + std::to_string(k);
    problems.push_back(problem);
  }
  return problems;
}

TEST(Shapes, PartsSayWhoOwnsWhat) {
  const OwnedProblem owned = testing::random_problem(7, 5, 0.1, 1);
  const auto all = testing::checked_by_all(in_parts_by_rows(owned, {0, 0, 4, 7}), "row-reduce");
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(all[k].rows.given_slices, (Ranges{{0, 0}, {0, 4}, {4, 7}}));
    EXPECT_EQ(all[k].rows.given, 7U);
    EXPECT_EQ(all[k].first_held_row, (std::vector<std::size_t>{0, 0, 4}[k]));
    EXPECT_EQ(all[k].columns.given_slices, deal(5, 3, {}));
  }
}

void expect_all_mention(const std::vector<std::string>& complaints, const std::vector<std::string>& mentions) {
  for (const std::string& complaint : complaints) {
    EXPECT_EQ(complaint, complaints.front());
    for (const std::string& text : mentions) EXPECT_NE(complaint.find(text), std::string::npos) << complaint;
  }
}

TEST(Shapes, APartOfTheWrongLengthIsNamed) {
  const OwnedProblem owned = testing::random_problem(7, 5, 0.1, 1);
  for (const std::size_t culprit : {0, 1, 2}) {
    SCOPED_TRACE(culprit);
    std::vector<Problem> problems = in_parts_by_rows(owned, {0, 2, 4, 7});
    problems[culprit].a = problems[culprit].a.first(1);
    const std::string number = std::to_string(culprit);
    expect_all_mention(testing::complaints_about(problems, "row-reduce"), {"a of " + number, "1 masses"});
  }
}

TEST(Shapes, APartOfAnotherWidthIsNamed) {
  const OwnedProblem owned = testing::random_problem(7, 5, 0.1, 1);
  for (const std::size_t culprit : {1, 2}) {
    std::vector<Problem> problems = in_parts_by_rows(owned, {0, 2, 4, 7});
    std::get<CostMatrix>(problems[culprit].cost).matrix = MatrixView<double>{owned.cost.data(), 2, 4};
    expect_all_mention(testing::complaints_about(problems, "row-reduce"),
                       {"cost of " + std::to_string(culprit), "4 columns"});
  }
}

TEST(Shapes, WholeForSomeAndPartsForOthersIsRefused) {
  const OwnedProblem owned = testing::random_problem(6, 5, 0.1, 1);
  std::vector<Problem> problems = in_parts_by_rows(owned, {0, 2, 4, 6});
  problems[2] = owned.view();
  problems[2].names.cost = "cost of 2";
  expect_all_mention(testing::complaints_about(problems, "row-reduce"), {"cost of 2", "the whole"});
}

TEST(Shapes, NobodyHasCosts) {
  std::vector<Problem> problems(3);
  for (Problem& problem : problems) problem.epsilon = 1;
  for (const std::string& topology : testing::topologies_in_step()) {
    expect_all_mention(testing::complaints_about(problems, topology), {"cost", "no entries"});
  }
}

TEST(Shapes, OneHasPointsAndOneAMatrix) {
  const OwnedProblem owned = testing::random_problem(2, 2, 0.1, 1);
  std::vector<Problem> problems(2, owned.view());
  problems[1].cost =
      PointClouds{MatrixView<double>{owned.cost.data(), 2, 2}, MatrixView<double>{owned.cost.data(), 2, 2}};
  expect_all_mention(testing::complaints_about(problems, "row-reduce"), {"cost", "client 0"});
}

// A kernel that is made for the whole grid of pairs can tell whether it has it, and where its lines lie.
TEST(Blocks, KnowTheWholeTheyArePartOf) {
  testing::OwnedProblem owned = testing::random_problem(7, 5, 0.1, 3);
  const CheckedProblem all = check_problem(owned.view(), Feasibility::check, 1);
  EXPECT_TRUE(all.block().is_whole());
  owned.a[2] = 0;
  testing::normalise(owned.a);
  const CheckedProblem fewer = check_problem(owned.view(), Feasibility::check, 1);
  EXPECT_FALSE(fewer.block().is_whole());
  EXPECT_EQ(fewer.block().all_rows, 7U);
  EXPECT_EQ(fewer.block().all_columns, 5U);
  EXPECT_EQ(fewer.block().rows, (std::vector<std::size_t>{0, 1, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace fedsinkhorn
