// Costs stored column by column: the same numbers, so the same bits.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <numeric>

#include "cost/cost_input.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/gradients.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

/// A problem in both orders. Its views are valid as long as it lives.
template <class T>
class InBothOrders {
 public:
  explicit InBothOrders(OwnedProblem problem) : owned(std::move(problem)) {
    for (double& cost : owned.cost) cost = static_cast<T>(cost);
    rows_.assign(owned.cost.begin(), owned.cost.end());
    columns_ = turned(0, owned.n);
  }

  [[nodiscard]] Problem by_rows() const {
    Problem problem = owned.view();
    problem.cost = CostMatrix{MatrixView<T>{rows_.data(), owned.n, owned.m}};
    return problem;
  }
  [[nodiscard]] Problem by_columns() const {
    Problem problem = owned.view();
    problem.cost = CostMatrix{.matrix = MatrixView<T>{columns_.data(), owned.m, owned.n}, .by_columns = true};
    return problem;
  }
  /// These rows, column by column.
  [[nodiscard]] std::vector<T> turned(std::size_t first, std::size_t count) const {
    std::vector<T> columns;
    for (std::size_t j = 0; j < owned.m; ++j) {
      for (std::size_t i = first; i < first + count; ++i) columns.push_back(rows_[i * owned.m + j]);
    }
    return columns;
  }

  OwnedProblem owned;

 private:
  std::vector<T> rows_;
  std::vector<T> columns_;
};

/// Dropped lines, a forbidden pair, a negative cost; more columns than a strip of the kernel.
OwnedProblem uneven_problem() {
  OwnedProblem owned = testing::random_problem(70, 301, 0.03, 4, 2);
  owned.a[3] = 0;
  for (std::size_t k = 0; k < 2; ++k) owned.b[2 * 17 + k] = 0;
  owned.cost[5 * owned.m + 9] = testing::kInfinity;
  owned.cost[8 * owned.m] = -0.75;
  testing::normalise(owned.a);
  for (std::size_t k = 0; k < 2; ++k) testing::normalise(owned.b, k, 2);
  return owned;
}

OwnedProblem symmetric_problem() {
  OwnedProblem owned = testing::random_problem(30, 30, 0.05, 8);
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < i; ++j) owned.cost[i * 30 + j] = owned.cost[j * 30 + i];
  }
  return owned;
}

void expect_equal_bits(const Result& x, const Result& y) {
  EXPECT_EQ(x.f, y.f);
  EXPECT_EQ(x.g, y.g);
  EXPECT_EQ(x.iterations, y.iterations);
  EXPECT_EQ(x.cost.linear, y.cost.linear);
  EXPECT_EQ(x.cost.dual, y.cost.dual);
}

template <class T>
void compare_kernels() {
  const InBothOrders<T> costs(uneven_problem());
  for (const KernelEntry& kernel : kernels()) {
    const KernelOnBackend* there = kernel.on("cpu");
    if (there == nullptr || !there->can_take(*make_cost_input(costs.by_columns().cost))) continue;
    for (const Precision precision : there->precisions) {
      Options options;
      options.kernel = std::string(kernel.name);
      options.precision = precision;
      options.max_iterations = 60;
      options.backend = "cpu";
      const Result expected = solve(costs.by_rows(), options);
      const Result result = solve(costs.by_columns(), options);
      expect_equal_bits(result, expected);
      EXPECT_EQ(testing::whole_plan(costs.by_columns(), result), testing::whole_plan(costs.by_rows(), expected));
    }
  }
}

TEST(CostsByColumns, HaveTheBitsOfCostsByRows) { compare_kernels<double>(); }
TEST(CostsByColumns, LikewiseInFloat32) { compare_kernels<float>(); }

TEST(CostsByColumns, InEveryTopologyAndIteration) {
  const InBothOrders<double> uneven(uneven_problem());
  const InBothOrders<float> symmetric(symmetric_problem());
  for (Options options : testing::every_topology_and_iteration(4)) {
    options.max_iterations = 40;
    expect_equal_bits(solve(uneven.by_columns(), options), solve(uneven.by_rows(), options));
    expect_equal_bits(solve(symmetric.by_columns(), options), solve(symmetric.by_rows(), options));
  }
}

// All-to-all with only rows: the columns are read from them.
TEST(CostsByColumns, InParts) {
  const InBothOrders<double> costs(symmetric_problem());
  const std::array<std::size_t, 4> cuts = {0, 7, 7, 30};  // one client has nothing
  std::vector<Problem> by_rows(3, costs.by_rows());
  std::vector<Problem> by_columns(3, costs.by_columns());
  std::vector<std::vector<double>> parts;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t count = cuts[k + 1] - cuts[k];
    parts.push_back(costs.turned(cuts[k], count));
    by_rows[k].cost = CostMatrix{MatrixView<double>{costs.owned.cost.data() + cuts[k] * 30, count, 30}};
    by_columns[k].cost = CostMatrix{.matrix = MatrixView<double>{parts[k].data(), 30, count}, .by_columns = true};
    for (Problem* problem : {&by_rows[k], &by_columns[k]}) {
      problem->parts.rows = problem->parts.a = problem->parts.b = true;
      problem->a = problem->a.subspan(cuts[k], count);
      problem->b = {costs.owned.b.data() + cuts[k], count, 1};
    }
  }
  for (const char* topology : {"all-to-all", "row-reduce"}) {
    Options options;
    options.topology = topology;
    expect_equal_bits(solve(by_columns, options), solve(by_rows, options));
    by_columns[0] = by_rows[0];  // clients need not have the same order
    expect_equal_bits(solve(by_columns, options), solve(by_rows, options));
  }
}

