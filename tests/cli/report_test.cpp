// fedsinkhorn report, and solve --report.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"
#include "support/in_a_folder.hpp"
#include "support/xml.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;
using testing::has;

class ReportCommand : public ::testing::Test {
 protected:
  [[nodiscard]] RunResult run(const std::string& line) const {
    return run_here(words_of(line), {.folder = folder_.path()});
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

/// A .npy file of height x width.
void write_image(const fs::path& path, std::size_t height, std::size_t width, const std::vector<double>& values) {
  write_npy(path, values, std::array{height, width});
}

TEST_F(ReportCommand, ImagesAreMovedPixelByPixel) {
  // All mass of a in its upper left pixel, all of b in its lower right one; the images differ in size.
  write_image(folder_.path() / "a.npy", 2, 4, {3, 0, 0, 0, 0, 0, 0, 0});
  write_image(folder_.path() / "b.npy", 2, 2, {0, 0, 0, 3});
  const RunResult result = run("solve --images a.npy b.npy --epsilon 0.1 --report --output out");
  ASSERT_EQ(result.status, 0) << result;
  const Json flow = Json::parse(text("out/plan-view.json"))["flow"];
  // The longer side has length 1, y points upwards.
  EXPECT_EQ(flow["source"], Json::parse("[0.125, 0.375]"));
  EXPECT_EQ(flow["moved"], Json::parse("[0.75, 0.25]"));
  EXPECT_EQ(flow["target"], Json::parse("[0.75, 0.25]"));
  EXPECT_NEAR(flow["pixels"]["source_mass"][0], 3, 1e-9);
  EXPECT_EQ(flow["pixels"]["source_side"], 0.25);
  EXPECT_EQ(flow["pixels"]["target_side"], 0.5);
  const Json summary = Json::parse(text("out/summary.json"));
  EXPECT_NEAR(summary["cost"]["linear"], 3 * (0.625 * 0.625 + 0.125 * 0.125), 1e-12);
  EXPECT_TRUE(has(text("out/report.html"), "Every pixel moves"));
}

TEST_F(ReportCommand, LargeImagesAreDrawnInBlocks) {
  write_image(folder_.path() / "a.npy", 100, 130, std::vector<double>(13'000, 1.0));
  write_image(folder_.path() / "b.npy", 3, 2, {1, 1, 1, 1, 1, 1});
  const RunResult result = run("solve --images a.npy b.npy --normalize --epsilon 0.1 --report --output out");
  ASSERT_EQ(result.status, 0) << result;
  const Json pixels = Json::parse(text("out/plan-view.json"))["flow"]["pixels"];
  EXPECT_EQ(pixels["source_mass"].size(), 50U * 65U) << "blocks of 2 x 2";
  double mass = 0;
  for (const double block : pixels["source_mass"]) mass += block;
  EXPECT_NEAR(mass, 1, 1e-8);
}

TEST_F(ReportCommand, WrongImagesAreRefused) {
  write_image(folder_.path() / "a.npy", 2, 2, {1, 0, 0, 0});
  write_image(folder_.path() / "negative.npy", 2, 2, {1, -1, 0, 1});
  write_npy(folder_.path() / "line.npy", std::vector<double>{1, 2}, std::array<std::size_t, 1>{2});
  for (const auto& [flags, reason] : std::vector<std::pair<std::string, std::string>>{
           {"--images a.npy", "--images: one image was given"},
           {"--images a.npy line.npy", "line.npy: is no image"},
           {"--images a.npy negative.npy", "negative.npy"},
           {"--images a.npy missing.npy", "missing.npy"},
           {"--images a.npy a.npy --b a.npy", "--b: the masses are those of the images"},
           {"--images a.npy a.npy --cost a.npy", "both --cost and --images were given"},
           {"--images a.npy a-{client}.npy --clients 2", "--images: '{client}' stands for a part"}}) {
    const RunResult result = run("solve --epsilon 0.1 --output out " + flags);
    EXPECT_EQ(result.status, 2) << flags;
    EXPECT_TRUE(has(result.err, reason)) << flags << ": " << result;
    EXPECT_FALSE(exists("out")) << flags;
  }
}

TEST_F(ReportCommand, ClientsShareImages) {
  write_image(folder_.path() / "a.npy", 8, 8, std::vector<double>(64, 1.0));
  std::vector<double> corner(64);
  corner[0] = 64;
  write_image(folder_.path() / "b.npy", 8, 8, corner);
  ASSERT_EQ(run("solve --images a.npy b.npy --epsilon 0.1 --clients 3 --report --output out").status, 0);
  EXPECT_TRUE(has(text("out/report.html"), "Every pixel moves"));
}

TEST_F(ReportCommand, OfAStudyThatIsDamaged) {
  fs::create_directories(folder_.path() / "made" / "cells");
  std::ofstream(folder_.path() / "made" / "study.json")
      << R"({"schema_version": 1, "kind": "study", "name": "made", "title": "<script>alert(1)</script>", "question": "?",
             "paper": "", "scale": "smoke", "conditions": [], "differences": [], "cells": ["a", "b"], "charts": [],
             "tables": [{"caption": "T", "rows": [{"parameter": "n", "title": "n"}], "across": "", "where": {},
                         "figures": [{"title": "t", "key": "t", "statistic": "median", "format": "seconds",
                                      "where": {}, "paper": []}]}]})";
  std::ofstream(folder_.path() / "made" / "cells" / "a.json")
      << R"({"schema_version": 1, "kind": "cell", "study": "made", "cell": "a", "parameters": {"n": 7},
             "measured": {"t": 0.5}, "machine": "m", "version": "v"})";
  std::ofstream(folder_.path() / "made" / "cells" / "b.json") << R"({"schema_version": 1, "kind": "ce)";
  const RunResult result = run("report made");
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_TRUE(has(result.err, "made: cells/b.json: not JSON, or truncated")) << result;
  const std::string html = text("made/report.html");
  EXPECT_TRUE(has(html, "500 ms"));
  EXPECT_FALSE(has(html, "<script>alert"));
}

}  // namespace
}  // namespace fedsinkhorn::test
