// fedsinkhorn risk.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"
#include "io/csv_table.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

class RiskCommand : public ::testing::Test {
 protected:
  RiskCommand() {
    write("r.csv", "date,A,\"B, Inc.\"\n2020-01-01,0.01,0.02\n\n\"2020-01-02\",-0.01,0.03\n2020-01-03,0.02,-0.01\n");
    write("s.csv", "name,A,\"B, Inc.\"\ncalm,0.01,0.01\ncrash,0.2,0.3\nmild,0.05,-0.01\n");
    write("w.csv", "A,\"B, Inc.\"\n0.5,0.5\n");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }
  [[nodiscard]] RunResult run(const std::string& rest) const {
    return run_binary(words_of(rest), {.folder = folder_.path()});
  }
  [[nodiscard]] RunResult risk(const std::string& rest) const {
    return run("risk --returns r.csv --scenarios s.csv --weights w.csv --epsilon 0.001 " + rest);
  }
  [[nodiscard]] fs::path file(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] nlohmann::json summary(const std::string& folder) const {
    return nlohmann::json::parse(std::ifstream(file(folder + "/summary.json")));
  }
  /// Lines below the header.
  [[nodiscard]] std::size_t lines(const std::string& name) const {
    std::ifstream stream(file(name));
    std::size_t count = 0;
    for (std::string line; std::getline(stream, line);) ++count;
    return count - 1;
  }
  /// The commands' words for a market of so many desks.
  [[nodiscard]] std::string market(int desks) const {
    const RunResult made = run("generate-market --desks " + std::to_string(desks) +
                               " --days 60 --assets 4 --scenarios 80 --seed 3 --output m");
    EXPECT_EQ(made.status, 0) << made;
    return "risk --scenarios m/scenarios.csv --weights m/weights.csv --gains --stay --radius 1e-4 --epsilon 1e-4 "
           "--returns m/returns-{client}.csv ";
  }

  TemporaryFolder folder_;
};

TEST_F(RiskCommand, SaysHowBadItCanBe) {
  const RunResult result = risk("--radius 0.005 --stay --radius-sweep 0.001:0.02:5 --output out");
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_NE(result.out.find("worst case"), std::string::npos);
  EXPECT_NE(result.out.find("2020-01-0"), std::string::npos) << "the days that are moved have their dates";
  EXPECT_EQ(listing(file("out")), (Names{"summary.json", "worst-case-days.csv", "worst-case-radius.csv",
                                         "worst-case.csv", "worst-case.npy", "worst-case.svg"}));
  const nlohmann::json json = summary("out");
  EXPECT_EQ(json["status"], "converged");
  EXPECT_NEAR(json["expected_loss"].get<double>(), (0.015 + 0.01 + 0.005) / 3, 1e-15);
  EXPECT_GT(json["worst_case_loss"], json["expected_loss"]);
  EXPECT_NEAR(json["transport_cost"].get<double>(), 0.005, 1e-14);
  EXPECT_EQ(json["radius"], 0.005);
  EXPECT_GE(json["dual"], json["worst_case_loss"]);
  EXPECT_NEAR(json["duality_gap"].get<double>(), json["dual"].get<double>() - json["worst_case_loss"].get<double>(),
              1e-15);
  EXPECT_GT(json["lambda"], 0);
  ASSERT_EQ(json["sweep"].size(), 5U);
  for (std::size_t k = 1; k < 5; ++k) {
    EXPECT_GT(json["sweep"][k]["worst_case_loss"], json["sweep"][k - 1]["worst_case_loss"]);
  }
  const std::vector<double> weights = NpyFile::open(file("out/worst-case.npy")).to_vector();
  ASSERT_EQ(weights.size(), 3U);
  EXPECT_NEAR(weights[0] + weights[1] + weights[2] + json["stays"].get<double>(), 1, 1e-12);
  EXPECT_EQ(lines("out/worst-case-days.csv"), 3U);
}

