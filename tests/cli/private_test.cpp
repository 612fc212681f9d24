// solve --policy private in one process: what it says it guarantees, what it writes, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <string>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "cli/secure.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

const std::string kMarginal = "--cost C-{client}.npy --clients 4 --policy private ";
const std::string kScalings = "--cost C.npy --clients 4 --policy private --mechanism scalings ";

class PrivateTest : public SecureTest {
 protected:
  PrivateTest() {
    write("C.npy", random_values(n * m, 1), {n, m});
    write("a.npy", random_masses(n, 2), {n});
    write("b.npy", random_masses(m, 5), {m});
    write("g.npy", random_values(m, 6), {m});
    write("Y.npy", random_values(m * 3, 4), {m, 3});
    write_parts(folder(), "b", random_masses(m, 5), {m}, kColumns);
  }

  static std::string with_table(const std::string& flags, const std::string& output) {
    return "solve --epsilon 0.05 --threads 1 --timeout 30 --output " + output + " " + flags;
  }
  [[nodiscard]] Json privacy(const std::string& output) const { return summary(output)["privacy"]; }

  void expect_mentions(const std::string& text, const std::vector<std::string>& mentions) const {
    for (const std::string& mention : mentions) EXPECT_NE(text.find(mention), std::string::npos) << mention << text;
  }
};

// ---------------------------------------------------------------------------------------------------------------------
// What it says

TEST_F(PrivateTest, TheTableAndTheSummaryStateTheGuarantee) {
  const RunResult result = run(with_table(kMarginal + "--budget 1,1e-6 --releases 5", "r"));
  ASSERT_EQ(result.status, 0) << result;
  expect_mentions(result.out + result.err,
                  {"budget spent after 5 iterations", "epsilon 1 at delta 1e-06, one record replaced by another",
                   "plan mass of the columns, 5 times", "one client, which knows its own noise", "but not"});
  EXPECT_EQ((result.out + result.err).find("NOT private"), std::string::npos);
  const Json json = privacy("r");
  EXPECT_EQ(json["is_private"], true);
  EXPECT_EQ(json["mechanism"], "marginal");
  EXPECT_EQ(json["releases"], 5);
  EXPECT_LE(json["epsilon_exact"], 1);
  EXPECT_GT(json["epsilon_exact"], 0.999);
  EXPECT_NEAR(json["sensitivity"], std::sqrt(2.0) / n, 1e-7);
  EXPECT_EQ(json["ledger"].size(), 1U);
  EXPECT_EQ(json["views"].size(), 3U);
  EXPECT_FALSE(json.contains("released_cost"));
  EXPECT_EQ(summary("r")["status"], "budget_spent");
}

TEST_F(PrivateTest, WhatWasNotReleasedIsNotWritten) {
  ASSERT_EQ(run(solve(kMarginal + "--budget 1,1e-6", "r")).status, 0);
  ASSERT_EQ(run(solve(kScalings + "--clip 5 --budget 1,1e-6 --releases 3", "s")).status, 0);
  for (const std::string output : {"r", "s"}) {
    ASSERT_EQ(listing(folder() / output), files_of_all());
    const Json json = summary(output);
    for (const auto& [name, cost] : json["cost"].items()) EXPECT_TRUE(cost.is_null()) << name;
    EXPECT_TRUE(json["error"]["a"].is_null());
    EXPECT_EQ(json["error"]["b"].is_null(), output == "s");
    EXPECT_TRUE(json["error_on_exact_costs"]["b"].is_null());
    for (const Json& client : json["clients"]) {
      std::size_t releases = 0;
      for (const Json& left : client["left"]) {
        const std::string kind = left["kind"];
        const bool is_masked = left["form"] == "masked";
        releases += kind == "release" && is_masked == (output == "r") ? left["messages"].get<std::size_t>() : 0;
        for (const char* data : {"slice", "sum", "note", "potential", "result"}) EXPECT_NE(kind, data);
      }
      EXPECT_GT(releases, 0U);
    }
  }
}

