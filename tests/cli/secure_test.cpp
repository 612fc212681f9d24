// solve --policy sums in one process: the potentials of policy open, files that stay apart, and what is refused.
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "cli/secure.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

TEST_F(SecureTest, GivesThePotentialsOfPolicyOpen) {
  ASSERT_EQ(run(solve(kFiles + std::string(" --clients 4"), "open")).status, 0);
  const RunResult result = run(solve_sums("--clients 4", "sums"));
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_EQ(result.err, "");
  ASSERT_EQ(listing(folder() / "sums"), files_of_all());
  for (const std::string& name : files_of_all()) {
    if (!name.ends_with(".npy")) continue;
    EXPECT_EQ(array("sums/" + name).shape, array("open/" + name).shape) << name;
    EXPECT_LE(largest_difference(array("sums/" + name).values, array("open/" + name).values), 1e-11) << name;
  }
  expect_only_masked_data("sums", false);
  expect_sound_clients(summary("sums"), kClients);
  EXPECT_NE(summary("open")["privacy"], summary("sums")["privacy"]["sentence"]);
}

TEST_F(SecureTest, GivesTheSameBitsHoweverClientsMeet) {
  ASSERT_EQ(run(solve_sums("--clients 4", "sums")).status, 0);
  for (const std::string flags : {"--server sums", "--transport simulated", "--transport simulated --server sums"}) {
    SCOPED_TRACE(flags);
    fs::remove_all(folder() / "r");
    const RunResult result = run(solve_sums("--clients 4 " + flags, "r"));
    ASSERT_EQ(result.status, 0) << result;
    expect_same_potentials("r", "sums");
    expect_only_masked_data("r", flags.find("--server") != std::string::npos);
  }
}

// f is kept apart even if the inputs are not.
TEST_F(SecureTest, NobodyWritesTheWholeOfF) {
  write("C.npy", random_values(n * m, 1), {n, m});
  ASSERT_EQ(run(solve("--cost C.npy --policy sums --clients 4", "r")).status, 0);
  EXPECT_EQ(listing(folder() / "r"), files_of_all());
}

// The server is the one after the last client.
TEST_F(SecureTest, ALostServerIsNamed) {
  write_bytes(folder() / "scenario.json", R"({"clients": [{"client": 4, "lost_at": 0.0005}]})");
  const auto before = snapshot(folder());
  const RunResult result = run(solve_sums("--clients 4 --server sums --transport simulated --scenario scenario.json"));
  EXPECT_EQ(result.status, 4) << result;
  EXPECT_EQ(result.err, "fedsinkhorn: the server has not answered for 30 s\n");
  EXPECT_EQ(snapshot(folder()), before);
}

TEST_F(SecureTest, TwoClientsAreToldThatTheyHideNothing) {
  write("C.npy", random_values(n * m, 1), {n, m});
  for (const std::string server : {"none", "sums"}) {
    ASSERT_EQ(run(solve("--cost C.npy --policy sums --clients 2 --server " + server, "r")).status, 0);
    const std::string privacy = summary("r")["privacy"]["sentence"];
    EXPECT_NE(privacy.find("each can subtract its own part and has the other's"), std::string::npos) << privacy;
  }
}

