// What only happens among processes: ranks that were started differently, that see different files, that fall silent or
// die.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Mpirun : public FederatedTest {
 protected:
  static constexpr std::size_t n = 40;

  Mpirun() {
    write("C.npy", cost_, {n, n});
    write("a.npy", random_masses(n, 2), {n});
  }

  static Arguments solve(const std::string& flags) {
    return words_of("solve --epsilon 0.1 --threads 1 --quiet --output new/results " + flags);
  }
  [[nodiscard]] RunResult run_parts(const std::vector<Ranks>& parts) const {
    return run_ranks(parts, {.folder = folder()});
  }

  Values cost_ = random_values(n * n, 1);
};

// ---------------------------------------------------------------------------------------------------------------------
// Refused: by all, in one line, and nothing is left

TEST_F(Mpirun, ABadEntryInTheRowsOfOneRank) {
  cost_[25 * n + 3] = std::numeric_limits<double>::quiet_NaN();  // client 2 of 4 has rows 20 to 29
  write("C.npy", cost_, {n, n});
  const auto before = snapshot(folder());
  expect_refused(run_parts({{4, solve("--cost C.npy --topology row-reduce")}}), {"C.npy", "(25, 3)", "nan"}, before);
}

TEST_F(Mpirun, AnUnknownTopology) {
  const auto before = snapshot(folder());
  expect_refused(run_parts({{2, solve("--cost C.npy --topology ring")}}), {"--topology", "ring", "star"}, before);
}

TEST_F(Mpirun, ClientsThatContradictTheRanks) {
  const auto before = snapshot(folder());
  expect_refused(run_parts({{2, solve("--cost C.npy --clients 3")}}), {"--clients", "3", "2"}, before);
}

TEST_F(Mpirun, ThreadsWhereThereAreRanks) {
  const auto before = snapshot(folder());
  expect_refused(run_parts({{2, solve("--cost C.npy --transport threads")}}), {"--transport", "threads", "2"}, before);
}

TEST_F(Mpirun, ASimulationWhereThereAreRanks) {
  const auto before = snapshot(folder());
  expect_refused(run_parts({{2, solve("--cost C.npy --transport simulated")}}), {"--transport", "simulated", "2"},
                 before);
}

TEST_F(Mpirun, RanksWithDifferentOptions) {
  const auto before = snapshot(folder());
  const RunResult result = run_parts({{2, solve("--cost C.npy --tolerance 1e-6")}, {1, solve("--cost C.npy")}});
  expect_refused(result, {"--tolerance", "client 2", "1e-06"}, before);
}

TEST_F(Mpirun, RanksWithDifferentMasses) {
  const auto before = snapshot(folder());
  const RunResult result = run_parts({{1, solve("--cost C.npy")}, {1, solve("--cost C.npy --a a.npy")}});
  expect_refused(result, {"a.npy", "client 0"}, before);
}

TEST_F(Mpirun, AStartThatOneRankHasNot) {
  write("g.npy", Values(n, 0.0), {n});
  const auto before = snapshot(folder());
  const Arguments with = solve("--cost C.npy --initial-g g.npy");
  const Arguments without = solve("--cost C.npy");
  expect_refused(run_parts({{1, with}, {1, without}}), {"--initial-g", "not given", "client 0"}, before);
  expect_refused(run_parts({{1, without}, {1, with}}), {"g.npy", "is given", "client 0"}, before);
}

TEST_F(Mpirun, AFileThatOneRankDoesNotSee) {
  const auto before = snapshot(folder());
  const RunResult result = run_parts({{1, solve("--cost C.npy")}, {2, solve("--cost elsewhere.npy")}});
  expect_refused(result, {"elsewhere.npy"}, before);
}