TEST_F(PrivateTest, ASeedIsCalledNotPrivate) {
  const std::string flags = kMarginal + "--budget 1,1e-6 --releases 4 ";
  const RunResult result = run(with_table(flags + "--noise-seed 3", "r"));
  ASSERT_EQ(result.status, 0) << result;
  expect_mentions(result.out + result.err, {"NOT private: its noise comes from a seed"});
  EXPECT_EQ(privacy("r")["is_private"], false);
  expect_mentions(privacy("r")["sentence"], {"NOT private", "seed"});
  expect_mentions(privacy("r")["why_not"], {"anybody can repeat it"});
  ASSERT_EQ(run(solve(flags + "--noise-seed 3", "again")).status, 0);
  expect_same_potentials("again", "r");
  ASSERT_EQ(run(solve(flags + "--noise-seed 3 --server sums --transport simulated", "served")).status, 0);
  expect_same_potentials("served", "r");
  ASSERT_EQ(run(solve(flags + "--noise-seed 4", "other")).status, 0);
  EXPECT_NE(bytes("other/g.npy"), bytes("r/g.npy"));
}

TEST_F(PrivateTest, WithoutASeedNoTwoRunsAreTheSame) {
  for (const std::string& flags :
       {kMarginal + "--budget 1,1e-6", kScalings + "--clip 5 --budget 10,1e-6 --releases 3"}) {
    SCOPED_TRACE(flags);
    ASSERT_EQ(run(solve(flags, "one")).status, 0);
    ASSERT_EQ(run(solve(flags, "two")).status, 0);
    EXPECT_EQ(privacy("one")["is_private"], true);
    EXPECT_NE(bytes("one/g.npy"), bytes("two/g.npy"));
    EXPECT_NE(bytes("one/f-2.npy"), bytes("two/f-2.npy"));
    fs::remove_all(folder() / "one");
    fs::remove_all(folder() / "two");
  }
}

TEST_F(PrivateTest, WithoutAClipItIsCalledNotPrivate) {
  const RunResult result = run(with_table(kScalings + "--clip-kind none --noise 1 --releases 3", "r"));
  ASSERT_EQ(result.status, 0) << result;
  expect_mentions(result.out + result.err, {"NOT private: nothing is clipped", "no bound on epsilon"});
  EXPECT_EQ(privacy("r")["is_private"], false);
  EXPECT_TRUE(privacy("r")["epsilon_exact"].is_null());
}

TEST_F(PrivateTest, ThePapersReadingIsLabelled) {
  const RunResult result = run(with_table(kScalings + "--clip 2 --noise 10 --releases 3 --rows-moved paper", "r"));
  ASSERT_EQ(result.status, 0) << result;
  expect_mentions(result.out + result.err, {"the paper's reading", "k = 1"});
  EXPECT_EQ(privacy("r")["rows_moved"], 1);
  EXPECT_NEAR(privacy("r")["sensitivity"], 4, 1e-6);
}

TEST_F(PrivateTest, ACostIsReleasedIfItIsAskedFor) {
  const RunResult result = run(solve(kMarginal + "--budget 1,1e-6 --releases 3 --cost-bound 1", "r"));
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_EQ(privacy("r")["ledger"].size(), 2U);
  EXPECT_EQ(privacy("r")["releases"], 4);
  EXPECT_EQ(summary("r")["cost"]["linear"], privacy("r")["released_cost"]);
  EXPECT_TRUE(summary("r")["cost"]["dual"].is_null());
}