TEST_F(SecureTest, AnInterruptedRunLeavesTheFilesOfAllClients) {
  for (const std::string server : {"none", "sums"}) {
    SCOPED_TRACE(server);
    fs::remove_all(folder() / "r");
    const std::string command =
        "solve --cost C-{client}.npy --epsilon 0.05 --threads 1 --clients 4 --policy sums "
        "--tolerance 0 --max-iterations 1000000000000 --check-every 10 --output r --server ";
    const RunResult result =
        run_binary(words_of(command + server), {.folder = folder(), .signal_after = "iteration", .signal = SIGINT});
    EXPECT_EQ(result.status, 130) << result;
    ASSERT_TRUE(fs::exists(folder() / "r")) << result;
    EXPECT_EQ(listing(folder() / "r"), files_of_all());
    EXPECT_EQ(summary("r")["status"], "interrupted");
    EXPECT_GT(summary("r")["iterations"], 0);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Refused

// There is nobody else to keep it from.
TEST_F(SecureTest, OneProcessSaysTheReason) {
  const auto before = snapshot(folder());
  for (const std::string flags : {"", "--server sums", "--transport simulated"}) {
    SCOPED_TRACE(flags);
    const std::string command = std::string(kBadFiles) + " --policy sums --clients 4 " + flags;
    expect_refused(run(solve(command, "new/results")), {"bad-2.npy: entry 4 is negative (-0.25)"}, before);
  }
}

class SecureRefusal : public SecureTest, public ::testing::WithParamInterface<RefusedFlags> {};

TEST_P(SecureRefusal, IsOneLine) {
  const auto before = snapshot(folder());
  const RunResult result = run(solve(kFiles + std::string(" --clients 4 ") + GetParam().flags, "new/results"));
  expect_refused(result, GetParam().mentions, before);
}

INSTANTIATE_TEST_SUITE_P(
    Policy, SecureRefusal,
    ::testing::Values(
        RefusedFlags{"Star", "--policy sums --topology star", {"--policy: sums", "star", "holds all costs"}},
        RefusedFlags{"Grid", "--policy sums --topology grid", {"--policy: sums", "grid", "parts of u"}},
        RefusedFlags{"AllToAll", "--policy sums --topology all-to-all", {"--policy: sums", "tell each other u and v"}},
        RefusedFlags{"Async", "--policy sums --topology async", {"--policy: sums", "tell each other u and v"}},
        RefusedFlags{"LargestError", "--policy sums --norm linf", {"--norm: linf", "l1 or l2"}},
        RefusedFlags{"LocalSteps", "--policy sums --local-steps 2", {"--local-steps", "policy sums"}},
        RefusedFlags{"Overrelaxed", "--policy sums --method overrelaxed", {"--method: overrelaxed", "policy sums"}},
        RefusedFlags{"ServerOfOpen", "--server sums", {"--server", "add --policy sums"}},
        RefusedFlags{"KeyOfOpen", "--key key-{client}", {"--key", "add --policy sums"}},
        RefusedFlags{"FingerprintsOfOpen", "--fingerprints all.txt", {"--fingerprints", "add --policy sums"}},
        RefusedFlags{"FingerprintsAlone", "--policy sums --fingerprints all.txt", {"--fingerprints", "add --key"}},
        RefusedFlags{"MissingKey", "--policy sums --key key-{client}", {"key-0: cannot be read"}}),
    [](const auto& info) { return info.param.name; });

// ---------------------------------------------------------------------------------------------------------------------
// Keys

class SecureKeys : public SecureTest {
 protected:
  SecureKeys() { write_fingerprints("all.txt", fingerprints_); }

  void expect_keys_refused(const std::string& flags, const std::vector<std::string>& mentions) const {
    SCOPED_TRACE(flags);
    const auto before = snapshot(folder());
    for (const std::string server : {"", " --server sums"}) {
      expect_refused(run(solve_sums("--clients 4 " + flags + server)), mentions, before);
    }
  }

  std::vector<std::string> fingerprints_ = make_keys();
};

TEST_F(SecureKeys, AreForTheirOwnerAlone) {
  for (std::size_t k = 0; k < kClients; ++k) {
    EXPECT_EQ(fs::status(folder() / ("key-" + std::to_string(k))).permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(fingerprints_[k].size(), 33U);
    EXPECT_EQ(fingerprints_[k].find_first_not_of("0123456789abcdef"), 32U);
    for (std::size_t j = 0; j < k; ++j) EXPECT_NE(fingerprints_[j], fingerprints_[k]);
  }
}

TEST_F(SecureKeys, AreNeverReplaced) {
  const auto before = snapshot(folder());
  expect_refused(run("privacy key --output key-1"), {"key-1", "File exists"}, before);
  expect_refused(run("privacy key --output none/key-1"), {"none/key-1", "cannot be created"}, before);
}

TEST_F(SecureKeys, ChangeNoBit) {
  ASSERT_EQ(run(solve_sums("--clients 4", "sums")).status, 0);
  for (const std::string flags : {"", " --fingerprints all.txt", " --fingerprints all.txt --server sums"}) {
    fs::remove_all(folder() / "r");
    const RunResult result = run(solve_sums("--clients 4 --key key-{client}" + flags, "r"));
    ASSERT_EQ(result.status, 0) << result;
    expect_same_potentials("r", "sums");
  }
}

TEST_F(SecureKeys, MustBeKeys) {
  write_bytes(folder() / "key-2", "fedsinkhorn-key-2 0123\n");
  expect_keys_refused("--key key-{client}", {"key-2: is no key", "fedsinkhorn privacy key"});
  write_bytes(folder() / "key-2", "fedsinkhorn-key-1 " + std::string(64, '7') + "\n");
  expect_keys_refused("--key key-{client}", {"key-2: is a key of an earlier version", "fedsinkhorn privacy key"});
  fs::remove(folder() / "key-2");
  expect_keys_refused("--key key-{client}", {"key-2: cannot be read"});
}

TEST_F(SecureKeys, MustNotBeShared) {
  const auto before = snapshot(folder());
  const RunResult result = run(solve_sums("--clients 4 --key key-1"));
  EXPECT_EQ(result.status, 4) << result;
  EXPECT_EQ(own_lines(result.err).size(), 1U) << result;
  EXPECT_NE(result.err.find("sent the key of client"), std::string::npos) << result;
  EXPECT_EQ(snapshot(folder()), before);
}

TEST_F(SecureKeys, NeedAFingerprintEach) {
  const std::string flags = "--key key-{client} --fingerprints ";
  expect_keys_refused(flags + "none.txt", {"none.txt: cannot be read"});
  write_fingerprints("bad.txt", {fingerprints_[0], "0123456789\n"});
  expect_keys_refused(flags + "bad.txt", {"bad.txt: line 4 is no fingerprint", "32 hexadecimal digits"});
  write_fingerprints("few.txt", {fingerprints_[0], fingerprints_[1], fingerprints_[2]});
  expect_keys_refused(flags + "few.txt", {"--fingerprints: has 3 of them", "4 clients"});
  // Else it would stand for any key.
  write_fingerprints("empty.txt", {});
  expect_keys_refused(flags + "empty.txt", {"empty.txt: has no fingerprints"});
  // All read the same file: the client whose key it does not name is the first to know.
  write_fingerprints("wrong.txt", {fingerprints_[0], fingerprints_[1], fingerprints_[3], fingerprints_[2]});
  expect_keys_refused(flags + "wrong.txt", {"--key: has the fingerprint " + fingerprints_[2].substr(0, 32),
                                            "for client 2 the others expect " + fingerprints_[3].substr(0, 32)});
}

}  // namespace
}  // namespace fedsinkhorn::test
