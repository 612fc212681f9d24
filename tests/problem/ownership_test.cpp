// A client touches nothing but what it owns: every client gets a copy of the problem of its own, in which all the rest
// is NaN. One look at it would spoil the result.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "problem/clients.hpp"
#include "problem/shapes.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

using testing::kNan;

bool inside(std::size_t i, Range range) { return i >= range.first && i < range.last; }

/// Whether a client may look at the cost of a pair, from the description of the topology. Slices: dealt evenly, those
/// of columns in the order in which the topology deals them.
struct Territory {
  std::string topology;
  std::size_t clients;
  GridShape grid{};
  bool symmetric = false;

  [[nodiscard]] bool may_touch(std::size_t client, std::size_t i, std::size_t j, std::size_t n, std::size_t m) const {
    const Range rows = chunk_range(n, clients, client);
    if (topology == "row-reduce") return inside(i, rows);
    if (topology == "all-to-all") return inside(i, rows) || (!symmetric && inside(j, chunk_range(m, clients, client)));
    if (topology == "star") return client == 0;
    // Client p * grid.columns + q has the p-th block of rows, which is those of the clients of its row of the grid, and
    // the q-th block of columns.
    const std::size_t p = client / grid.columns;
    const std::size_t q = client % grid.columns;
    const Range block_rows = {chunk_range(n, clients, p * grid.columns).first,
                              chunk_range(n, clients, (p + 1) * grid.columns - 1).last};
    const Range block_columns = {chunk_range(m, clients, q * grid.rows).first,
                                 chunk_range(m, clients, (q + 1) * grid.rows - 1).last};
    return inside(i, block_rows) && inside(j, block_columns);
  }

  /// The columns a client owns: masses and potentials.
  [[nodiscard]] Range own_columns(std::size_t client, std::size_t m) const {
    if (topology != "grid") return chunk_range(m, clients, client);
    return chunk_range(m, clients, (client % grid.columns) * grid.rows + client / grid.columns);
  }
};

const std::vector<Territory> kTerritories = {
    {"row-reduce", 3}, {"row-reduce", 4},   {"all-to-all", 3},   {"all-to-all", 5},
    {"star", 3},       {"grid", 6, {2, 3}}, {"grid", 4, {2, 2}}, {"grid", 3, {1, 3}},
};

std::string describe(const Territory& territory) {
  return territory.topology + " " + std::to_string(territory.clients) + (territory.symmetric ? " symmetric" : "");
}

/// Every client's copy: costs and masses of others are NaN.
std::vector<OwnedProblem> copies(const OwnedProblem& whole, const Territory& territory) {
  std::vector<OwnedProblem> result(territory.clients, whole);
  for (std::size_t k = 0; k < territory.clients; ++k) {
    for (std::size_t i = 0; i < whole.n; ++i) {
      if (!inside(i, chunk_range(whole.n, territory.clients, k))) result[k].a[i] = kNan;
      for (std::size_t j = 0; j < whole.m; ++j) {
        if (!territory.may_touch(k, i, j, whole.n, whole.m)) result[k].cost[i * whole.m + j] = kNan;
      }
    }
    for (std::size_t j = 0; j < whole.m; ++j) {
      if (inside(j, territory.own_columns(k, whole.m))) continue;
      for (std::size_t target = 0; target < whole.targets; ++target) result[k].b[j * whole.targets + target] = kNan;
    }
  }
  return result;
}

std::vector<Problem> views(const std::vector<OwnedProblem>& owned, const Territory& territory) {
  std::vector<Problem> problems;
  for (std::size_t k = 0; k < owned.size(); ++k) {
    problems.push_back(owned[k].view());
    if (territory.topology == "star" && k > 0) problems.back().cost = CostMatrix{};
  }
  return problems;
}

Options options_for(const Territory& territory) {
  Options options;
  options.tolerance = 0;
  options.max_iterations = 30;
  options.threads = 1;
  options.topology = territory.topology;
  options.grid = territory.grid;
  return options;
}