TEST_F(PrivateTest, ManyKindsOfInput) {
  const std::string marginal = " --policy private --budget 1,1e-6";
  const std::string scalings = "--cost C.npy --a a.npy --b b.npy --policy private --mechanism scalings --clip 1";
  for (const std::string& flags :
       {"--points X-{client}.npy Y.npy --b b.npy --clients 4" + marginal,
        "--cost C-{client}.npy --a a-{client}.npy --record-mass 0.1 --clients 4" + marginal,
        "--cost C.npy --clients 1" + marginal, "--cost C.npy" + marginal, scalings + " --noise 1 --releases 2",
        scalings + " --noise 1 --releases 2 --clients 90 --topology star"}) {
    SCOPED_TRACE(flags);
    const RunResult result = run(solve(flags, "r"));
    EXPECT_EQ(result.status, 0) << result;
    EXPECT_EQ(result.err, "");
    fs::remove_all(folder() / "r");
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Stops and losses

TEST_F(PrivateTest, AnInterruptedRunSaysWhatItHasReleased) {
  for (const std::string& flags : {kMarginal + "--noise 0.1", kScalings + "--clip 5 --noise 1",
                                   kScalings + "--clip 5 --noise 1 --topology async"}) {
    SCOPED_TRACE(flags);
    fs::remove_all(folder() / "r");
    const std::string command = with_table(flags + " --releases 1000000000", "r");
    const RunResult result =
        run_binary(words_of(command), {.folder = folder(), .signal_after = "iteration", .signal = SIGINT});
    EXPECT_EQ(result.status, 130) << result;
    ASSERT_TRUE(fs::exists(folder() / "r" / "summary.json")) << result;
    EXPECT_EQ(summary("r")["status"], "interrupted");
    EXPECT_GE(privacy("r")["releases"], summary("r")["iterations"]);
    EXPECT_GT(privacy("r")["releases"], 0);
  }
}

TEST_F(PrivateTest, ALostClientIsNamed) {
  write_bytes(folder() / "scenario.json", R"({"clients": [{"client": 2, "lost_at": 0.0005}]})");
  for (const std::string& flags :
       {kMarginal + "--noise 0.1", kMarginal + "--noise 0.1 --server sums", kScalings + "--clip 5 --noise 1",
        kScalings + "--clip 5 --noise 1 --topology star", kScalings + "--clip 5 --noise 1 --topology async"}) {
    SCOPED_TRACE(flags);
    const auto before = snapshot(folder());
    const RunResult result =
        run(solve(flags + " --releases 100000 --transport simulated --scenario scenario.json", "new/results"));
    EXPECT_EQ(result.status, 4) << result;
    ASSERT_EQ(own_lines(result.err).size(), 1U) << result;
    expect_mentions(result.err, {"client 2"});
    EXPECT_EQ(snapshot(folder()), before);
  }
}

TEST_F(PrivateTest, MassesThatDoNotTotalOneAreNoticed) {
  Values a = random_masses(n, 2);
  for (double& mass : a) mass *= 0.5;
  write("half.npy", a, {n});
  const auto before = snapshot(folder());
  const std::string flags = "--cost C.npy --a half.npy --record-mass 0.1 --clients 4 --policy private ";
  expect_refused(run(solve(flags + "--noise 0.001 --releases 3", "new/results")),
                 {"half.npy: has about a total mass of 0.", "masses must add up to 1"}, before);
}

// ---------------------------------------------------------------------------------------------------------------------
// Refused

class PrivateRefusal : public PrivateTest, public ::testing::WithParamInterface<RefusedFlags> {};

TEST_P(PrivateRefusal, IsOneLine) {
  const auto before = snapshot(folder());
  const RunResult result = run_here(words_of(solve(GetParam().flags, "new/results")), {.folder = folder()});
  expect_refused(result, GetParam().mentions, before);
}

std::string name_of_refusal(const ::testing::TestParamInfo<RefusedFlags>& info) { return info.param.name; }

RefusedFlags marginal(const std::string& name, const std::string& flags, const std::vector<std::string>& mentions) {
  return {name, kMarginal + flags, mentions};
}
/// With all that mechanism scalings needs but those.
RefusedFlags scalings(const std::string& name, const std::string& flags, const std::vector<std::string>& mentions) {
  return {name, kScalings + flags, mentions};
}

INSTANTIATE_TEST_SUITE_P(
    Noise, PrivateRefusal,
    ::testing::Values(marginal("Negative", "--noise -1 --releases 3", {"--noise: -1", "above 0"}),
                      marginal("None", "--noise 0 --releases 3", {"--policy: private needs noise", "--budget"}),
                      marginal("Nan", "--noise nan --releases 3", {"--noise: 'nan' is no number"}),
                      marginal("TooLittle", "--noise 1e-300 --releases 3", {"--noise: a standard deviation of 1e-300"}),
                      marginal("DeltaZero", "--noise 1 --releases 3 --delta 0", {"--delta: 0 is no delta"}),
                      marginal("DeltaOne", "--noise 1 --releases 3 --delta 1", {"--delta: 1 is no delta"}),
                      marginal("DeltaTwo", "--noise 1 --releases 3 --delta 2", {"--delta: 2 is no delta"}),
                      marginal("BudgetAlone", "--budget 1", {"--budget", "epsilon,delta"}),
                      marginal("BudgetOfDeltaOne", "--budget 1,1", {"--budget", "delta between 0 and 1"}),
                      marginal("BudgetOfDeltaTwo", "--budget 1,2", {"--budget", "delta between 0 and 1"}),
                      marginal("BudgetOfDeltaZero", "--budget 1,0", {"--budget: 0 is no budget"}),
                      marginal("BudgetOfZero", "--budget 0,1e-6", {"--budget: 0 is no budget"}),
                      marginal("BudgetOfThree", "--budget 1,1e-6,2", {"--budget", "epsilon,delta"}),
                      marginal("BudgetOfWords", "--budget x,1e-6", {"--budget: 'x' is no number"}),
                      marginal("SeedZero", "--budget 1,1e-6 --noise-seed 0", {"--noise-seed: 0 is too small"}),
                      marginal("OfNoKnownMechanism", "--budget 1,1e-6 --mechanism exponential",
                               {"--mechanism: unknown name 'exponential'", "marginal, scalings"}),
                      RefusedFlags{"OfOpen", "--cost C.npy --noise 1", {"--noise", "add --policy private"}},
                      RefusedFlags{"SeedOfOpen", "--cost C.npy --noise-seed 1", {"--noise-seed", "--policy private"}},
                      RefusedFlags{"BudgetOfSums",
                                   "--cost C.npy --clients 3 --policy sums --budget 1,1e-6",
                                   {"--budget", "add --policy private"}}),
    name_of_refusal);

INSTANTIATE_TEST_SUITE_P(
    Releases, PrivateRefusal,
    ::testing::Values(
        marginal("Zero", "--budget 1,1e-6 --releases 0", {"--releases: 0 is too small"}),
        marginal("Negative", "--budget 1,1e-6 --releases -1", {"--releases: -1 is too small"}),
        marginal("TwoToThe64", "--budget 1,1e-6 --releases 18446744073709551616", {"--releases", "is too large"}),
        marginal("Huge", "--budget 1,1e-6 --releases 1e30", {"--releases: 1e30 is too large"}),
        marginal("AutoWithoutABudget", "--noise 1", {"--releases: auto shares out a budget", "--budget"}),
        marginal("AutoWithNoise", "--noise 1 --budget 1,1e-6", {"--releases: auto", "noise is given"}),
        scalings("AutoOfScalings", "--clip 1 --budget 1,1e-6", {"--releases: auto is for mechanism marginal"}),
        scalings("EveryZero", "--clip 1 --noise 1 --releases 2 --release-every 0", {"--release-every: 0"}),
        scalings("EveryTwoInAStar", "--clip 1 --noise 1 --releases 2 --release-every 2 --topology star",
                 {"--release-every", "star"})),
    name_of_refusal);

INSTANTIATE_TEST_SUITE_P(
    Clip, PrivateRefusal,
    ::testing::Values(
        scalings("Zero", "--noise 1 --releases 3 --clip 0", {"--clip", "above 0"}),
        scalings("Missing", "--budget 1,1e-6 --releases 3", {"--clip", "above 0"}),
        scalings("Negative", "--noise 1 --releases 3 --clip -1", {"--clip: -1 is no norm"}),
        scalings("NoneWithABudget", "--clip-kind none --budget 1,1e-6 --releases 3", {"--budget: without a clip"}),
        scalings("NoneAndS", "--clip-kind none --clip 1 --noise 1 --releases 3", {"--clip: does not go with"}),
        scalings("NoRowsMoved", "--clip 1 --noise 1 --releases 2 --rows-moved 0", {"--rows-moved: '0'"}),
        scalings("WordsMoved", "--clip 1 --noise 1 --releases 2 --rows-moved x", {"--rows-moved: 'x'", "all, paper"}),
        scalings("RowsOfASlice", "--clip 1 --clip-kind slice --noise 1 --releases 2 --rows-moved 3",
                 {"--rows-moved: makes no difference"}),
        scalings("RowsBetweenReleases", "--clip 1 --noise 1 --releases 4 --release-every 2 --rows-moved 1",
                 {"--rows-moved: between releases", "--release-every 1"}),
        scalings("Colluding", "--clip 1 --noise 1 --releases 3 --colluding 1",
                 {"--colluding: is for mechanism marginal"}),
        marginal("OfMarginal", "--budget 1,1e-6 --clip 1", {"--mechanism: marginal needs no clip"})),
    name_of_refusal);

INSTANTIATE_TEST_SUITE_P(
    Run, PrivateRefusal,
    ::testing::Values(
        marginal("Grid", "--budget 1,1e-6 --topology grid", {"--policy: private", "grid", "row-reduce"}),
        marginal("AllToAll", "--budget 1,1e-6 --topology all-to-all", {"--policy: private", "all-to-all"}),
        marginal("Star", "--budget 1,1e-6 --topology star", {"--policy: private", "star"}),
        marginal("Async", "--budget 1,1e-6 --topology async", {"--policy: private", "async"}),
        scalings("RowReduce", "--clip 1 --noise 1 --releases 3 --topology row-reduce",
                 {"--policy: private with mechanism scalings", "all-to-all, star or async"}),
        scalings("GridOfScalings", "--clip 1 --noise 1 --releases 3 --topology grid", {"--policy: private", "grid"}),
        marginal("LocalSteps", "--budget 1,1e-6 --local-steps 2", {"--local-steps"}),
        scalings("LocalStepsOfScalings", "--clip 1 --noise 1 --releases 3 --local-steps 2", {"--local-steps"}),
        marginal("Newton", "--budget 1,1e-6 --method newton", {"--method: newton", "auto"}),
        marginal("Anderson", "--budget 1,1e-6 --method anderson", {"--method: anderson"}),
        marginal("History", "--budget 1,1e-6 --history 5", {"--history"}),
        marginal("Normalize", "--budget 1,1e-6 --normalize", {"--normalize", "total of 1 beforehand"}),
        marginal("Float32", "--budget 1,1e-6 --precision float32", {"--precision: float32", "float64"}),
        marginal("InitialG", "--budget 1,1e-6 --initial-g g.npy", {"g.npy", "leave it out with policy private"}),
        marginal("AllCollude", "--budget 1,1e-6 --colluding 4", {"--colluding: of 4 clients", "at most 3"}),
        scalings("ServerOfScalings", "--clip 1 --noise 1 --releases 3 --server sums", {"--server"})),
    name_of_refusal);

INSTANTIATE_TEST_SUITE_P(
    Data, PrivateRefusal,
    ::testing::Values(
        marginal("MassesWithoutABound", "--budget 1,1e-6 --a a-{client}.npy", {"--record-mass", "largest mass"}),
        marginal("TooLargeAMass", "--budget 1,1e-6 --a a-{client}.npy --record-mass 0.001",
                 {".npy: entry", "more than --record-mass 0.001"}),
        marginal("RecordMassAboveOne", "--budget 1,1e-6 --record-mass 2", {"--record-mass: 2 is no mass"}),
        marginal("PartsOfB", "--budget 1,1e-6 --b b-{client}.npy",
                 {".npy: is given in parts", "mechanism marginal", "the whole"}),
        RefusedFlags{"PartsOfY",
                     "--points X-{client}.npy Y-{client}.npy --clients 4 --policy private --budget 1,1e-6",
                     {".npy: is given in parts", "all of them"}},
        RefusedFlags{"PartsOfCosts",
                     "--cost C-{client}.npy --clients 4 --policy private --mechanism scalings --clip 1 --noise 1 "
                     "--releases 2",
                     {".npy: is given in parts", "mechanism marginal"}},
        marginal("NegativeMass", "--budget 1,1e-6 --a bad-{client}.npy --record-mass 0.5",
                 {"bad-2.npy: entry 4 is negative"})),
    name_of_refusal);

TEST_F(PrivateTest, KeysAreForMasksAlone) {
  (void)make_keys();
  const auto before = snapshot(folder());
  expect_refused(run(solve(kScalings + "--clip 1 --noise 1 --releases 3 --key key-{client}", "new/results")),
                 {"--key: is for masks"}, before);
  EXPECT_EQ(run(solve(kMarginal + "--budget 1,1e-6 --key key-{client}", "r")).status, 0);
}

TEST_F(PrivateTest, ABudgetThatAsksForMoreNoiseThanNumbersHold) {
  const auto before = snapshot(folder());
  expect_refused(run(solve(kScalings + "--clip 1e308 --budget 1,1e-6 --releases 2", "new/results")),
                 {"--budget: a standard deviation of inf"}, before);
}

TEST_F(PrivateTest, ABudgetThatAsksForLessNoiseThanNumbersHold) {
  const auto before = snapshot(folder());
  expect_refused(run(solve(kMarginal + "--budget 1e300,1e-6", "new/results")), {"--budget"}, before);
}

}  // namespace
}  // namespace fedsinkhorn::test
