// Clients that look at different parts of a problem come to the same conclusions, and to the same complaint.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "options/option_table.hpp"
#include "problem/clients.hpp"
#include "solve/check_options.hpp"
#include "solve/client_solve.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

using testing::expect_all_say;
using testing::OwnedProblem;

using testing::kNan;

// ---------------------------------------------------------------------------------------------------------------------
// Masses

TEST(Agreement, LinesWithoutMassAreGoneForAll) {
  OwnedProblem owned = testing::random_problem(9, 6, 0.1, 1, 2);
  for (const std::size_t i : {0, 4, 8}) owned.a[i] = 0;
  owned.b[2 * 1] = owned.b[2 * 1 + 1] = 0;
  owned.b[2 * 2] = 0;  // of one target alone
  testing::normalise(owned.a);
  for (const std::size_t k : {0, 1}) testing::normalise(owned.b, k, 2);
  double least = 1;
  for (const double mass : owned.a) {
    if (mass > 0) least = std::min(least, mass);
  }
  for (const CheckedProblem& checked : testing::checked_by_all(std::vector<Problem>(3, owned.view()), "row-reduce")) {
    SCOPED_TRACE(checked.client);
    EXPECT_EQ(checked.rows.active, (std::vector<std::size_t>{1, 2, 3, 5, 6, 7}));
    EXPECT_EQ(checked.columns.active, (std::vector<std::size_t>{0, 2, 3, 4, 5}));
    EXPECT_EQ(checked.rows.slices, (std::vector<Range>{{0, 2}, {2, 4}, {4, 6}}));
    EXPECT_EQ(checked.columns.slices, (std::vector<Range>{{0, 1}, {1, 3}, {3, 5}}));
    EXPECT_EQ(checked.least_mass, least);
    EXPECT_EQ(checked.targets, 2U);
    for (std::size_t i = 0; i < checked.n(); ++i) {
      EXPECT_EQ(checked.a[i], owned.a[checked.rows.active[checked.own_rows().first + i]]);
    }
    for (const std::size_t k : {0, 1}) {
      for (std::size_t j = 0; j < checked.m(); ++j) {
        const double given = owned.b[2 * checked.columns.active[checked.own_columns().first + j] + k];
        EXPECT_NEAR(checked.target(k)[j], given, 1e-15);
      }
    }
  }
}

TEST(Agreement, TotalsAreThoseOfOneClientToTheLastBit) {
  OwnedProblem owned = testing::random_problem(101, 97, 0.1, 3);
  for (double& mass : owned.b) mass *= 1 + 3e-9;  // within the tolerance, and scaled back
  const CheckedProblem one = check_problem(owned.view(), Feasibility::check, 1);
  EXPECT_GT(one.mass_rescaled, 1e-9);
  for (const CheckedProblem& checked : testing::checked_by_all(std::vector<Problem>(7, owned.view()), "row-reduce")) {
    EXPECT_EQ(checked.mass, one.mass);
    EXPECT_EQ(checked.mass_rescaled, one.mass_rescaled);
    EXPECT_EQ(checked.largest_cost, one.largest_cost);
    for (std::size_t j = 0; j < checked.m(); ++j) EXPECT_EQ(checked.b[j], one.b[checked.own_columns().first + j]);
  }
}

TEST(Agreement, MassesLeftOutAreUniform) {
  OwnedProblem owned = testing::random_problem(10, 4, 0.1, 3);
  Problem problem = owned.view();
  problem.a = {};
  problem.b = {};
  for (const CheckedProblem& checked : testing::checked_by_all(std::vector<Problem>(3, problem), "all-to-all")) {
    for (const double mass : checked.a) EXPECT_EQ(mass, 0.1);
    for (const double mass : checked.b) EXPECT_NEAR(mass, 0.25, 1e-15);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Complaints

/// Inputs of the clients, each with copies of its own that a test may spoil.
class Spoiled {
 public:
  explicit Spoiled(std::size_t clients, std::size_t n = 9, std::size_t m = 9)
      : owned_(clients, testing::random_problem(n, m, 0.1, 7)) {}

  OwnedProblem& of(std::size_t client) { return owned_[client]; }
  [[nodiscard]] std::vector<std::string> complaints(const std::string& topology, const Options& options = {}) const {
    std::vector<Problem> problems;
    for (std::size_t k = 0; k < owned_.size(); ++k) {
      problems.push_back(owned_[k].view());
      const std::string of = " of client " + std::to_string(k);
      problems.back().names = {"cost" + of, "x" + of, "y" + of, "a" + of, "b" + of, "epsilon" + of};
    }
    return testing::complaints_about(problems, topology, options);
  }

 private:
  std::vector<OwnedProblem> owned_;
};

TEST(Agreement, GoodProblemsAreNotComplainedAbout) {
  for (const std::string& topology : testing::topologies_in_step()) {
    expect_all_say(Spoiled(4).complaints(topology), "");
    for (const std::string& complaint : Spoiled(4).complaints(topology)) EXPECT_EQ(complaint, "");
  }
}

TEST(Agreement, WhatOneClientFindsAllSay) {
  for (const std::size_t culprit : {0, 1, 2}) {
    SCOPED_TRACE(culprit);
    const std::string of = " of client " + std::to_string(culprit);
    const std::string row = std::to_string(3 * culprit + 1);  // each has three rows
    Spoiled nan(3);
    nan.of(culprit).cost[(3 * culprit + 1) * 9 + 5] = kNan;
    expect_all_say(nan.complaints("row-reduce"), "cost" + of + ": entry (" + row + ", 5) is nan");
    Spoiled negative(3);
    negative.of(culprit).a[3 * culprit + 1] = -1;
    expect_all_say(negative.complaints("row-reduce"), "a" + of + ": entry " + row + " is negative");
    Spoiled infinite(3);
    infinite.of(culprit).b[3 * culprit + 1] = testing::kInfinity;
    expect_all_say(infinite.complaints("star"), "b" + of + ": entry " + row + " is inf");
    Spoiled epsilon(3);
    epsilon.of(culprit).epsilon = -1;
    expect_all_say(epsilon.complaints("all-to-all"), "epsilon" + of + ": -1");
  }
}

TEST(Agreement, OfSeveralMistakesTheFirstClientsIsNamed) {
  Spoiled spoiled(3);
  spoiled.of(1).cost[4 * 9] = kNan;
  spoiled.of(2).cost[7 * 9] = -testing::kInfinity;
  expect_all_say(spoiled.complaints("row-reduce"), "cost of client 1: entry (4, 0)");
}

TEST(Agreement, MassesThatDiffer) {
  Spoiled spoiled(3);
  for (const std::size_t k : {0, 1, 2}) spoiled.of(k).b[8] += 0.5;
  expect_all_say(spoiled.complaints("grid"), "b of client 0: total mass is 1.5");
}

TEST(Agreement, PairsForbiddenByDifferentClients) {
  // Rows 0 to 5 may use column 0 alone, which no client sees by itself.
  Spoiled spoiled(3);
  for (const std::size_t k : {0, 1, 2}) {
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 1; j < 9; ++j) spoiled.of(k).cost[i * 9 + j] = testing::kInfinity;
    }
  }
  for (const std::string& topology : testing::topologies_in_step()) {
    SCOPED_TRACE(topology);
    expect_all_say(spoiled.complaints(topology), "cost of client 0: no plan exists");
    Options skip;
    skip.feasibility = Feasibility::skip;
    for (const std::string& complaint : spoiled.complaints(topology, skip)) EXPECT_EQ(complaint, "");
  }
}

