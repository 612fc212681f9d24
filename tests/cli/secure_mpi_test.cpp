// solve --policy sums among processes, with and without a server that sums: reasons stay with their client, the server
// has no data, and whoever falls silent is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "cli/secure.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const std::string kServer = "--server sums ";

class SecureRanks : public SecureTest {
 protected:
  [[nodiscard]] RunResult run_parts(const std::vector<Ranks>& parts) const {
    return run_ranks(parts, {.folder = folder()});
  }
  [[nodiscard]] RunResult run_clients(const std::string& command) const {
    const bool has_server = command.find(kServer) != std::string::npos;
    return run_parts({{has_server ? kClients + 1 : kClients, words_of(command)}});
  }

  /// Client 2 cannot go on and says why; the others say that it cannot.
  void expect_reason_kept(const RunResult& result, const std::string& reason,
                          const std::vector<std::string>& before) const {
    SCOPED_TRACE(::testing::PrintToString(result));
    EXPECT_EQ(result.status, 2);
    std::vector<std::string> lines = own_lines(result.err);
    std::ranges::sort(lines, {}, [&](const std::string& line) { return line.find(reason) == std::string::npos; });
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_NE(lines[0].find(reason), std::string::npos);
    EXPECT_EQ(lines[1],
              "fedsinkhorn: client 2 cannot go on; the reason is not shared: see the standard error of client 2");
    EXPECT_EQ(snapshot(folder()), before);
  }
};

TEST_F(SecureRanks, GiveTheBitsOfOneProcess) {
  ASSERT_EQ(run(solve_sums("--clients 4", "sums")).status, 0);
  for (const std::string& server : {std::string(), kServer}) {
    SCOPED_TRACE(server);
    fs::remove_all(folder() / "r");
    const RunResult result = run_clients(solve_sums(server, "r"));
    ASSERT_EQ(result.status, 0) << result;
    EXPECT_EQ(own_lines(result.err), std::vector<std::string>{}) << result;
    expect_same_potentials("r", "sums");
    expect_only_masked_data("r", !server.empty());
    EXPECT_EQ(summary("r")["transport"], "mpi");
  }
}

// Its command line names files that are not there, keys among them.
TEST_F(SecureRanks, TheServerOpensNoFileAndWritesNone) {
  ASSERT_EQ(run(solve_sums("--clients 4", "sums")).status, 0);
  write_fingerprints("all.txt", make_keys());
  const std::string clients = solve_sums(kServer + "--key key-{client} --fingerprints all.txt", "r");
  const std::string server = solve(
      "--cost missing.npy --a none.npy --policy sums --key no-key --fingerprints no.txt " + kServer, "of-the-server");
  const RunResult result = run_parts({{kClients, words_of(clients)}, {1, words_of(server)}});
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_EQ(own_lines(result.err), std::vector<std::string>{}) << result;
  expect_same_potentials("r", "sums");
  EXPECT_FALSE(fs::exists(folder() / "of-the-server"));
}

// ---------------------------------------------------------------------------------------------------------------------
// Refused

TEST_F(SecureRanks, AReasonStaysWithItsClient) {
  const auto before = snapshot(folder());
  for (const std::string& server : {std::string(), kServer}) {
    SCOPED_TRACE(server);
    const std::string command = solve(kBadFiles + std::string(" --policy sums ") + server, "new/results");
    expect_reason_kept(run_clients(command), "bad-2.npy: entry 4 is negative (-0.25)", before);
  }
}

TEST_F(SecureRanks, AKeyThatOneClientCannotRead) {
  (void)make_keys();
  const std::string flags = "--key key-{client} ";
  fs::remove(folder() / "key-2");
  expect_reason_kept(run_clients(solve_sums(flags)), "key-2: cannot be read", snapshot(folder()));
  write_bytes(folder() / "key-2", "no key\n");
  fs::permissions(folder() / "key-2", fs::perms::owner_read | fs::perms::owner_write);
  expect_reason_kept(run_clients(solve_sums(flags + kServer)), "key-2: is no key", snapshot(folder()));
}

