// The potential to start from: every client gets its own slice of it, without the columns that have no mass, and a bad
// one is complained about by all alike.
#include "problem/initial_g.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "problem/clients.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

using testing::expect_all_say;
using testing::kInfinity;
using testing::OwnedProblem;

using testing::kNan;

/// Value of line j and column k: no other is like it.
double value(std::size_t j, std::size_t k) { return static_cast<double>(j) + 0.25 * static_cast<double>(k) - 3; }

std::vector<double> values(std::size_t lines, std::size_t columns) {
  std::vector<double> g;
  for (std::size_t j = 0; j < lines; ++j) {
    for (std::size_t k = 0; k < columns; ++k) g.push_back(value(j, k));
  }
  return g;
}

Problem with_start(const OwnedProblem& owned, const std::vector<double>& g, std::size_t columns = 1) {
  Problem problem = owned.view();
  problem.initial_g = {g.data(), g.size() / columns, columns};
  return problem;
}

/// Client k has lines cuts[k] to cuts[k + 1] of the start and, if b is to be in parts too, of b.
std::vector<Problem> with_start_in_parts(const OwnedProblem& owned, const std::vector<double>& g, std::size_t columns,
                                         const std::vector<std::size_t>& cuts, bool b_too) {
  std::vector<Problem> problems;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    Problem problem = owned.view();
    problem.initial_g = {g.data() + cuts[k] * columns, cuts[k + 1] - cuts[k], columns};
    problem.parts.initial_g = true;
    problem.names.initial_g = "g of " + std::to_string(k);
    if (b_too) problem.b = {problem.b.row(cuts[k]), cuts[k + 1] - cuts[k], problem.b.columns};
    problem.parts.b = b_too;
    problems.push_back(problem);
  }
  return problems;
}

/// Each client's values are those of its columns, and all columns are somebody's. columns: of the start as given.
void expect_slices(const std::vector<CheckedProblem>& all, std::size_t columns) {
  std::size_t met = 0;
  for (const CheckedProblem& checked : all) {
    SCOPED_TRACE("client " + std::to_string(checked.client));
    EXPECT_TRUE(checked.has_initial_g);
    met += checked.m();
    for (std::size_t k = 0; k < checked.targets; ++k) {
      const double* g = checked.initial_g(k);
      ASSERT_NE(g, nullptr);
      for (std::size_t j = 0; j < checked.m(); ++j) {
        const std::size_t line = checked.columns.active[checked.own_columns().first + j];
        const bool has_mass = checked.target(k)[j] > 0;
        EXPECT_EQ(g[j], has_mass ? value(line, columns == 1 ? 0 : k) : -kInfinity) << "line " << line;
      }
    }
  }
  EXPECT_EQ(met, all.front().columns.size());
}

/// Three targets: columns 0 and 5 have no mass in any of them, column 2 none in the first, column 7 in the last alone.
OwnedProblem with_gaps(std::size_t n, std::size_t m) {
  OwnedProblem owned = testing::random_problem(n, m, 0.1, 1, 3);
  for (const std::size_t j : {0, 5}) {
    for (const std::size_t k : {0, 1, 2}) owned.b[3 * j + k] = 0;
  }
  owned.b[3 * 2] = owned.b[3 * 7] = owned.b[3 * 7 + 1] = 0;
  for (const std::size_t k : {0, 1, 2}) testing::normalise(owned.b, k, 3);
  return owned;
}

TEST(InitialG, ThereIsNoneUnlessGiven) {
  const OwnedProblem owned = testing::random_problem(4, 5, 0.1, 1);
  for (const CheckedProblem& checked : testing::checked_by_all(std::vector<Problem>(3, owned.view()), "row-reduce")) {
    EXPECT_FALSE(checked.has_initial_g);
    EXPECT_EQ(checked.initial_g(0), nullptr);
  }
}

TEST(InitialG, ByHand) {
  OwnedProblem owned = testing::random_problem(2, 3, 0.1, 1);
  owned.b = {0.25, 0, 0.75};
  const std::vector<double> g = {1, -kInfinity, 3};
  const CheckedProblem checked = check_problem(with_start(owned, g), Feasibility::check, 1);
  ASSERT_EQ(checked.m(), 2U);
  EXPECT_EQ(checked.initial_g(0)[0], 1);
  EXPECT_EQ(checked.initial_g(0)[1], 3);
}