TEST_F(RiskCommand, TheSignOfALossCanBeTurned) {
  ASSERT_EQ(risk("--radius 1 --quiet --output loss").status, 0);
  ASSERT_EQ(risk("--radius 1 --gains --quiet --output gain").status, 0);
  EXPECT_EQ(summary("loss")["expected_loss"].get<double>(), -summary("gain")["expected_loss"].get<double>());
  EXPECT_NEAR(summary("loss")["worst_case_loss"].get<double>(), 0.25, 1e-9) << "all days crash";
  EXPECT_NEAR(summary("gain")["worst_case_loss"].get<double>(), -0.01, 1e-4) << "all days are calm";
  EXPECT_EQ(summary("loss")["is_binding"], false);
  EXPECT_EQ(summary("loss")["lambda"], 0.0);
}

TEST_F(RiskCommand, RadiusZero) {
  expect_one_line(risk("--radius 0"), "fedsinkhorn: --radius: 0 is less than ");
  ASSERT_EQ(risk("--radius 0 --stay --quiet --output out").status, 0);
  EXPECT_NEAR(summary("out")["worst_case_loss"].get<double>(), summary("out")["expected_loss"].get<double>(), 1e-15);
  EXPECT_EQ(summary("out")["duality_gap"], 0.0);
  EXPECT_EQ(summary("out")["stays"], 1.0);
}

TEST_F(RiskCommand, BadInputIsOneLineAndNothingIsWritten) {
  write("text.csv", "date,A,\"B, Inc.\"\n2020-01-01,0.01,n/a\n");
  write("nan.csv", "date,A,\"B, Inc.\"\n2020-01-01,0.01,0.1\n2020-01-02,nan,0.1\n");
  write("other.csv", "date,A,C\n2020-01-01,0.01,0.1\n");
  write("w3.csv", "1\n2\n3\n");
  const std::string rest = " --weights w.csv --epsilon 0.001 --radius 1 --output out";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"risk --returns text.csv --scenarios s.csv" + rest, "text.csv: line 2, column \"B, Inc.\": 'n/a'"},
      {"risk --returns nan.csv --scenarios s.csv" + rest, "nan.csv: line 3, column \"A\": 'nan'"},
      {"risk --returns r.csv --scenarios other.csv" + rest, "other.csv: asset 2 is 'C'"},
      {"risk --returns r.csv --scenarios s.csv --weights w3.csv --epsilon 1 --radius 1 --output out",
       "w3.csv: has 3 numbers; give 2"},
      {"risk --returns no.csv --scenarios s.csv" + rest, "no.csv: "},
      {"risk --returns r.csv --scenarios s.txt" + rest, "s.txt: is neither a .csv nor a .npy file"},
      {"risk --returns r.csv --scenarios s.csv --loss cvar:2" + rest, "--loss: "},
      {"risk --returns r.csv --scenarios s.csv --loss square" + rest, "--loss: "},
      {"risk --returns r.csv --scenarios s.csv --cost manhattan" + rest, "--cost: unknown name 'manhattan'"},
      {"risk --returns r.csv --scenarios s.csv --topology star" + rest, "--topology: is for --stress-marginal"},
      {"risk --returns r.csv --scenarios s.csv --policy private" + rest, "--policy: private is not for risk"},
      {"risk --returns r.csv --scenarios s.csv --lambda 1" + rest, "--lambda: is for --stress-marginal"},
      {"risk --returns r.csv --scenarios s.csv --radius-sweep 1:2" + rest, "--radius-sweep: '1:2' is no range"},
      {"risk --scenarios s.csv" + rest, "--returns: is missing"},
      {"risk --returns r.csv --scenarios s-{client}.csv" + rest, "{client}: "},
      {"risk --returns r.csv --scenarios s.csv --cost mahalanobis --covariance w3.csv" + rest, "w3.csv: is 3 x 1"},
  };
  for (const auto& [command, begin] : cases) {
    SCOPED_TRACE(command);
    expect_one_line(run(command), "fedsinkhorn: " + begin);
    EXPECT_FALSE(fs::exists(file("out")));
  }
}

