// fedsinkhorn report, and solve --report.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "support/in_a_folder.hpp"
#include "support/xml.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;
using testing::has;

class ReportCommand : public ::testing::Test {
 protected:
  [[nodiscard]] RunResult run(const std::string& line) const {
    return run_binary(words_of(line), {.folder = folder_.path()});
  }
  /// Points in the plane, solved; flags are added.
  void solve(const std::string& flags) const {
    ASSERT_EQ(run("generate --kind clusters --rows 90 --columns 70 --dimension 2 --output p").status, 0);
    const RunResult result = run("solve --points p/X.npy p/Y.npy --epsilon 0.05 --output out " + flags);
    ASSERT_EQ(result.status, 0) << result;
  }
  [[nodiscard]] std::string text(const std::string& name) const { return testing::content(folder_.path() / name); }
  [[nodiscard]] bool exists(const std::string& name) const { return fs::exists(folder_.path() / name); }

  TemporaryFolder folder_;
};

TEST_F(ReportCommand, OfASolve) {
  solve("--clients 3");
  const RunResult result = run("report out");
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_TRUE(has(result.out, "out/report.html"));
  const std::string html = text("out/report.html");
  for (const char* part : {"<!doctype html>", "Converged in", "client 2", "data-chart=\"convergence\""}) {
    EXPECT_TRUE(has(html, part)) << part;
  }
  EXPECT_LT(html.size(), 3'000'000U);
  EXPECT_FALSE(has(html, "data-chart=\"plan-cells\"")) << "only --report keeps what that needs";
}

TEST_F(ReportCommand, WithASolveShowsThePlan) {
  solve("--report");
  const std::string html = text("out/report.html");
  EXPECT_TRUE(has(html, "data-chart=\"plan-cells\""));
  EXPECT_TRUE(has(html, "data-chart=\"plan-flow\""));
  EXPECT_TRUE(has(html, "Optimal transport: out")) << "the name of the folder, not of a temporary one";
  const Json view = Json::parse(text("out/plan-view.json"));
  double mass = 0;
  for (const double cell : view["cells"]["mass"]) mass += cell;
  EXPECT_NEAR(mass, 1, 1e-8);
  EXPECT_EQ(view["flow"]["source"].size(), 180U);
  EXPECT_EQ(view["flow"]["moved"].size(), 180U);
  EXPECT_EQ(view["flow"]["target"].size(), 140U);
  // A later run without it leaves no old page beside new results.
  solve("");
  EXPECT_FALSE(exists("out/report.html"));
  EXPECT_FALSE(exists("out/plan-view.json"));
}

TEST_F(ReportCommand, OfClientsWhoKeepTheirDataHasNoPlan) {
  solve("--clients 3 --policy sums --report");
  const std::string html = text("out/report.html");
  EXPECT_FALSE(exists("out/plan-view.json"));
  EXPECT_FALSE(has(html, "data-chart=\"plan-cells\""));
  EXPECT_TRUE(has(html, "The plan is not shown"));
}

TEST_F(ReportCommand, OfAWorstCase) {
  ASSERT_EQ(run("generate-market --desks 2 --days 60 --assets 4 --scenarios 80 --seed 3 --output m").status, 0);
  ASSERT_EQ(run("risk --scenarios m/scenarios.csv --weights m/weights.csv --gains --stay --radius 1e-4 --epsilon 1e-4 "
                "--returns m/returns-{client}.csv --clients 2 --radius-sweep --output out")
                .status,
            0);
  ASSERT_EQ(run("report out -o page.html").status, 0);
  const std::string html = text("page.html");
  for (const char* id : {"risk-curve", "risk-lambda", "moved-days", "client-times"}) {
    EXPECT_TRUE(has(html, std::string("data-chart=\"") + id + "\"")) << id;
  }
}

TEST_F(ReportCommand, OfSeveralRunsSkipsBadOnes) {
  ASSERT_EQ(run("generate --kind clusters --rows 40 --columns 30 --output p").status, 0);
  for (const std::string name : {"one", "two"}) {
    ASSERT_EQ(run("solve --points p/X.npy p/Y.npy --epsilon 0.05 --output runs/" + name).status, 0);
  }
  fs::create_directories(folder_.path() / "runs/broken");
  std::ofstream(folder_.path() / "runs/broken/summary.json") << "{\"schema_version\": 1, \"sta";
  const RunResult result = run("report runs");
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_TRUE(has(result.err, "broken")) << result;
  EXPECT_TRUE(has(result.err, "truncated")) << result;
  EXPECT_TRUE(has(text("runs/report.html"), "one"));
  EXPECT_TRUE(has(text("runs/report.html"), "truncated"));
}

TEST_F(ReportCommand, RefusesWhatIsNoRun) {
  fs::create_directories(folder_.path() / "empty");
  const RefusedFlags refused[] = {{"nowhere", "report nowhere", {"nowhere"}},
                                  {"empty", "report empty", {"summary.json"}},
                                  {"no folder named", "report", {"folder"}},
                                  {"nowhere to go", "solve --points X.npy Y.npy --epsilon 1 --report", {"--output"}}};
  for (const RefusedFlags& one : refused) {
    const RunResult result = run(one.flags);
    EXPECT_EQ(result.status, 2) << one.name << result;
    EXPECT_EQ(testing::occurrences(result.err, "\n"), 1U) << one.name << result;
    for (const std::string& word : one.mentions) EXPECT_TRUE(has(result.err, word)) << one.name << result;
  }
  EXPECT_EQ(listing(folder_.path()), Names{"empty"});
}

}  // namespace
}  // namespace fedsinkhorn::test