TEST(InitialG, EveryClientGetsItsSlice) {
  const OwnedProblem gaps = with_gaps(10, 13);
  const OwnedProblem square = with_gaps(13, 13);
  for (const std::string& topology : testing::topologies_in_step()) {
    for (const std::size_t clients : {1, 3, 7}) {
      for (const std::size_t columns : {1, 3}) {
        SCOPED_TRACE(topology + " " + std::to_string(clients) + ", columns " + std::to_string(columns));
        const std::vector<double> g = values(13, columns);
        for (const OwnedProblem* owned : {&gaps, &square}) {
          const std::vector<Problem> problems(clients, with_start(*owned, g, columns));
          expect_slices(testing::checked_by_all(problems, topology), columns);
        }
      }
    }
  }
}

// Two columns for seven clients, and shares of nothing.
TEST(InitialG, SomeClientsHaveNoColumns) {
  const std::vector<double> g = values(2, 1);
  const OwnedProblem narrow = testing::random_problem(9, 2, 0.1, 1);
  const auto few = testing::checked_by_all(std::vector<Problem>(7, with_start(narrow, g)), "row-reduce");
  expect_slices(few, 1);
  EXPECT_EQ(few[0].m(), 0U);

  const OwnedProblem gaps = with_gaps(13, 13);
  const std::vector<double> wide = values(13, 3);
  Options options;
  options.row_weights = {5, 0, 1};
  const auto uneven =
      testing::checked_by_all(std::vector<Problem>(3, with_start(gaps, wide, 3)), "all-to-all", options);
  expect_slices(uneven, 3);
  EXPECT_EQ(uneven[1].m(), 0U);
}

TEST(InitialG, OneOfTheClientsHasColumnsWithoutMassAlone) {
  OwnedProblem owned = testing::random_problem(6, 6, 0.1, 1);
  for (const std::size_t j : {2, 3}) owned.b[j] = 0;
  testing::normalise(owned.b);
  const std::vector<double> g = values(6, 1);
  const auto all = testing::checked_by_all(std::vector<Problem>(3, with_start(owned, g)), "row-reduce");
  expect_slices(all, 1);
  EXPECT_EQ(all[1].m(), 0U);
}

TEST(InitialG, PartsLieOneAfterTheOther) {
  const OwnedProblem owned = with_gaps(10, 13);
  for (const std::string& topology : testing::topologies_with_columns_in_order()) {
    for (const std::size_t columns : {1, 3}) {
      const std::vector<double> g = values(13, columns);
      for (const std::vector<std::size_t>& cuts :
           std::vector<std::vector<std::size_t>>{{0, 13}, {0, 2, 3, 13}, {0, 0, 13, 13}, {0, 1, 1, 4, 5, 13, 13, 13}}) {
        for (const bool b_too : {true, false}) {
          SCOPED_TRACE(topology + " " + ::testing::PrintToString(cuts) + (b_too ? ", b in parts" : ""));
          const auto all = testing::checked_by_all(with_start_in_parts(owned, g, columns, cuts, b_too), topology);
          expect_slices(all, columns);
          // As with b: the parts say who owns which columns.
          for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
            EXPECT_EQ(all[0].columns.given_slices[k], (Range{cuts[k], cuts[k + 1]}));
          }
        }
      }
    }
  }
}

// As with b, every client looks at its own alone.
TEST(InitialG, OtherClientsValuesAreNotTouched) {
  const OwnedProblem owned = testing::random_problem(9, 9, 0.1, 1);
  std::vector<std::vector<double>> copies(3, std::vector<double>(9, kNan));
  std::vector<Problem> problems;
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t j = 3 * k; j < 3 * k + 3; ++j) copies[k][j] = value(j, 0);
    problems.push_back(with_start(owned, copies[k]));
  }
  expect_slices(testing::checked_by_all(problems, "row-reduce"), 1);
}

// ---------------------------------------------------------------------------------------------------------------------
// Complaints