void expect_close(const std::vector<double>& x, const std::vector<double>& y, double tolerance) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    ASSERT_TRUE(std::abs(x[i] - y[i]) <= tolerance) << x[i] << " and " << y[i] << " at " << i;
  }
}

using Change = std::function<void(Options&)>;

void expect_as_one(const OwnedProblem& whole, const Territory& territory, const Change& change = {},
                   double tolerance = 1e-12) {
  SCOPED_TRACE(describe(territory));
  Options options = options_for(territory);
  if (change) change(options);
  Options alone = options;
  alone.topology = "centralized";
  alone.grid = {};
  alone.local_steps = 1;
  const Result one = solve(whole.view(), alone);
  const std::vector<OwnedProblem> owned = copies(whole, territory);
  const Result result = solve(views(owned, territory), options);
  EXPECT_EQ(result.iterations, one.iterations);
  expect_close(result.f, one.f, tolerance);
  expect_close(result.g, one.g, tolerance);
  EXPECT_NEAR(result.cost.linear, one.cost.linear, 1e3 * tolerance);
  EXPECT_NEAR(result.cost.dual, one.cost.dual, 1e3 * tolerance);
  EXPECT_NEAR(result.error.a, one.error.a, 1e3 * tolerance);
  EXPECT_NEAR(result.error.b, one.error.b, 1e3 * tolerance);
}

TEST(Ownership, AClientTouchesItsOwnCostsAndMassesAlone) {
  const OwnedProblem rectangle = testing::random_problem(23, 31, 0.05, 1);
  const OwnedProblem square = testing::random_problem(26, 26, 0.05, 2);
  for (const Territory& territory : kTerritories) {
    expect_as_one(rectangle, territory);
    expect_as_one(square, territory);
  }
}

TEST(Ownership, OfSymmetricCostsRowsAreEnough) {
  OwnedProblem whole = testing::random_problem(26, 26, 0.05, 3);
  for (std::size_t i = 0; i < whole.n; ++i) {
    for (std::size_t j = 0; j < i; ++j) whole.cost[i * whole.n + j] = whole.cost[j * whole.n + i];
  }
  for (const std::size_t clients : {2, 3, 5}) expect_as_one(whole, {"all-to-all", clients, {}, true});
}

TEST(Ownership, WhateverTheSettings) {
  const OwnedProblem whole = testing::random_problem(23, 31, 0.05, 4, 2);
  for (const Territory& territory : kTerritories) {
    expect_as_one(whole, territory, [](Options& options) { options.kernel = KernelKind::online; });
    expect_as_one(whole, territory, [](Options& options) { options.stabilization = Stabilization::log; });
    expect_as_one(whole, territory, [](Options& options) { options.passes = Passes::two; });
    expect_as_one(
        whole, territory, [](Options& options) { options.precision = Precision::float32; }, 1e-6);
  }
}

// Potentials that travel far: the kernel is built anew around them, more than once.
TEST(Ownership, WhenKernelsAreRebuilt) {
  const OwnedProblem whole = testing::point_problem(23, 31, 1e-4, 5);
  const Change longer = [](Options& options) {
    options.method = "sinkhorn";
    options.max_iterations = 400;
  };
  Options alone = options_for({"centralized", 1});
  longer(alone);
  EXPECT_GT(solve(whole.view(), alone).absorptions, 1);
  for (const Territory& territory : kTerritories) expect_as_one(whole, territory, longer, 1e-10);
}

TEST(Ownership, WithLinesThatHaveNoMass) {
  OwnedProblem whole = testing::random_problem(23, 31, 0.05, 6);
  for (const std::size_t i : {0, 7, 8, 9, 22}) whole.a[i] = 0;
  for (const std::size_t j : {0, 1, 15, 30}) whole.b[j] = 0;
  testing::normalise(whole.a);
  testing::normalise(whole.b);
  for (const Territory& territory : kTerritories) expect_as_one(whole, territory);
}