// What all clients find wrong, one says.
TEST_F(SecureRanks, FingerprintsThatAreTooFew) {
  std::vector<std::string> fingerprints = make_keys();
  fingerprints.pop_back();
  write_fingerprints("few.txt", fingerprints);
  const auto before = snapshot(folder());
  const RunResult result = run_clients(solve_sums("--key key-{client} --fingerprints few.txt " + kServer));
  expect_refused(result, {"--fingerprints: has 3 of them", "4 clients"}, before);
}

// As if somebody had put another key in the place of client 2's, from where client 0 looks.
TEST_F(SecureRanks, AClientThatIsNotTheExpectedOneIsNamed) {
  std::vector<std::string> fingerprints = make_keys();
  write_fingerprints("all.txt", fingerprints);
  std::swap(fingerprints[2], fingerprints[3]);
  write_fingerprints("others.txt", fingerprints);
  const auto before = snapshot(folder());
  for (const std::string& server : {std::string(), kServer}) {
    SCOPED_TRACE(server);
    const std::string flags = server + "--key key-{client} --fingerprints ";
    const RunResult result =
        run_parts({{1, words_of(solve_sums(flags + "others.txt", "r"))},
                   {server.empty() ? kClients - 1 : kClients, words_of(solve_sums(flags + "all.txt", "r"))}});
    EXPECT_EQ(result.status, 4) << result;
    const std::vector<std::string> lines = own_lines(result.err);
    ASSERT_EQ(lines.size(), 1U) << result;
    EXPECT_NE(lines[0].find("client 2 sent a key that has not the fingerprint given for it"), std::string::npos);
    // mpirun kills: a folder may be left, but nothing to be taken for a result.
    if (fs::exists(folder() / "r")) {
      for (const std::string& name : listing(folder() / "r")) EXPECT_TRUE(name.starts_with('.')) << name;
    }
    fs::remove_all(folder() / "r");
    EXPECT_EQ(snapshot(folder()), before);
  }
}

TEST_F(SecureRanks, AServerOfNobody) {
  const auto before = snapshot(folder());
  const RunResult result = run_parts({{1, words_of(solve_sums(kServer))}});
  expect_refused(result, {"--server: there is nobody to serve", "one process more than clients"}, before);
}

TEST_F(SecureRanks, AServerWithoutThePolicy) {
  const auto before = snapshot(folder());
  const RunResult result = run_clients(solve(kFiles + (" " + kServer), "new/results"));
  expect_refused(result, {"--server", "add --policy sums"}, before);
}

// Its columns' points are with the others.
TEST_F(SecureRanks, APlanOfPointsInParts) {
  const auto before = snapshot(folder());
  const RunResult result = run_clients(solve(kOwnPoints + std::string(" --policy sums --plan"), "new/results"));
  expect_refused(result, {"--plan", "points of the columns", "policy sums"}, before);
}

// ---------------------------------------------------------------------------------------------------------------------
// Lost clients, a lost server, and being told to stop

class SecureLostClient : public SecureRanks {
 protected:
  static constexpr std::size_t kServerRank = kClients;

  /// Days of work; `act` is done when the first line of progress has appeared.
  template <class Act>
  RunResult run_endlessly(const Act& act, const std::string& timeout) {
    const std::string command =
        "solve --cost C-{client}.npy --epsilon 0.1 --threads 1 --policy sums --tolerance 0 --max-iterations "
        "1000000000000 --check-every 10 --output r " +
        kServer + "--timeout " + timeout;
    const auto act_on = [this, act](int mpirun) {
      processes_ = processes_of_ranks(mpirun, kClients + 1);
      return act(mpirun);
    };
    return run_ranks({{kClients + 1, words_of(command)}},
                     {.folder = folder(), .signal_after = "iteration", .act = act_on, .answer = "fedsinkhorn:"});
  }
  RunResult signal_rank(std::size_t rank, int signal) {
    return run_endlessly(
        [this, rank, signal](int) { return processes_[rank] != 0 && ::kill(processes_[rank], signal) == 0; }, "2");
  }