/// Each rank names its files as it likes.
TEST_F(Mpirun, FilesOfTheSameRole) {
  const Values mine = random_values(5 * 2, 3);
  const Values yours = random_values(7 * 2, 4);
  Values all = mine;
  all.insert(all.end(), yours.begin(), yours.end());
  write("mine.npy", mine, {5, 2});
  write("yours.npy", yours, {7, 2});
  write("all.npy", all, {12, 2});
  write("Y.npy", random_values(9 * 2, 5), {9, 2});
  write("other-Y.npy", random_values(9 * 2, 6), {9, 2});
  write("long.npy", random_values(12 * 2, 7), {12, 2});
  const auto before = snapshot(folder());
  for (const std::string policy : {"open", "sums"}) {  // under sums each rank names its own file
    const auto expect_different = [&](const std::string& first, const std::string& second) {
      SCOPED_TRACE(policy + ": " + second);
      const std::string flags = " --policy " + policy + " --points ";
      const RunResult result = run_parts({{1, solve(flags + first)}, {1, solve(flags + second)}});
      EXPECT_EQ(result.status, 2) << result;
      EXPECT_NE(result.err.find("client 1 has others than client 0"), std::string::npos) << result;
      EXPECT_EQ(snapshot(folder()), before);
    };
    // Whole, as far as anybody has said, and not the same.
    expect_different("all.npy Y.npy", "long.npy Y.npy");
    expect_different("all.npy Y.npy", "all.npy other-Y.npy");
    expect_different("mine.npy Y.npy --parts X", "yours.npy other-Y.npy --parts X");
  }
  const RunResult result =
      run_parts({{1, solve("--points mine.npy Y.npy --parts X")}, {1, solve("--points yours.npy Y.npy --parts X")}});
  ASSERT_EQ(result.status, 0) << result;
  ASSERT_EQ(run("solve --points all.npy Y.npy --epsilon 0.1 --quiet --output one").status, 0);
  EXPECT_LT(largest_difference(array("new/results/f.npy").values, array("one/f.npy").values), 1e-9);
}

// The ranks that do not understand their command line are the only ones that know why.
TEST_F(Mpirun, AFlagThatOneRankDoesNotKnow) {
  const auto before = snapshot(folder());
  const RunResult result = run_parts({{1, solve("--cost C.npy")}, {1, solve("--cost C.npy --frobnicate")}});
  expect_refused(result, {"--frobnicate"}, before);
}

// mpirun kills everybody as soon as one rank fails: the one that speaks must have spoken by then, however late it is.
TEST_F(Mpirun, WhatIsWrongIsSaidEvenIfClientZeroIsLate) {
  const auto before = snapshot(folder());
  const Arguments late = {"/bin/sh", "-c", "sleep 1; exec \"$0\" \"$@\""};
  const auto run_late = [&](const std::string& flags) {
    return run_parts({{1, solve(flags), late}, {1, solve(flags)}});
  };
  expect_refused(run_late("--cost C.npy --transport threads"), {"--transport", "threads"}, before);
  expect_refused(run_late("--cost C.npy --frobnicate"), {"--frobnicate"}, before);
}

// ---------------------------------------------------------------------------------------------------------------------

TEST_F(Mpirun, OnlyTheServerOfAStarNeedsTheCost) {
  const RunResult result = run_parts(
      {{1, solve("--cost C.npy --a a.npy --topology star")}, {2, solve("--cost none.npy --a a.npy --topology star")}});
  ASSERT_EQ(result.status, 0) << result;
  ASSERT_EQ(run("solve --cost C.npy --a a.npy --epsilon 0.1 --quiet --output one --passes two").status, 0);
  expect_same_bytes("new/results", "one");
  const Json json = summary("new/results");
  expect_sound_clients(json, 3);
  EXPECT_GT(json["clients"][0]["kernel_bytes"], 0);
  EXPECT_EQ(json["clients"][1]["kernel_bytes"], 0);
}

TEST_F(Mpirun, ClientZeroSaysHowItWent) {
  const RunResult result = run_parts(
      {{3, words_of("solve --cost C.npy --epsilon 0.1 --threads 1 --max-iterations 2 --output r --clients 3")}});
  EXPECT_EQ(result.status, 3) << result;
  const std::string word = "iteration limit 2";
  const std::size_t at = result.out.find(word);
  EXPECT_NE(at, std::string::npos) << result;
  EXPECT_EQ(result.out.find(word, at + 1), std::string::npos) << "more than one rank spoke\n" << result;
  EXPECT_EQ(summary("r")["status"], "iteration_limit");
}

// ---------------------------------------------------------------------------------------------------------------------
// Ranks that do not wait for each other