TEST(Ownership, WithForbiddenPairsWhetherOrNotTheyAreChecked) {
  OwnedProblem whole = testing::random_problem(24, 30, 0.05, 7);
  for (std::size_t k = 0; k < whole.cost.size(); k += 7) whole.cost[k] = testing::kInfinity;
  for (const Territory& territory : kTerritories) {
    expect_as_one(whole, territory);
    expect_as_one(whole, territory, [](Options& options) { options.feasibility = Feasibility::skip; });
  }
}

TEST(Ownership, StepsWithoutTheOthersTouchNoMore) {
  const OwnedProblem whole = testing::random_problem(23, 31, 0.05, 8);
  for (const Territory& territory : kTerritories) {
    if (!testing::topology_named(territory.topology).takes_local_steps) continue;
    SCOPED_TRACE(describe(territory));
    Options options = options_for(territory);
    options.local_steps = 3;
    const Result with_all = solve(std::vector<Problem>(territory.clients, whole.view()), options);
    const std::vector<OwnedProblem> owned = copies(whole, territory);
    const Result result = solve(views(owned, territory), options);
    EXPECT_EQ(result.f, with_all.f);
    EXPECT_EQ(result.g, with_all.g);
  }
}

TEST(Ownership, PointsOfOtherRowsAreNotTouched) {
  constexpr std::size_t n = 23;
  constexpr std::size_t m = 31;
  constexpr std::size_t d = 3;
  constexpr std::size_t clients = 3;
  const std::vector<double> x = testing::random_problem(n, d, 1, 9).cost;
  const std::vector<double> y = testing::random_problem(m, d, 1, 10).cost;
  Problem whole;
  whole.epsilon = 0.05;
  whole.cost = PointClouds{MatrixView<double>{x.data(), n, d}, MatrixView<double>{y.data(), m, d}};
  for (const KernelKind kernel : {KernelKind::dense, KernelKind::online}) {
    Options options = options_for({"row-reduce", clients});
    options.kernel = kernel;
    Options alone = options;
    alone.topology = "centralized";
    const Result one = solve(whole, alone);
    std::vector<std::vector<double>> own(clients, x);
    std::vector<Problem> problems(clients, whole);
    for (std::size_t k = 0; k < clients; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        if (!inside(i, chunk_range(n, clients, k)))
          std::fill_n(own[k].begin() + static_cast<std::ptrdiff_t>(i * d), d, kNan);
      }
      problems[k].cost = PointClouds{MatrixView<double>{own[k].data(), n, d}, MatrixView<double>{y.data(), m, d}};
    }
    const Result result = solve(problems, options);
    expect_close(result.f, one.f, 1e-12);
    expect_close(result.g, one.g, 1e-12);
  }
}

// What the tests above rely on: a NaN that is touched does not go unnoticed.
TEST(Ownership, ANanOfItsOwnIsNoticed) {
  const OwnedProblem whole = testing::random_problem(23, 31, 0.05, 1);
  for (const Territory& territory : kTerritories) {
    SCOPED_TRACE(describe(territory));
    for (std::size_t k = 0; k < territory.clients; ++k) {
      for (const std::size_t i : {0, 11, 22}) {
        const std::size_t j = i;
        // The columns that all-to-all holds besides its rows are looked at by those who have them as rows.
        const bool scans = territory.topology == "all-to-all" ? inside(i, chunk_range(whole.n, territory.clients, k))
                                                              : territory.may_touch(k, i, j, whole.n, whole.m);
        if (!scans) continue;
        std::vector<OwnedProblem> owned = copies(whole, territory);
        owned[k].cost[i * whole.m + j] = kNan;
        EXPECT_THROW((void)solve(views(owned, territory), options_for(territory)), InputError) << k << ", " << i;
      }
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