TEST_F(RiskCommand, FiveDesksGiveTheAnswerOfOne) {
  const std::string command = market(5);
  ASSERT_EQ(run(command + "--clients 5 --policy sums --quiet --output sums").status, 0);
  ASSERT_EQ(run(command + "--clients 5 --quiet --output open").status, 0);
  std::string all = "date,A01,A02,A03,A04\n";
  for (int k = 0; k < 5; ++k) {
    std::ifstream part(file("m/returns-" + std::to_string(k) + ".csv"));
    std::string line;
    std::getline(part, line);
    while (std::getline(part, line)) all += line + "\n";
  }
  write("all.csv", all);
  const std::string alone = command.substr(0, command.find("--returns")) + "--returns all.csv --quiet --output one";
  ASSERT_EQ(run(alone).status, 0);
  for (const char* key : {"expected_loss", "worst_case_loss", "lambda", "transport_cost", "dual"}) {
    EXPECT_EQ(summary("open")[key], summary("one")[key]) << key;
    const double one = summary("one")[key];
    EXPECT_NEAR(summary("sums")[key].get<double>(), one, 1e-10 * std::abs(one)) << key;
  }
}

TEST_F(RiskCommand, SumsAreLimitedAndMatricesShared) {
  const std::string command = market(3) + "--clients 3 --policy sums --output out ";
  const RunResult limited = run(command + "--loss cvar:0.95 --most-sums 1500");
  EXPECT_EQ(limited.status, 3) << limited;
  EXPECT_EQ(summary("out")["status"], "sums_limit");
  EXPECT_LE(summary("out")["privacy"]["sums_seen"].get<int>(), 1500);

  write("few.csv", "name,A01,A02,A03,A04\none,0.1,0.1,0.1,0.1\ntwo,-0.3,0.1,-0.2,0.1\n");
  const std::string whitened =
      "risk --scenarios few.csv --weights m/weights.csv --gains --stay --radius 2 --epsilon 0.01 --cost mahalanobis "
      "--returns m/returns-{client}.csv --clients 3 --policy sums --output white ";
  const RunResult refused = run(whitened);
  EXPECT_EQ(refused.status, 2) << refused;
  EXPECT_NE(refused.err.find("--share-matrices"), std::string::npos) << refused;
  const RunResult shared = run(whitened + "--share-matrices --quiet");
  EXPECT_EQ(shared.status, 0) << shared;
  EXPECT_EQ(summary("white")["privacy"]["matrices_summed"], 1);
  EXPECT_EQ(summary("white")["privacy"]["rows_are_determined"], true);
  EXPECT_NE(shared.err.find("warning: clients have seen"), std::string::npos) << shared;
}

TEST_F(RiskCommand, FoldersOfClientsHaveTheirOwnDays) {
  const std::string command = market(3);
  ASSERT_EQ(run(command + "--clients 3 --policy sums --quiet --output out-{client}").status, 0);
  for (int k = 0; k < 3; ++k) {
    const std::string number = std::to_string(k);
    EXPECT_EQ(lines("out-" + number + "/worst-case-days.csv"), read_csv(file("m/returns-" + number + ".csv")).rows);
    EXPECT_EQ(summary("out-" + number)["clients"].size(), 1U);
  }
}

TEST_F(RiskCommand, SweepsGoBeyondTheLargestRadius) {
  write("wide.csv", "0.5\n0.5\n");
  const std::string command = "risk --returns r.csv --scenarios s.csv --weights wide.csv --epsilon 0.1 --stay --quiet ";
  ASSERT_EQ(run(command + "--radius 0.01 --radius-sweep 0.01,10,1000 --output out").status, 0);
  const nlohmann::json sweep = summary("out")["sweep"];
  EXPECT_EQ(sweep[1]["is_binding"], false);
  EXPECT_EQ(sweep[2]["worst_case_loss"], sweep[1]["worst_case_loss"]);
  EXPECT_EQ(sweep[2]["status"], "converged");
}

