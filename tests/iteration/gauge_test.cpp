#include "iteration/gauge.hpp"

#include <gtest/gtest.h>

#include "problem/clients.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kTargets = 2;

/// f and g of a target as a whole, before and after.
struct Whole {
  std::vector<double> f;
  std::vector<double> g;
};

Whole random_potentials(std::size_t n, std::size_t m, std::size_t target) {
  Random random(5, target);
  Whole whole;
  for (std::size_t i = 0; i < n; ++i) whole.f.push_back(100 + random.normal());
  for (std::size_t j = 0; j < m; ++j) whole.g.push_back(-3 + random.normal());
  return whole;
}

/// Every client fixes the gauge of its slices.
std::vector<Whole> fixed(const testing::OwnedProblem& owned, std::size_t clients, const std::vector<Whole>& before) {
  const std::vector<CheckedProblem> checked =
      testing::checked_by_all(std::vector<Problem>(clients, owned.view()), clients == 1 ? "centralized" : "row-reduce");
  std::vector<Whole> after = before;
  run_on_threads(clients, Seconds(60), [&](Communicator& communicator) {
    const CheckedProblem& problem = checked[communicator.rank()];
    const Range rows = problem.own_rows();
    const Range columns = problem.own_columns();
    std::vector<Outcome> outcomes(before.size());
    for (std::size_t k = 0; k < before.size(); ++k) {
      Outcome& outcome = outcomes[k];
      outcome.target = k;
      for (std::size_t i = rows.first; i < rows.last; ++i) outcome.f.value.push_back(before[k].f[i]);
      for (std::size_t j = columns.first; j < columns.last; ++j) outcome.g.value.push_back(before[k].g[j]);
      outcome.f.rest.resize(rows.size());
      outcome.g.rest.resize(columns.size());
    }
    fix_gauge(Collectives(communicator), problem, outcomes);
    for (std::size_t k = 0; k < before.size(); ++k) {
      for (std::size_t i = 0; i < rows.size(); ++i) after[k].f[rows.first + i] = outcomes[k].f.value[i];
      for (std::size_t j = 0; j < columns.size(); ++j) after[k].g[columns.first + j] = outcomes[k].g.value[j];
    }
  });
  return after;
}

std::vector<Whole> given(const testing::OwnedProblem& owned) {
  std::vector<Whole> all;
  for (std::size_t k = 0; k < kTargets; ++k) all.push_back(random_potentials(owned.n, owned.m, k));
  return all;
}

TEST(Gauge, MakesBothSidesWeighTheSame) {
  const testing::OwnedProblem owned = testing::random_problem(23, 17, 0.1, 4, kTargets);
  const std::vector<Whole> before = given(owned);
  const std::vector<Whole> after = fixed(owned, 1, before);
  for (std::size_t k = 0; k < kTargets; ++k) {
    double f_a = 0;
    double g_b = 0;
    for (std::size_t i = 0; i < owned.n; ++i) f_a += after[k].f[i] * owned.a[i];
    for (std::size_t j = 0; j < owned.m; ++j) g_b += after[k].g[j] * owned.b[j * kTargets + k];
    EXPECT_NEAR(f_a, g_b, 2e-12);  // of about 50
  }
}

TEST(Gauge, MovesTheSameConstantFromFToG) {
  const testing::OwnedProblem owned = testing::random_problem(23, 17, 0.1, 4, kTargets);
  const std::vector<Whole> before = given(owned);
  const std::vector<Whole> after = fixed(owned, 1, before);
  for (std::size_t k = 0; k < kTargets; ++k) {
    const double moved = before[k].f[0] - after[k].f[0];
    EXPECT_GT(moved, 10);
    for (std::size_t i = 0; i < owned.n; ++i) EXPECT_NEAR(before[k].f[i] - after[k].f[i], moved, 1e-12);
    for (std::size_t j = 0; j < owned.m; ++j) EXPECT_NEAR(after[k].g[j] - before[k].g[j], moved, 1e-12);
  }
}

TEST(Gauge, BitsDoNotDependOnTheNumberOfClients) {
  const testing::OwnedProblem owned = testing::random_problem(23, 17, 0.1, 4, kTargets);
  const std::vector<Whole> before = given(owned);
  const std::vector<Whole> alone = fixed(owned, 1, before);
  for (const std::size_t clients : {2U, 3U, 7U, 30U}) {
    const std::vector<Whole> several = fixed(owned, clients, before);
    for (std::size_t k = 0; k < kTargets; ++k) {
      EXPECT_EQ(several[k].f, alone[k].f) << clients;
      EXPECT_EQ(several[k].g, alone[k].g) << clients;
    }
  }
}

TEST(Gauge, ATargetWithoutANumberIsLeftAlone) {
  const testing::OwnedProblem owned = testing::random_problem(6, 5, 0.1, 4, kTargets);
  std::vector<Whole> before = given(owned);
  before[0].g[2] = testing::kInfinity;
  const std::vector<Whole> after = fixed(owned, 3, before);
  EXPECT_EQ(after[0].f, before[0].f);
  EXPECT_EQ(after[0].g, before[0].g);
  EXPECT_NE(after[1].f, before[1].f);
}

}  // namespace
}  // namespace fedsinkhorn