  void expect_no_rank_left(const RunResult& result) const {
    EXPECT_TRUE(result.signal_sent) << result;
    for (const int process : processes_) {
      EXPECT_NE(process, 0);
      EXPECT_TRUE(ends_within(process, 15s));
    }
  }
  void expect_nothing_left(const RunResult& result) const {
    expect_no_rank_left(result);
    if (fs::exists(folder() / "r")) {
      EXPECT_EQ(listing(folder() / "r"), std::vector<std::string>{});
    }
  }

  void expect_named(std::size_t rank, const std::string& name) {
    const RunResult result = signal_rank(rank, SIGSTOP);
    SCOPED_TRACE(::testing::PrintToString(result));
    EXPECT_EQ(result.status, 4);
    EXPECT_EQ(own_lines(result.err), std::vector{"fedsinkhorn: " + name + " has not answered for 2 s"});
    EXPECT_LE(result.answer_seconds, 2 + 5);
    EXPECT_LE(result.end_seconds, 2 + 5 + 10) << "10 s are for mpirun";
    expect_nothing_left(result);
  }
  void expect_end_of_all(std::size_t killed) {
    const RunResult result = signal_rank(killed, SIGKILL);
    EXPECT_NE(result.status, 0) << result;
    EXPECT_LE(result.end_seconds, 15) << result;
    expect_nothing_left(result);
  }
  void expect_interrupted(const RunResult& result) const {
    SCOPED_TRACE(::testing::PrintToString(result));
    EXPECT_EQ(own_lines(result.err), std::vector<std::string>{});
    expect_no_rank_left(result);
    ASSERT_TRUE(fs::exists(folder() / "r"));
    EXPECT_EQ(listing(folder() / "r"), files_of_all());
    EXPECT_EQ(summary("r")["status"], "interrupted");
    EXPECT_GT(summary("r")["iterations"], 0);
  }

  std::vector<int> processes_;
};

TEST_F(SecureLostClient, IsNamedByTheServer) { expect_named(2, "client 2"); }

TEST_F(SecureLostClient, OrTheServerIsNamed) { expect_named(kServerRank, "the server"); }

TEST_F(SecureLostClient, EndsAllIfKilled) { expect_end_of_all(1); }

TEST_F(SecureLostClient, IsNotMissedIfAllAreInterrupted) {
  const RunResult result = signal_rank(1, SIGINT);
  EXPECT_EQ(result.status, 130) << result;
  expect_interrupted(result);
}

// All ranks get it. The server stays until the clients have agreed, by way of it, on where to stop.
TEST_F(SecureLostClient, IsNotTheServerIfMpirunPassesASignalOn) {
  const RunResult result = run_endlessly([](int mpirun) { return ::kill(mpirun, SIGUSR1) == 0; }, "30");
  EXPECT_EQ(result.status, 130) << result;
  expect_interrupted(result);
}

class SecureMpirunIsTold : public SecureLostClient {
 protected:
  // A second to write results, as mpirun grants it, may be too short on a busy machine.
  SecureMpirunIsTold() { ::setenv("OMPI_MCA_odls_base_sigkill_timeout", "3", 1); }
  ~SecureMpirunIsTold() override { ::unsetenv("OMPI_MCA_odls_base_sigkill_timeout"); }

  // mpirun lets no rank come to the end of MPI any more, but kills it: that is not to be taken for a lost client.
  RunResult tell_mpirun(int signal) {
    return run_endlessly([signal](int mpirun) { return ::kill(mpirun, signal) == 0; }, "30");
  }
};

TEST_F(SecureMpirunIsTold, ByControlC) { expect_interrupted(tell_mpirun(SIGINT)); }

}  // namespace
}  // namespace fedsinkhorn::test