TEST_F(RiskCommand, RanksKeepTheirDays) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const std::string command = market(3);
  ASSERT_EQ(run(command + "--clients 3 --quiet --output threads").status, 0);
  for (const std::string policy : {"open", "sums", "sums --server sums"}) {
    SCOPED_TRACE(policy);
    const std::size_t ranks = policy.find("server") == std::string::npos ? 3 : 4;
    fs::remove_all(file("mpi"));
    const RunResult result =
        run_ranks({{ranks, words_of(command + "--quiet --output mpi --policy " + policy)}}, {.folder = folder_.path()});
    ASSERT_EQ(result.status, 0) << result;
    const double worst = summary("threads")["worst_case_loss"];
    EXPECT_NEAR(summary("mpi")["worst_case_loss"].get<double>(), worst, 1e-10 * std::abs(worst));
    const std::size_t own = read_csv(file("m/returns-0.csv")).rows;
    EXPECT_EQ(lines("mpi/worst-case-days.csv"), policy == "open" ? 60U : own);
    EXPECT_EQ(lines("mpi/worst-case-days-2.csv"), read_csv(file("m/returns-2.csv")).rows);
  }
  // A reason stays with its rank.
  write("m/returns-1.csv", "date,A01,A02,A03,A04\n2020-01-01,secret,1,2,3\n");
  const RunResult refused =
      run_ranks({{3, words_of(command + "--policy sums --output refused")}}, {.folder = folder_.path()});
  EXPECT_EQ(refused.status, 2) << refused;
  EXPECT_FALSE(fs::exists(file("refused")));
}

TEST_F(RiskCommand, BothMarginalsFixTheLoss) {
  write("c.csv", "0.164,0.163,0.214\n0.163,0.161,0.232\n0.214,0.232,0.163\n");
  write("a.csv", "0.30\n0.15\n5.15\n");
  write("b.csv", "1.24\n0.01\n4.67\n");
  write("l.csv", "-0.4\n-0.1\n-0.5\n");
  const std::string toy =
      "risk --cost c.csv --a a.csv --loss l.csv --stress-marginal b.csv --epsilon 0.01 --clients 3 ";
  for (const char* topology : {"all-to-all", "star", "row-reduce", "async"}) {
    SCOPED_TRACE(topology);
    const RunResult result = run(toy + "--lambda 1 --output toy --topology " + topology);
    ASSERT_EQ(result.status, 0) << result;
    EXPECT_EQ(result.out.find("With both marginals fixed the expected loss is"), 0U) << result;
    EXPECT_NEAR(summary("toy")["worst_case_loss"].get<double>(), -0.47838, 5e-6);
    const std::vector<double> f = NpyFile::open(file("toy/f.npy")).to_vector();
    const std::vector<double> g = NpyFile::open(file("toy/g.npy")).to_vector();
    EXPECT_NEAR(std::exp((f[0] + g[0] - 0.164) / 0.01), 5.26796e-2, 5e-7);
    EXPECT_NEAR(std::exp((f[2] + g[2] - 0.163) / 0.01), 7.88837e-1, 5e-6);
  }
  // The potentials are in units of the loss, whatever lambda is.
  ASSERT_EQ(run(toy + "--lambda 2 --quiet --output toy").status, 0);
  const std::vector<double> f = NpyFile::open(file("toy/f.npy")).to_vector();
  const std::vector<double> g = NpyFile::open(file("toy/g.npy")).to_vector();
  EXPECT_NEAR(std::exp((f[0] + g[0] - 2 * 0.164) / 0.01) + std::exp((f[0] + g[1] - 2 * 0.163) / 0.01) +
                  std::exp((f[0] + g[2] - 2 * 0.214) / 0.01),
              0.30 / 5.60, 1e-9);
  EXPECT_TRUE(summary("toy")["radius"].is_null()) << "lambda was given instead";
  ASSERT_EQ(run(toy + "--radius 0.1705 --quiet --output toy").status, 0);
  EXPECT_NEAR(summary("toy")["transport_cost"].get<double>(), 0.1705, 1e-8);
  EXPECT_NEAR(summary("toy")["worst_case_loss"].get<double>(), -0.47838, 5e-6);
  expect_one_line(run(toy + "--radius 0.01 --quiet"), "fedsinkhorn: --radius: 0.01 is less than ");
  expect_one_line(run(toy + "--radius 1 --radius-sweep"), "fedsinkhorn: --radius-sweep: ");
}

}  // namespace
}  // namespace fedsinkhorn::test
