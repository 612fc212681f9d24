// Costs that are neither a matrix nor points, written outside of the engine.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

/// Numbers of a matrix, some rows of it, in no memory that the engine knows of.
class Copied final : public CostFunction {
 public:
  Copied(const OwnedProblem& owned, std::size_t first, std::size_t count)
      : owned_(owned), first_(first), rows_(count) {}

  [[nodiscard]] std::size_t rows() const override { return rows_; }
  [[nodiscard]] std::size_t columns() const override { return owned_.m; }
  void fill(std::size_t row, std::size_t first, std::span<double> out) const override {
    ASSERT_LT(row, rows_);
    ASSERT_LE(first + out.size(), owned_.m);
    std::copy_n(owned_.cost.data() + (first_ + row) * owned_.m + first, out.size(), out.data());
  }

 private:
  OwnedProblem owned_;
  std::size_t first_;
  std::size_t rows_;
};

Problem by_function(const OwnedProblem& owned) {
  Problem problem = owned.view();
  problem.cost = std::make_shared<Copied>(owned, 0, owned.n);
  return problem;
}

void expect_same_answers(const Result& x, const Result& y) {
  EXPECT_EQ(x.f, y.f);
  EXPECT_EQ(x.g, y.g);
  EXPECT_EQ(x.iterations, y.iterations);
  EXPECT_EQ(x.cost.linear, y.cost.linear);
  EXPECT_EQ(x.cost.dual, y.cost.dual);
}

OwnedProblem awkward_problem() {
  OwnedProblem owned = testing::random_problem(70, 65, 0.03, 4, 2);
  owned.a[3] = 0;  // a line that is dropped
  for (std::size_t k = 0; k < 2; ++k) owned.b[2 * 17 + k] = 0;
  owned.cost[5 * owned.m + 9] = testing::kInfinity;
  owned.cost[8 * owned.m] = -0.75;
  testing::normalise(owned.a);
  for (std::size_t k = 0; k < 2; ++k) testing::normalise(owned.b, k, 2);
  return owned;
}

TEST(CostFunction, HasTheBitsOfTheMatrixWithTheSameNumbers) {
  const OwnedProblem owned = awkward_problem();
  for (const KernelEntry& kernel : kernels()) {
    const KernelOnBackend* there = kernel.on("cpu");
    if (there == nullptr || !there->can_take(*make_cost_input(by_function(owned).cost))) continue;
    for (const Precision precision : there->precisions) {
      Options options;
      options.kernel = std::string(kernel.name);
      options.precision = precision;
      options.max_iterations = 60;
      options.backend = "cpu";
      const Result expected = solve(owned.view(), options);
      const Result result = solve(by_function(owned), options);
      expect_same_answers(result, expected);
      EXPECT_EQ(testing::whole_plan(by_function(owned), result), testing::whole_plan(owned.view(), expected));
    }
  }
}

TEST(CostFunction, LikewiseInEveryTopologyAndIteration) {
  const OwnedProblem owned = awkward_problem();
  for (Options options : testing::every_topology_and_iteration(4)) {
    options.max_iterations = 40;
    expect_same_answers(solve(by_function(owned), options), solve(owned.view(), options));
  }
}

// All-to-all with only rows: the columns are read from them.
TEST(CostFunction, InPartsAndSymmetric) {
  OwnedProblem owned = testing::random_problem(30, 30, 0.05, 8);
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < i; ++j) owned.cost[i * 30 + j] = owned.cost[j * 30 + i];
  }
  std::vector<Problem> matrices(3, owned.view());
  std::vector<Problem> functions(3, owned.view());
  for (std::size_t k = 0; k < 3; ++k) {
    matrices[k].cost = CostMatrix{MatrixView<double>{owned.cost.data() + 300 * k, 10, 30}};
    functions[k].cost = std::make_shared<Copied>(owned, 10 * k, 10);
    matrices[k].parts.rows = functions[k].parts.rows = true;
  }
  for (const char* topology : {"all-to-all", "row-reduce"}) {
    Options options;
    options.topology = topology;
    expect_same_answers(solve(functions, options), solve(matrices, options));
  }
}

std::string complaint_of_clients(const Problem& problem, std::size_t clients = 1) {
  Options options;
  options.clients = clients;
  try {
    (void)solve(problem, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(CostFunction, WhatIsWrongIsNamed) {
  const OwnedProblem owned = testing::random_problem(6, 5, 0.1, 2);
  const auto with = [&](double value) {
    OwnedProblem changed = owned;
    changed.cost[3 * 5 + 2] = value;
    Problem problem = owned.view();
    problem.cost = std::make_shared<Copied>(changed, 0, changed.n);
    return problem;
  };
  for (const std::size_t clients : {1, 3}) {
    EXPECT_EQ(complaint_of_clients(with(std::nan("")), clients),
              "cost: entry (3, 2) is nan; costs must be numbers, or +inf for a forbidden pair");
    EXPECT_EQ(complaint_of_clients(with(-testing::kInfinity), clients),
              "cost: entry (3, 2) is -inf; costs must be numbers, or +inf for a forbidden pair");
    EXPECT_EQ(complaint_of_clients(with(testing::kInfinity), clients), "");
    Problem fewer = by_function(owned);
    fewer.a = fewer.a.first(4);
    EXPECT_EQ(complaint_of_clients(fewer, clients), "a: has 4 masses; the cost has 6 rows");
    Problem nothing = owned.view();
    nothing.cost = std::shared_ptr<const CostFunction>();
    EXPECT_EQ(complaint_of_clients(nothing, clients), "cost: has no entries");
    OwnedProblem forbidden = owned;
    for (std::size_t j = 0; j < 5; ++j) forbidden.cost[5 + j] = testing::kInfinity;
    EXPECT_NE(complaint_of_clients(by_function(forbidden), clients).find("no plan exists"), std::string::npos);
  }
}

}  // namespace
}  // namespace fedsinkhorn