TEST_F(Mpirun, AsyncRanksComeToThePlanOfThoseThatWait) {
  const std::string tight = "solve --cost C.npy --a a.npy --epsilon 0.1 --tolerance 1e-11 --plan --quiet --output ";
  ASSERT_EQ(run(tight + "waiting --clients 2 --threads 1 --topology all-to-all").status, 0);
  for (const std::size_t ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    const RunResult result = run_on(Transport::mpi, ranks, tight + "r --topology async");
    ASSERT_EQ(result.status, 0) << result;
    EXPECT_LE(largest_difference(array("r/plan.npy").values, array("waiting/plan.npy").values), 1e-9);
    const Json json = summary("r");
    EXPECT_NEAR(json["cost"]["linear"], summary("waiting")["cost"]["linear"], 1e-9);
    EXPECT_EQ(json["transport"], "mpi");
    EXPECT_EQ(json["delays"]["pairs"].size(), 2 * ranks * (ranks - 1));
    for (const char* slice : {"u", "v"}) EXPECT_LE(json["delays"][slice]["max"], json["max_staleness"]) << slice;
    expect_sound_clients(json, ranks);
  }
}

TEST_F(Mpirun, AsyncRanksKeepTheLimitOfIterations) {
  const RunResult result = run_parts({{2, solve("--cost C.npy --topology async --max-iterations 20 --tolerance 0")}});
  EXPECT_EQ(result.status, 3) << result;
  EXPECT_EQ(summary("new/results")["status"], "iteration_limit");
  EXPECT_EQ(summary("new/results")["iterations"], 20);
}

// ---------------------------------------------------------------------------------------------------------------------
// Lost clients

class LostClient : public Mpirun {
 protected:
  static constexpr std::size_t kRanks = 4;

  /// Days of work. The first line of progress says that the iterations are under way; then `signal` goes to a rank.
  RunResult run_and_signal(std::size_t rank, int signal, const std::string& flags) {
    const auto act = [this, rank, signal](int mpirun) {
      processes_ = processes_of_ranks(mpirun, kRanks);
      return processes_[rank] != 0 && ::kill(processes_[rank], signal) == 0;
    };
    return run_ranks({{kRanks, words_of("solve --cost C.npy --epsilon 0.1 --threads 1 --tolerance 0 --max-iterations "
                                        "1000000000000 --check-every 10 --output r " +
                                        flags)}},
                     {.folder = folder(), .signal_after = "iteration", .act = act, .answer = "fedsinkhorn:"});
  }

  void expect_no_rank_left(const RunResult& result) const {
    EXPECT_TRUE(result.signal_sent) << result;
    for (std::size_t k = 0; k < kRanks; ++k) {
      EXPECT_NE(processes_[k], 0) << "rank " << k << " was not found";
      EXPECT_TRUE(ends_within(processes_[k], 15s)) << "rank " << k << " is left";
    }
  }

  void expect_nothing_left(const RunResult& result) const {
    expect_no_rank_left(result);
    // mpirun kills: the folder may be left, but nothing in it.
    if (fs::exists(folder() / "r")) {
      EXPECT_EQ(listing(folder() / "r"), std::vector<std::string>{});
    }
  }

