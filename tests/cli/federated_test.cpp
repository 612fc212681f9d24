// Several clients, on threads and under mpirun, against one: the same potentials, and reports that add up.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <tuple>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"
#include "support/problems.hpp"
#include "support/stated.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

/// Ranks write their own files, too.
Names result_files(Transport transport, std::size_t clients) {
  Names names = kResultFiles;
  for (std::size_t k = 0; transport == Transport::mpi && clients > 1 && k < clients; ++k) {
    names.push_back("f-" + std::to_string(k) + ".npy");
    names.push_back("summary-" + std::to_string(k) + ".json");
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether one pass over K gives both halves of a round.
bool is_fused(const std::string& topology, std::size_t clients) {
  Options options;
  options.topology = topology;
  options.clients = clients;
  return testing::stated_rounds(testing::random_problem(9, 9, 0.1, 1).view(), options).front().rows_stay;
}

// ---------------------------------------------------------------------------------------------------------------------
// The same potentials

struct ComparedInput {
  std::string name;
  std::string flags;
  double tolerance;  // where sums have another order
};

const std::vector<ComparedInput> kComparedInputs = {
    {"plain", "--cost C.npy --a a.npy --b b.npy", 1e-12},
    // Some lines have no mass at all, and one column has some in all targets but one.
    {"targets", "--cost C.npy --a a0.npy --b b5.npy", 1e-12},
    {"float32", "--cost C32.npy --a a.npy --b b.npy --precision float32", 1e-6},
};

class SamePotentials : public FederatedTest, public ::testing::WithParamInterface<std::tuple<Transport, std::size_t>> {
 protected:
  static constexpr std::size_t n = 101;

  SamePotentials() {
    const Values cost = random_values(n * n, 1);
    write("C.npy", cost, {n, n});
    write_float32(folder() / "C32.npy", cost, "(101, 101)");
    write("a.npy", random_masses(n, 2), {n});
    write("b.npy", random_masses(n, 3), {n});
    Values a = random_masses(n, 4);
    for (const std::size_t i : {0, 1, 2, 50, 99, 100}) a[i] = 0;
    rescale(a, 1);
    write("a0.npy", a, {n});
    constexpr std::size_t targets = 5;
    Values b = random_masses(n, 5, targets);
    for (const std::size_t j : {0, 7, 100}) std::fill_n(&b[j * targets], targets, 0.0);
    b[8 * targets + 2] = 0;
    rescale(b, targets);
    write("b5.npy", b, {n, targets});
  }

  static void rescale(Values& masses, std::size_t targets) {
    for (std::size_t k = 0; k < targets; ++k) {
      double total = 0;
      for (std::size_t i = k; i < masses.size(); i += targets) total += masses[i];
      for (std::size_t i = k; i < masses.size(); i += targets) masses[i] /= total;
    }
  }

  /// 60 iterations, and then it is good enough: mpirun takes a second or two longer where a status is not 0.
  static std::string solve(const ComparedInput& input, const std::string& output) {
    return "solve " + input.flags + " --epsilon 0.05 --tolerance 5 --check-every 60 --quiet --output " + output;
  }

  static double error_of(const Json& summary) {
    return summary["error"]["a"].get<double>() + summary["error"]["b"].get<double>();
  }

  void expect_agreement(const ComparedInput& input, const std::string& topology) const {
    const auto [transport, clients] = GetParam();
    SCOPED_TRACE(topology + " " + input.name);
    const std::string output = topology + "-" + input.name;
    const RunResult result = run_on(transport, clients, solve(input, output) + " --topology " + topology);
    ASSERT_EQ(result.status, 0) << result;
    EXPECT_TRUE(own_lines(result.err).empty()) << result;
    EXPECT_EQ(listing(folder() / output), result_files(transport, clients));
    const Json json = summary(output);
    const Json one = summary("one-" + input.name);
    if (testing::topology_named(topology).keeps_bits) {
      expect_same_bytes(output, "one-" + input.name);
      EXPECT_EQ(json["rejected_rounds"], one["rejected_rounds"]);
    } else {
      // Sixty accelerated rounds end where rounding has led them: the potentials differ by what the errors still allow.
      expect_close(output, "one-" + input.name, input.tolerance + 10 * (error_of(json) + error_of(one)));
    }
    expect_sound_clients(json, clients);
    EXPECT_EQ(json["iterations"], 60);
    EXPECT_EQ(json["topology"], topology);
    EXPECT_EQ(json["transport"], transport == Transport::mpi ? "mpi" : "threads");
    EXPECT_EQ(json["passes"], is_fused(topology, clients) ? "fused" : "two");
    EXPECT_NEAR(json["cost"]["dual"], one["cost"]["dual"], std::max(1e-10, input.tolerance));
    EXPECT_NEAR(json["cost"]["linear"], one["cost"]["linear"], std::max(1e-10, input.tolerance));
  }
};

TEST_P(SamePotentials, AsOneClient) {
  for (const ComparedInput& input : kComparedInputs) {
    const RunResult one = run(solve(input, "one-" + input.name) + " --topology centralized --passes two --threads 1");
    ASSERT_EQ(one.status, 0) << one;
  }
  const auto [transport, clients] = GetParam();
  const Names topologies = testing::topologies_in_step();
  for (std::size_t k = 0; k < topologies.size(); ++k) {
    if (transport == Transport::mpi) {
      // Starting ranks takes its time: one input each, such that every topology meets all of them.
      expect_agreement(kComparedInputs[(k + clients) % kComparedInputs.size()], topologies[k]);
      continue;
    }
    for (const ComparedInput& input : kComparedInputs) expect_agreement(input, topologies[k]);
  }
}

INSTANTIATE_TEST_SUITE_P(Federated, SamePotentials,
                         ::testing::Combine(::testing::ValuesIn(available_transports()),
                                            ::testing::Values(1, 2, 3, 4, 7)),
                         [](const auto& info) {
                           return ::testing::PrintToString(std::get<0>(info.param)) +
                                  std::to_string(std::get<1>(info.param));
                         });

// ---------------------------------------------------------------------------------------------------------------------

class Federated : public RectangularTest {
 protected:
  static std::string endless(const std::string& flags) {
    return "solve --cost C.npy --epsilon 0.05 --tolerance 0 --max-iterations 1000000000000 --check-every 10 "
           "--threads 1 --output r " +
           flags;
  }
};

TEST_F(Federated, PlansAreThoseOfOneClient) {
  ASSERT_EQ(run(solve("one", "--plan --passes two --tolerance 1e-11")).status, 0);
  const Array expected = array("one/plan.npy");
  ASSERT_EQ(expected.shape, (Shape{n, m}));
  const auto expect_plan = [&](Transport transport, std::size_t clients, const std::string& flags) {
    SCOPED_TRACE(::testing::PrintToString(transport) + " " + flags);
    const RunResult result = run_on(transport, clients, solve("r", "--plan --tolerance 1e-11 " + flags));
    ASSERT_EQ(result.status, 0) << result;
    EXPECT_EQ(array("r/plan.npy").shape, expected.shape);
    EXPECT_LE(largest_difference(array("r/plan.npy").values, expected.values), 1e-10);
  };
  for (const std::string& topology : testing::topologies_in_step())
    expect_plan(Transport::threads, 3, "--topology " + topology);
  expect_plan(Transport::threads, 6, "--topology grid --grid 2x3");
  if (has_mpirun()) expect_plan(Transport::mpi, 6, "--topology grid --grid 3x2");
}

TEST_F(Federated, RowsFollowTheWeights) {
  ASSERT_EQ(run(solve("one", "--passes two --tolerance 0 --max-iterations 40")).status, 3);
  const auto expect_rows = [&](const std::string& flags, const Json& rows) {
    for (const std::string& topology : testing::topologies_in_step()) {
      SCOPED_TRACE(topology + " " + flags);
      const std::size_t clients = rows.size();
      const RunResult result =
          run_on(Transport::threads, clients,
                 solve("r", "--tolerance 0 --max-iterations 40 " + flags + " --topology " + topology));
      ASSERT_EQ(result.status, 3) << result;
      const Json json = summary("r");
      ASSERT_EQ(json["clients"].size(), clients);
      Json found = Json::array();
      for (const Json& client : json["clients"]) found.push_back(client["rows"]);
      EXPECT_EQ(found, rows);
      expect_close("r", "one", 1e-12);
    }
  };
  expect_rows("", {{0, 20}, {20, 40}, {40, 60}});
  expect_rows("--rows 1,2,3", {{0, 10}, {10, 30}, {30, 60}});
  expect_rows("--rows 0,1,0", {{0, 0}, {0, 60}, {60, 60}});
  expect_rows("--rows 0.5,0.25,0.25", {{0, 30}, {30, 45}, {45, 60}});
}

TEST_F(Federated, MoreClientsThanRows) {
  write("small.npy", random_values(3 * 4, 7), {3, 4});
  const std::string command = "solve --cost small.npy --epsilon 0.1 --quiet --output ";
  ASSERT_EQ(run(command + "one --passes two").status, 0);
  for (const std::string& topology : testing::topologies_in_step()) {
    SCOPED_TRACE(topology);
    const RunResult result = run_on(Transport::threads, 7, command + topology + " --topology " + topology);
    ASSERT_EQ(result.status, 0) << result;
    expect_close(topology, "one", 1e-12);
    expect_sound_clients(summary(topology), 7);
  }
}

TEST_F(Federated, SeveralClientsMeanRowReduceUnlessSaidOtherwise) {
  ASSERT_EQ(run(solve("one")).status, 0);
  EXPECT_EQ(summary("one")["topology"], "centralized");
  EXPECT_EQ(summary("one")["transport"], "threads");
  EXPECT_EQ(summary("one")["passes"], "fused");
  expect_sound_clients(summary("one"), 1);
  ASSERT_EQ(run(solve("two", "--clients 2")).status, 0);
  EXPECT_EQ(summary("two")["topology"], "row-reduce");
  EXPECT_EQ(summary("two")["passes"], "fused");
  EXPECT_EQ(listing(folder() / "two"), listing(folder() / "one"));
  ASSERT_EQ(run(solve("passes", "--clients 2 --topology row-reduce --passes two")).status, 0);
  EXPECT_EQ(summary("passes")["passes"], "two");
}

TEST_F(Federated, LocalStepsSaveExchangesAndComeToTheSamePlan) {
  ASSERT_EQ(run(solve("one", "--plan --tolerance 1e-11")).status, 0);
  for (const std::string& topology : testing::topologies_with_local_steps()) {
    SCOPED_TRACE(topology);
    const auto steps = [&](const std::string& output, int count) {
      const RunResult result = run_on(
          Transport::threads, 3,
          solve(output, "--plan --tolerance 1e-11 --topology " + topology + " --local-steps " + std::to_string(count)));
      EXPECT_EQ(result.status, 0) << result;
      return summary(output);
    };
    const Json each = steps("each", 1);
    const Json some = steps("some", 3);
    EXPECT_EQ(each["local_steps"], 1);
    EXPECT_EQ(some["local_steps"], 3);
    const auto exchanges_per_iteration = [](const Json& json) {
      return json["exchanges"].get<double>() / json["iterations"].get<double>();
    };
    EXPECT_LT(exchanges_per_iteration(some), exchanges_per_iteration(each) / 2);
    EXPECT_LE(largest_difference(array("some/plan.npy").values, array("one/plan.npy").values), 1e-10);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Rows that stay where they are

class KeepLocal : public Federated, public ::testing::WithParamInterface<Transport> {};

TEST_P(KeepLocal, EveryClientWritesItsRows) {
  constexpr std::size_t clients = 3;
  // A normal run before, in the same folder: its f.npy must not be taken for a result of the other.
  ASSERT_EQ(run_on(Transport::threads, clients, solve("r", "--topology star --rows 1,2,3 --plan")).status, 0);
  const Values f = array("r/f.npy").values;
  const std::string g = bytes("r/g.npy");
  const RunResult result = run_on(GetParam(), clients, solve("r", "--topology star --rows 1,2,3 --keep-local"));
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_EQ(listing(folder() / "r"), (Names{"f-0.npy", "f-1.npy", "f-2.npy", "g.npy", "summary-0.json",
                                            "summary-1.json", "summary-2.json", "summary.json", "trace.csv"}));
  EXPECT_TRUE(bytes("r/g.npy") == g);
  Values together;
  for (std::size_t k = 0; k < clients; ++k) {
    const Array part = array("r/f-" + std::to_string(k) + ".npy");
    EXPECT_EQ(part.shape, Shape{10 * (k + 1)});
    together.insert(together.end(), part.values.begin(), part.values.end());
  }
  EXPECT_TRUE(together == f);
}

INSTANTIATE_TEST_SUITE_P(Federated, KeepLocal, ::testing::ValuesIn(available_transports()),
                         [](const auto& info) { return ::testing::PrintToString(info.param); });

TEST_F(Federated, KeptRowsOfSeveralTargets) {
  write("b2.npy", random_masses(m, 5, 2), {m, 2});
  const std::string command = "solve --cost C.npy --b b2.npy --epsilon 0.05 --quiet --clients 2 --topology row-reduce ";
  ASSERT_EQ(run(command + "--output whole").status, 0);
  ASSERT_EQ(run(command + "--output kept --keep-local").status, 0);
  Values together = array("kept/f-0.npy").values;
  EXPECT_EQ(array("kept/f-0.npy").shape, (Shape{30, 2}));
  const Values rest = array("kept/f-1.npy").values;
  together.insert(together.end(), rest.begin(), rest.end());
  EXPECT_TRUE(together == array("whole/f.npy").values);
}

// ---------------------------------------------------------------------------------------------------------------------
// Interruption and lost clients

TEST_F(Federated, AnInterruptedRunOfThreeClientsKeepsItsResults) {
  for (const std::string& topology : testing::topologies_in_step()) {
    SCOPED_TRACE(topology);
    const RunResult result = run_binary(words_of(endless("--clients 3 --topology " + topology)),
                                        {.folder = folder(), .signal_after = "iteration", .signal = SIGINT});
    EXPECT_TRUE(result.signal_sent);
    ASSERT_EQ(result.status, 130) << result;
    EXPECT_EQ(listing(folder() / "r"), kResultFiles);
    const Json json = summary("r");
    EXPECT_EQ(json["status"], "interrupted");
    EXPECT_GT(json["iterations"], 0);
    expect_sound_clients(json, 3);
    EXPECT_EQ(array("r/f.npy").shape, Shape{n});
    fs::remove_all(folder() / "r");
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