void expect_no_complaint(const std::vector<std::string>& complaints) {
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

TEST(InitialG, ABadValueIsNamedByItsOwner) {
  const OwnedProblem owned = testing::random_problem(9, 9, 0.1, 1);
  const std::vector<std::pair<double, std::string>> bad = {
      {kNan, " is nan; potentials must be finite"},
      {kInfinity, " is inf; potentials must be finite"},
      {-kInfinity, " is -inf, but b has mass there"},
      {1e301, " is 1e+301, which overflows"},
      {-1e301, " is -1e+301, which overflows"},
      {std::numeric_limits<double>::lowest(), " is -1.79769e+308, which overflows"},
  };
  for (const auto& [number, reason] : bad) {
    for (const std::size_t culprit : {0, 1, 2}) {
      std::vector<std::vector<double>> g(3, values(9, 1));
      std::vector<Problem> problems;
      for (const std::size_t k : {0, 1, 2}) {
        if (k == culprit) g[k][3 * culprit + 1] = number;
        problems.push_back(with_start(owned, g[k]));
        problems.back().names.initial_g = "g of " + std::to_string(k);
      }
      expect_all_say(testing::complaints_about(problems, "star"),
                     "g of " + std::to_string(culprit) + ": entry " + std::to_string(3 * culprit + 1) + reason);
    }
  }
}

TEST(InitialG, InAPartEntriesAreCountedAsInThePart) {
  const OwnedProblem owned = testing::random_problem(9, 9, 0.1, 1);
  std::vector<double> g = values(9, 1);
  g[7] = kNan;
  expect_all_say(testing::complaints_about(with_start_in_parts(owned, g, 1, {0, 2, 6, 9}, true), "row-reduce"),
                 "g of 2: entry 1 is nan");
}

TEST(InitialG, TooLargeBesideEpsilon) {
  const OwnedProblem owned = testing::random_problem(3, 3, 1e-20, 1);
  const std::vector<double> g = {0, 1e290, 0};
  const std::vector<Problem> problems(1, with_start(owned, g));
  expect_all_say(testing::complaints_about(problems, "row-reduce"),
                 "initial g: entry 1 is 1e+290, too large beside an epsilon of 1e-20");
}

TEST(InitialG, MinusInfinityIsForColumnsWithoutMass) {
  const OwnedProblem owned = with_gaps(10, 13);
  const auto complaint = [&](std::size_t columns, const std::function<void(std::vector<double>&)>& change) {
    std::vector<double> g = values(13, columns);
    change(g);
    return testing::complaints_about(std::vector<Problem>(3, with_start(owned, g, columns)), "row-reduce");
  };
  // Where b is 0 it is fine, and so is a number.
  expect_no_complaint(complaint(1, [](auto& g) { g[0] = -kInfinity; }));
  expect_no_complaint(complaint(3, [](auto& g) { g[3 * 2] = g[3 * 7 + 1] = g[3 * 5 + 2] = -kInfinity; }));
  // Some target has mass.
  expect_all_say(complaint(3, [](auto& g) { g[3 * 2 + 1] = -kInfinity; }),
                 "initial g: entry 2 of target 1 is -inf, but b of target 1 has mass there");
  expect_all_say(complaint(1, [](auto& g) { g[2] = -kInfinity; }),
                 "initial g: entry 2 is -inf, but b of target 1 has mass there");
  // Not even where nobody looks at it later.
  expect_all_say(complaint(1, [](auto& g) { g[5] = kNan; }), "initial g: entry 5 is nan");
  expect_all_say(complaint(3, [](auto& g) { g[3 * 5 + 2] = kInfinity; }), "initial g: entry 5 of target 2 is inf");
}

TEST(InitialG, AWrongShapeIsRefused) {
  const OwnedProblem one = testing::random_problem(4, 6, 0.1, 1);
  const OwnedProblem three = testing::random_problem(4, 6, 0.1, 1, 3);
  const std::vector<double> g = values(6, 6);
  const auto complaint = [&](const OwnedProblem& owned, std::size_t lines, std::size_t columns) {
    Problem problem = owned.view();
    problem.initial_g = {g.data(), lines, columns};
    return testing::complaints_about(std::vector<Problem>(3, problem), "all-to-all");
  };
  expect_all_say(complaint(one, 5, 1), "initial g: has 5 rows of potentials; the cost has 6 columns");
  expect_all_say(complaint(one, 1, 6), "initial g: has 1 rows of potentials; the cost has 6 columns");
  expect_all_say(complaint(one, 6, 2), "initial g: has 2 columns; for one target give one");
  expect_all_say(complaint(three, 6, 2), "initial g: has 2 columns; for 3 targets give 3, or one");
  expect_no_complaint(complaint(three, 6, 1));
  expect_no_complaint(complaint(three, 6, 3));
}

TEST(InitialG, APartOfTheWrongLengthIsNamed) {
  const OwnedProblem owned = testing::random_problem(7, 7, 0.1, 1);
  const std::vector<double> g = values(7, 1);
  std::vector<Problem> problems = with_start_in_parts(owned, g, 1, {0, 2, 4, 7}, true);
  problems[1].initial_g.rows = 1;
  expect_all_say(testing::complaints_about(problems, "row-reduce"),
                 "g of 1: has 1 rows of potentials; this client has 2 columns");
  // Nobody owns columns but by the parts of g: which of them is wrong cannot be told.
  problems = with_start_in_parts(owned, g, 1, {0, 2, 4, 6}, false);
  expect_all_say(testing::complaints_about(problems, "row-reduce"),
                 "g of 0: has 6 rows of potentials; the cost has 7 columns");
}

TEST(InitialG, ClientsThatDifferAreRefused) {
  const OwnedProblem owned = testing::random_problem(9, 9, 0.1, 1, 2);
  const std::vector<double> g = values(9, 2);
  const std::vector<double> longer = values(10, 2);
  const auto complaints = [&](const std::function<void(Problem&)>& change) {
    std::vector<Problem> problems(3, with_start(owned, g, 2));
    change(problems[2]);
    return testing::complaints_about(problems, "row-reduce");
  };
  expect_all_say(complaints([](Problem& problem) { problem.initial_g = {}; }),
                 "initial g: is not given; with client 0 it is otherwise");
  expect_all_say(complaints([](Problem& problem) { problem.initial_g.columns = 1; }),
                 "initial g: 1 columns; client 0 has 2");
  expect_all_say(complaints([&](Problem& problem) {
                   problem.initial_g = {longer.data(), 10, 2};
                 }),
                 "initial g: 10 rows of potentials; client 0 has 9");
  expect_all_say(complaints([](Problem& problem) { problem.parts.initial_g = true; }),
                 "initial g: is only this client's part; with client 0 it is otherwise");

  std::vector<Problem> one_has_it(3, owned.view());
  one_has_it[1] = with_start(owned, g, 2);
  expect_all_say(testing::complaints_about(one_has_it, "star"),
                 "initial g: is given; with client 0 it is otherwise: give all clients one, or none");
}

TEST(InitialG, PartsThatDoNotGoWithTheRest) {
  const OwnedProblem owned = testing::random_problem(9, 9, 0.1, 1);
  const std::vector<double> g = values(9, 1);
  Options grid;
  grid.grid = {2, 2};
  expect_all_say(testing::complaints_about(with_start_in_parts(owned, g, 1, {0, 2, 4, 6, 9}, false), "grid", grid),
                 "g of 0: is given in parts, but a grid deals columns in another order");
  Options weights;
  weights.row_weights = {1, 2, 3};
  expect_all_say(
      testing::complaints_about(with_start_in_parts(owned, g, 1, {0, 2, 4, 9}, false), "row-reduce", weights),
      "row_weights: ");
  // Rows of the costs in parts, and columns that are not those of the same numbers.
  std::vector<Problem> problems = with_start_in_parts(owned, g, 1, {0, 2, 4, 9}, false);
  for (std::size_t k = 0; k < 3; ++k) {
    problems[k].cost = CostMatrix{MatrixView<double>{owned.cost.data() + 3 * k * 9, 3, 9}};
    problems[k].parts.rows = true;
  }
  expect_all_say(testing::complaints_about(problems, "all-to-all"), "g of 0: gives clients other columns than rows");
}

}  // namespace
}  // namespace fedsinkhorn