  void expect_named(std::size_t rank, const std::string& flags) {
    const RunResult result = run_and_signal(rank, SIGSTOP, "--timeout 3 " + flags);
    SCOPED_TRACE(::testing::PrintToString(result));
    EXPECT_EQ(result.status, 4);
    const std::vector<std::string> lines = own_lines(result.err);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0], "fedsinkhorn: client " + std::to_string(rank) + " has not answered for 3 s");
    // 5 s are what is promised on top of the time limit.
    EXPECT_GE(result.answer_seconds, 2.5);
    EXPECT_LE(result.answer_seconds, 3 + 5);
    EXPECT_LE(result.end_seconds, 3 + 5 + 10) << "10 s are for mpirun";
    expect_nothing_left(result);
  }

  static std::vector<std::string> others_than(std::size_t rank) {
    std::vector<std::string> others;
    for (std::size_t k = 0; k < kRanks; ++k) {
      if (k != rank) others.push_back(std::to_string(k));
    }
    return others;
  }

  /// Clients that do not wait for each other know all potentials, and leave them.
  void expect_results_so_far(std::size_t rank) {
    const RunResult result = run_and_signal(rank, SIGSTOP, "--timeout 2 --topology async");
    SCOPED_TRACE(::testing::PrintToString(result));
    EXPECT_EQ(result.status, 4);
    EXPECT_EQ(own_lines(result.err),
              std::vector{"fedsinkhorn: client " + std::to_string(rank) + " has not answered for 2 s"});
    EXPECT_LE(result.answer_seconds, 2 + 5);
    EXPECT_LE(result.end_seconds, 2 + 6);
    expect_no_rank_left(result);
    std::vector<std::string> names = {"delays.csv", "f.npy", "g.npy", "summary.json", "trace.csv"};
    for (const std::string& left : others_than(rank)) {
      names.push_back("f-" + left + ".npy");
      names.push_back("summary-" + left + ".json");
    }
    std::sort(names.begin(), names.end());
    ASSERT_EQ(listing(folder() / "r"), names);
    const Json json = summary("r");
    EXPECT_EQ(json["status"], "client_lost");
    EXPECT_EQ(json["lost_clients"], Json::array({rank}));
    EXPECT_GT(json["iterations"], 0);
    for (const Json& cost : json["cost"]) EXPECT_TRUE(cost.is_null()) << cost;
    for (const char* name : {"r/f.npy", "r/g.npy"}) {
      const Array potential = array(name);
      EXPECT_EQ(potential.shape, Shape{n}) << name;
      for (const double x : potential.values) EXPECT_TRUE(std::isfinite(x)) << name;
    }
  }

  std::vector<int> processes_ = std::vector<int>(kRanks);
};

TEST_F(LostClient, AKilledOneEndsAll) {
  const RunResult result = run_and_signal(1, SIGKILL, "--topology all-to-all");
  EXPECT_NE(result.status, 0) << result;
  EXPECT_LE(result.end_seconds, 15) << result;
  expect_nothing_left(result);
}

TEST_F(LostClient, AStoppedOneIsNamed) { expect_named(2, "--topology all-to-all"); }

// The server itself, which is also the one that speaks otherwise.
TEST_F(LostClient, AStoppedServerIsNamed) { expect_named(0, "--topology star"); }

TEST_F(LostClient, TheOthersLeaveResultsSoFarIfAsync) { expect_results_so_far(2); }

// The one that writes otherwise.
TEST_F(LostClient, AnotherLeavesResultsSoFarIfTheFirstIsLost) { expect_results_so_far(0); }