TEST(Agreement, AColumnForbiddenByAllTogether) {
  Spoiled spoiled(3);
  for (const std::size_t k : {0, 1, 2}) {
    for (std::size_t i = 0; i < 9; ++i) spoiled.of(k).cost[i * 9 + 7] = testing::kInfinity;
  }
  Options skip;
  skip.feasibility = Feasibility::skip;
  for (const std::string& topology : testing::topologies_in_step()) {
    expect_all_say(spoiled.complaints(topology, skip), "cost of client 0: no plan exists: column 7");
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Options

/// Another value for that option, out of its range perhaps.
struct AnotherValue {
  Options& options;

  void operator()(double Problem::* /*member*/) const {}  // see below
  void operator()(bool Options::*member) const { options.*member = !(options.*member); }
  void operator()(std::string Options::*member) const { options.*member = "another"; }
  void operator()(KernelName Options::*member) const { options.*member = "another"; }
  void operator()(std::vector<int> Options::*member) const { options.*member = {5}; }
  void operator()(std::vector<double> Options::*member) const { options.*member = {1, 2, 3}; }
  void operator()(GridShape Options::*member) const { options.*member = {3, 1}; }
  template <class Value>
  void operator()(Value Options::*member) const {
    options.*member = static_cast<Value>(static_cast<int>(options.*member) == 0 ? 1 : 0);
  }
};

TEST(Agreement, OptionsThatDifferAreNamed) {
  const OwnedProblem owned = testing::random_problem(9, 9, 0.1, 1);
  for (const OptionEntry& option : option_table()) {
    if (!option.is_common || option.field == "epsilon") continue;
    const std::string field(option.field);
    for (const std::size_t odd : {0, 2}) {
      SCOPED_TRACE(field + " of client " + std::to_string(odd));
      const auto complaints = testing::complaints(3, [&](Communicator& communicator) {
        Options options;
        options.threads = 1;
        options.topology = "row-reduce";
        if (communicator.rank() == odd) std::visit(AnotherValue{options}, option.member);
        const Collectives clients(communicator, Route::through_root);
        require_common_options(clients, owned.view(), options);
      });
      expect_all_say(complaints, field + ": is ");
      // Client 0 is the measure: who differs from it is named.
      EXPECT_NE(complaints.front().find(odd == 0 ? "on client 1" : "on client 2"), std::string::npos)
          << complaints.front();
    }
  }
}

TEST(Agreement, AnOtherEpsilonIsNamed) {
  OwnedProblem owned = testing::random_problem(9, 9, 0.1, 1);
  const auto complaints = testing::complaints(2, [&](Communicator& communicator) {
    Problem problem = owned.view();
    if (communicator.rank() == 1) problem.epsilon = 0.2;
    (void)solve_as_client(problem, {}, communicator);
  });
  expect_all_say(complaints, "epsilon: is 0.2 on client 1; client 0 has 0.1");
}

TEST(Agreement, AGridOfAnotherShapeIsNamed) {
  const OwnedProblem owned = testing::random_problem(9, 9, 0.1, 1);
  const auto complaints = testing::complaints(6, [&](Communicator& communicator) {
    Options options;
    options.topology = "grid";
    options.grid = communicator.rank() == 5 ? GridShape{3, 2} : GridShape{2, 3};
    (void)solve_as_client(owned.view(), options, communicator);
  });
  expect_all_say(complaints, "grid: is 3x2 on client 5; client 0 has 2x3");
}

TEST(Agreement, AnOptionOnlyOneClientCannotTake) {
  const OwnedProblem owned = testing::random_problem(9, 9, 0.1, 1);
  const auto complaints = testing::complaints(3, [&](Communicator& communicator) {
    Options options;
    if (communicator.rank() == 1) options.check_every = 0;
    (void)solve_as_client(owned.view(), options, communicator);
  });
  expect_all_say(complaints, "check_every: ");
}

}  // namespace
}  // namespace fedsinkhorn