TEST(CostsByColumns, Gradients) {
  const InBothOrders<double> costs(uneven_problem());
  const Result result = solve(costs.by_rows(), {});
  const MassGradients expected = mass_gradients(costs.by_rows(), result);
  const MassGradients found = mass_gradients(costs.by_columns(), result);
  EXPECT_EQ(found.a, expected.a);
  EXPECT_EQ(found.b, expected.b);
}

CostScan scan_of(const Problem& problem, Range rows, std::size_t first_held) {
  const std::shared_ptr<const CostInput> costs = make_cost_input(problem.cost);
  CostBlock block;
  block.costs = costs;
  block.first_held = first_held;
  block.rows.resize(rows.size());
  std::iota(block.rows.begin(), block.rows.end(), rows.first);
  block.columns.resize(costs->shape().columns);
  std::iota(block.columns.begin(), block.columns.end(), std::size_t{0});
  const StopRequest stop;
  return costs->scan(block, {true, 2, cpu::simd("auto"), stop});
}

TEST(CostsByColumns, ScansAreTheSame) {
  OwnedProblem owned = testing::random_problem(600, 900, 0.1, 3);  // several chunks
  owned.cost[17 * 900 + 4] = testing::kInfinity;
  owned.cost[18 * 900 + 5] = -7;
  for (const bool with_bad : {false, true}) {
    if (with_bad) {  // the first in columns is not the first in rows
      owned.cost[300 * 900 + 2] = std::numeric_limits<double>::quiet_NaN();
      owned.cost[299 * 900 + 800] = -testing::kInfinity;
      owned.cost[299 * 900 + 801] = std::numeric_limits<double>::quiet_NaN();
    }
    const InBothOrders<double> wide(owned);
    const InBothOrders<float> narrow(owned);
    const auto compare = [&](const Problem& by_rows, const Problem& by_columns) {
      for (const Range rows : {Range{0, 600}, Range{20, 310}}) {
        for (const std::size_t first_held : {std::size_t{0}, rows.first}) {
          const CostScan expected = scan_of(by_rows, rows, first_held);
          const CostScan scan = scan_of(by_columns, rows, first_held);
          EXPECT_EQ(scan.largest, expected.largest);
          EXPECT_EQ(scan.has_forbidden, expected.has_forbidden);
          EXPECT_EQ(scan.fingerprint.straight, expected.fingerprint.straight);
          EXPECT_EQ(scan.fingerprint.transposed, expected.fingerprint.transposed);
          EXPECT_EQ(scan.first_bad.has_value(), expected.first_bad.has_value());
          if (!scan.first_bad || !expected.first_bad) continue;
          EXPECT_EQ(scan.first_bad->row, expected.first_bad->row);
          EXPECT_EQ(scan.first_bad->column, expected.first_bad->column);
        }
      }
    };
    compare(wide.by_rows(), wide.by_columns());
    compare(narrow.by_rows(), narrow.by_columns());
  }
}

// What is copied to a device.
TEST(CostsByColumns, RowsAreReadInAnyNumber) {
  const InBothOrders<float> costs(testing::random_problem(37, 50, 0.1, 5));
  for (const Problem& problem : {costs.by_rows(), costs.by_columns()}) {
    CostBlock block;
    block.costs = make_cost_input(problem.cost);
    block.rows.resize(37);
    std::iota(block.rows.begin(), block.rows.end(), std::size_t{0});
    block.columns = {0, 3, 4, 17, 49};
    const std::unique_ptr<CostSource> source = make_cost_source(block, cpu::simd("auto"));
    for (const Range rows : {Range{0, 37}, Range{3, 12}, Range{36, 37}, Range{5, 5}}) {
      std::vector<double> wide(rows.size() * 5);
      std::vector<float> narrow(rows.size() * 5);
      read_rows(*source, rows, 2, wide.data());
      read_rows(*source, rows, 2, narrow.data());
      for (std::size_t k = 0; k < wide.size(); ++k) {
        const double expected = costs.owned.cost[(rows.first + k / 5) * 50 + block.columns[k % 5]];
        EXPECT_EQ(wide[k], expected);
        EXPECT_EQ(narrow[k], expected);
      }
    }
  }
}

std::string complaint_by_columns(OwnedProblem owned, std::size_t clients, std::size_t masses) {
  const InBothOrders<double> costs(std::move(owned));
  Problem problem = costs.by_columns();
  problem.a = problem.a.first(masses);
  Options options;
  options.clients = clients;
  try {
    (void)solve(problem, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(CostsByColumns, WhatIsWrongIsNamed) {
  const OwnedProblem owned = testing::random_problem(6, 5, 0.1, 2);
  OwnedProblem bad = owned;
  bad.cost[3 * 5 + 2] = std::numeric_limits<double>::quiet_NaN();
  bad.cost[4 * 5 + 1] = -testing::kInfinity;
  for (const std::size_t clients : {1U, 3U}) {
    EXPECT_EQ(complaint_by_columns(bad, clients, 6),
              "cost: entry (3, 2) is nan; costs must be numbers, or +inf for a forbidden pair");
    EXPECT_EQ(complaint_by_columns(owned, clients, 4), "a: has 4 masses; the cost has 6 rows");
    EXPECT_EQ(complaint_by_columns(owned, clients, 6), "");
  }
}

TEST(CostsByColumns, RowsAreNotReportedAsDone) {
  const InBothOrders<double> costs(uneven_problem());
  Problem problem = costs.by_columns();
  std::get<CostMatrix>(problem.cost).rows_done = [](std::size_t, std::size_t) { ADD_FAILURE(); };
  expect_equal_bits(solve(problem, {}), solve(costs.by_rows(), {}));
}

}  // namespace
}  // namespace fedsinkhorn