// f is nowhere as a whole: each that is left has to write its rows before the first one to end takes all along.
TEST_F(LostClient, EachThatIsLeftWritesItsRowsIfTheyStayLocal) {
  for (const std::size_t rank : {2, 0}) {
    SCOPED_TRACE(rank);
    fs::remove_all(folder() / "r");
    const RunResult result = run_and_signal(rank, SIGSTOP, "--timeout 2 --topology async --keep-local");
    EXPECT_EQ(result.status, 4) << result;
    EXPECT_LE(result.end_seconds, 2 + 6);
    expect_no_rank_left(result);
    std::vector<std::string> names = {"delays.csv", "g.npy", "summary.json", "trace.csv"};
    for (const std::string& left : others_than(rank)) {
      names.push_back("f-" + left + ".npy");
      names.push_back("summary-" + left + ".json");
      EXPECT_EQ(array("r/f-" + left + ".npy").shape, Shape{n / kRanks});
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(listing(folder() / "r"), names) << result;
  }
}

// All have the result; one falls silent while it is written. What was computed is not thrown away.
TEST_F(Mpirun, ARankThatStopsWhileResultsAreWrittenTakesNothingAlong) {
  constexpr std::size_t many = 2000;
  write("X.npy", random_values(many * 3, 7), {many, 3});
  const auto is_staged = [this] {
    std::error_code gone;
    for (const auto& hidden : fs::directory_iterator(folder() / "r", gone)) {
      if (fs::exists(hidden.path() / "f-1.npy", gone)) return true;
    }
    return false;
  };
  const auto stop_one = [&](int mpirun) {
    const auto end = std::chrono::steady_clock::now() + 50s;
    while (!is_staged() && !fs::exists(folder() / "r" / "summary.json") && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    const int process = processes_of_ranks(mpirun, 3)[1];
    return process != 0 && ::kill(process, SIGSTOP) == 0 && is_staged();
  };
  RunResult result;
  for (int attempt = 0; attempt < 20 && !result.signal_sent; ++attempt) {  // a busy machine may look too late
    fs::remove_all(folder() / "r");
    result = run_ranks({{3, words_of("solve --points X.npy --epsilon 0.05 --threads 1 --timeout 3 --output r --plan")}},
                       {.folder = folder(), .act = stop_one});
  }
  ASSERT_TRUE(result.signal_sent) << result;
  EXPECT_EQ(result.status, 4) << result;
  EXPECT_EQ(own_lines(result.err).size(), 1U) << result;
  EXPECT_EQ(summary("r")["status"], "converged");
  EXPECT_EQ(array("r/f.npy").shape, Shape{many});
  EXPECT_EQ(array("r/g.npy").shape, Shape{many});
  const std::vector<std::string> names = listing(folder() / "r");
  EXPECT_TRUE(std::ranges::none_of(names, [](const std::string& name) { return name.starts_with('.'); }));
}

// Whichever rank is told to stop, all do, and the first one writes.
TEST_F(LostClient, AnInterruptedAsyncRankEndsAllWithResults) {
  const RunResult result = run_and_signal(1, SIGINT, "--topology async");
  EXPECT_EQ(result.status, 130) << result;
  EXPECT_EQ(own_lines(result.err), std::vector<std::string>{}) << result;
  expect_no_rank_left(result);
  ASSERT_TRUE(fs::exists(folder() / "r" / "summary.json")) << result;
  EXPECT_EQ(summary("r")["status"], "interrupted");
  EXPECT_GT(summary("r")["iterations"], 0);
  expect_sound_clients(summary("r"), kRanks);
}

// ---------------------------------------------------------------------------------------------------------------------
// mpirun itself is told to end

class MpirunIsTold : public LostClient {
 protected:
  // A second to write results, as mpirun grants it, may be too short on a busy machine.
  MpirunIsTold() { ::setenv("OMPI_MCA_odls_base_sigkill_timeout", "3", 1); }
  ~MpirunIsTold() override { ::unsetenv("OMPI_MCA_odls_base_sigkill_timeout"); }

  RunResult tell_mpirun(int signal, const std::string& flags) {
    const auto act = [this, signal](int mpirun) {
      processes_ = processes_of_ranks(mpirun, kRanks);
      return ::kill(mpirun, signal) == 0;
    };
    return run_ranks({{kRanks, words_of("solve --cost C.npy --epsilon 0.1 --threads 1 --tolerance 0 --max-iterations "
                                        "1000000000000 --check-every 10 --output r " +
                                        flags)}},
                     {.folder = folder(), .signal_after = "iteration", .act = act});
  }

  void expect_results(const RunResult& result) {
    SCOPED_TRACE(::testing::PrintToString(result));
    EXPECT_EQ(own_lines(result.err), std::vector<std::string>{});
    expect_no_rank_left(result);
    ASSERT_TRUE(fs::exists(folder() / "r" / "summary.json"));
    EXPECT_EQ(summary("r")["status"], "interrupted");
    EXPECT_GT(summary("r")["iterations"], 0);
    EXPECT_EQ(array("r/f.npy").shape, Shape{n});
    EXPECT_EQ(array("r/g.npy").shape, Shape{n});
    fs::remove_all(folder() / "r");
  }
};

// It sends SIGTERM to the ranks, waits, and kills what is left; what it ends with is its own business.
TEST_F(MpirunIsTold, ToTerminate) {
  for (const std::string topology : {"all-to-all", "star", "async"}) {
    SCOPED_TRACE(topology);
    const RunResult result = tell_mpirun(SIGTERM, "--topology " + topology);
    EXPECT_NE(result.status, 0) << result;
    expect_results(result);
  }
}

TEST_F(MpirunIsTold, ByControlC) { expect_results(tell_mpirun(SIGINT, "--topology all-to-all")); }

TEST_F(MpirunIsTold, WhileClientsMakeLocalSteps) {
  expect_results(tell_mpirun(SIGTERM, "--topology row-reduce --local-steps 100000"));
}

// It passes that on and waits.
TEST_F(MpirunIsTold, BySigusr) {
  const RunResult result = tell_mpirun(SIGUSR1, "--topology all-to-all");
  EXPECT_EQ(result.status, 130) << result;
  expect_results(result);
}

}  // namespace
}  // namespace fedsinkhorn::test
