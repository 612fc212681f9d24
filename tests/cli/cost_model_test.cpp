// calibrate, predict, plan, and solve --explain.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/random_inputs.hpp"
#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn::test {
namespace {

class CostModelTest : public ::testing::Test {
 protected:
  [[nodiscard]] RunResult run(const std::string& command) const {
    return run_binary(words_of(command), {.limit = std::chrono::seconds(300), .folder = folder_.path()});
  }
  [[nodiscard]] Json json_of(const std::string& command) const {
    const RunResult result = run(command + " --format json");
    EXPECT_EQ(result.status, 0) << result;
    return Json::parse(result.out);
  }

  TemporaryFolder folder_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

const std::vector<std::string> kTopologies = {"all-to-all", "async", "grid", "row-reduce", "star"};

// ---------------------------------------------------------------------------------------------------------------------
// predict

TEST_F(CostModelTest, PredictSaysItAsJson) {
  const Json all = json_of("predict --profile office --rows 10000 --clients 8");
  ASSERT_TRUE(all.is_array());
  std::vector<std::string> topologies;
  for (const Json& one : all) {
    topologies.push_back(one.at("topology"));
    for (const char* key :
         {"seconds_per_iteration", "compute_seconds", "communication_seconds", "bytes_per_iteration", "memory_bytes"}) {
      ASSERT_TRUE(one.contains(key)) << key;
      EXPECT_GT(one[key].get<double>(), 0) << key << " of " << topologies.back();
    }
  }
  std::ranges::sort(topologies);
  EXPECT_EQ(topologies, kTopologies);
}

TEST_F(CostModelTest, PredictTakesOneTopology) {
  const Json one = json_of("predict --profile wan --rows 1e4 --columns 500 --targets 3 --clients 4 --topology star");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0]["topology"], "star");
  EXPECT_EQ(json_of("predict --profile wan --rows 100")[0]["topology"], "centralized");
  // `all` leaves out what does not go with the method; asked for, it is refused.
  EXPECT_EQ(json_of("predict --profile wan --rows 1000 --clients 4 --method newton").size(), 3U);
  const RunResult grid = run("predict --profile wan --rows 1000 --clients 4 --method newton --topology grid");
  EXPECT_EQ(grid.status, 2) << grid;
  EXPECT_NE(grid.err.find("--method: newton needs whole rows of the kernel, which a grid cuts"), std::string::npos);
  const Json sums = json_of("predict --profile wan --rows 1000 --clients 4 --policy sums");
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0]["topology"], "row-reduce");
}

TEST_F(CostModelTest, PredictSaysTheSameAsCsv) {
  const std::string command = "predict --profile office --rows 10000 --clients 8";
  const Json json = json_of(command);
  const std::vector<std::string> lines = lines_of(run(command + " --format csv").out);
  ASSERT_EQ(lines.size(), json.size() + 1);
  EXPECT_TRUE(lines[0].starts_with("topology,"));
  const auto fields = std::ranges::count(lines[0], ',');
  for (std::size_t k = 1; k < lines.size(); ++k) {
    EXPECT_EQ(std::ranges::count(lines[k], ','), fields) << lines[k];
    EXPECT_TRUE(lines[k].starts_with(json[k - 1]["topology"].get<std::string>() + ",")) << lines[k];
    EXPECT_TRUE(mentions(lines[k], "," + json[k - 1]["bytes_per_iteration"].dump() + ",")) << lines[k];
  }
}

TEST_F(CostModelTest, PredictPrintsATable) {
  const RunResult result = run("predict --profile paper --rows 10000 --clients 8");
  EXPECT_EQ(result.status, 0) << result;
  for (const std::string& topology : kTopologies) EXPECT_TRUE(mentions(result.out, "\n" + topology + " ")) << topology;
  EXPECT_TRUE(mentions(result.out, "T_gather(")) << result;
  EXPECT_TRUE(mentions(result.err, "the paper's, not a measurement of this machine")) << result;
}

TEST_F(CostModelTest, WrongInputsAreOneLine) {
  const std::string predict = "predict --rows 100 --clients 2 ";
  write_bytes(folder_.path() / "bad.json", R"({"format": "fedsinkhorn-profile", "version": 1, "bandwith": 3})");
  write_bytes(folder_.path() / "text.json", "alpha = 3");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {predict + "--profile nowhere.json", "nowhere.json"},
      {predict + "--profile bad.json", "bandwith"},
      {predict + "--profile text.json", "text.json"},
      {predict + "--profile office --topology ring", "ring"},
      {predict + "--profile office --topology centralized", "centralized"},
      {predict + "--profile office --policy secret", "secret"},
      {predict + "--profile office --method guess", "guess"},
      {predict + "--profile office --kernel sparse", "sparse"},
      {predict + "--profile office --precision float16", "float16"},
      {predict + "--profile office --format yaml", "yaml"},
      {predict + "--profile office --tolerance -1", "--tolerance"},
      {predict, "--profile"},
      {"predict --profile office --clients 2", "--rows"},
      {"predict --profile office --rows 0", "--rows"},
      {"predict --profile office --rows 10 --clients 0", "--clients"},
      {"plan --profile office --rows 0", "--rows"},
      {"plan --profile nowhere.json --rows 10", "nowhere.json"},
      {"plan --profile office --rows 10 --relative-epsilon 0", "--relative-epsilon"},
      {"calibrate --clients 0", "--clients"},
      // At once: a calibration takes a minute.
      {"calibrate --output nowhere/profile.json", "nowhere/profile.json: cannot be written"},
      {"plan --profile office --rows 10 --picture nowhere/plan.svg", "nowhere/plan.svg: cannot be written"},
  };
  for (const auto& [command, named] : wrong) {
    SCOPED_TRACE(command);
    const RunResult result = run(command);
    expect_one_line(result, "fedsinkhorn: ");
    EXPECT_TRUE(mentions(result.err, named)) << result;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// plan

TEST_F(CostModelTest, PlanRanksAndGivesReasons) {
  const Json plan = json_of("plan --profile office --rows 20000 --clients 8 --no-peers --tolerance 1e-9");
  EXPECT_GT(plan.at("iterations").get<int>(), 0);
  bool was_feasible = true;
  double before = 0;
  for (const Json& option : plan.at("options")) {
    const bool is_feasible = option.at("feasible");
    EXPECT_TRUE(was_feasible || !is_feasible);
    EXPECT_EQ(option.contains("reason"), !is_feasible);
    if (is_feasible) {
      EXPECT_GE(option.at("seconds").get<double>(), before);
      before = option.at("seconds");
    }
    was_feasible = is_feasible;
  }
  EXPECT_GT(before, 0);
  EXPECT_FALSE(plan.at("curves").empty());
}

TEST_F(CostModelTest, PlanDrawsAPicture) {
  const RunResult result = run("plan --profile office --rows 20000 --clients 64 --picture plan.svg");
  EXPECT_EQ(result.status, 0) << result;
  EXPECT_TRUE(mentions(result.out, "picture: plan.svg"));
  EXPECT_TRUE(mentions(result.out, "  1 ")) << "a ranking";
  EXPECT_TRUE(mentions(result.out, "float32 reaches 1e-06, not 1e-09")) << result.out;
  const std::string picture = read_bytes(folder_.path() / "plan.svg");
  EXPECT_TRUE(mentions(picture.substr(0, 200), "<svg"));
  EXPECT_TRUE(mentions(picture, "</svg>"));
}

// ---------------------------------------------------------------------------------------------------------------------
// solve --explain

class ExplainTest : public CostModelTest {
 protected:
  ExplainTest() {
    write_npy(folder_.path() / "C.npy", random_values(60 * 50, 3), Shape{60, 50});
    write_npy(folder_.path() / "a.npy", random_masses(60, 4), Shape{60});
    write_npy(folder_.path() / "b.npy", random_masses(50, 5), Shape{50});
  }
  [[nodiscard]] RunResult solve(const std::string& rest) const {
    return run("solve --cost C.npy --a a.npy --b b.npy --epsilon 0.2 --method sinkhorn " + rest);
  }
  /// `explain` of the summary.
  [[nodiscard]] Json explained(const std::string& rest, int status = 0) const {
    const RunResult result = solve("--output results --explain " + rest);
    EXPECT_EQ(result.status, status) << result;
    return read_json(folder_.path() / "results/summary.json").value("explain", Json());
  }
};

TEST_F(ExplainTest, SetsPredictionsBesideMeasurements) {
  const Json explain = explained("--profile office --clients 3");
  ASSERT_TRUE(explain.is_object());
  EXPECT_EQ(explain.at("profile"), "office");
  EXPECT_TRUE(mentions(explain.at("formula"), "t_fused(20x50"));
  for (const char* what : {"seconds_per_iteration", "bytes_per_iteration", "memory_bytes", "total_seconds"}) {
    const Json& figure = explain.at(what);
    EXPECT_GT(figure.at("predicted").get<double>(), 0) << what;
    EXPECT_GT(figure.at("measured").get<double>(), 0) << what;
    EXPECT_DOUBLE_EQ(figure.at("ratio").get<double>(),
                     figure.at("predicted").get<double>() / figure.at("measured").get<double>());
  }
  EXPECT_TRUE(mentions(explain.at("notes").dump(), "not a measurement of this machine"));
}

// The network of the profile is simulated, so the prediction is right.
TEST_F(ExplainTest, ASimulatedNetworkIsThatOfTheProfile) {
  for (const std::string topology : {"row-reduce", "all-to-all", "star", "grid"}) {
    const Json explain = explained(
        "--profile wan --transport simulated --clients 4 --tolerance 0 --max-iterations 30 --topology " + topology, 3);
    EXPECT_NEAR(explain.at("seconds_per_iteration").at("ratio").get<double>(), 1, 0.05) << topology;
  }
}

TEST_F(ExplainTest, ShowsATable) {
  const RunResult result = solve("--explain --profile office --clients 3");
  EXPECT_EQ(result.status, 0) << result;
  EXPECT_TRUE(mentions(result.out, "predicted")) << result;
  EXPECT_TRUE(mentions(result.out, "measured")) << result;
}

// A client, a process of its own, does not know what the others have sent.
TEST_F(ExplainTest, WithSumsComparesOneClientWithOne) {
  const std::string command =
      "solve --cost C.npy --a a.npy --b b.npy --epsilon 0.2 --method sinkhorn --policy sums --tolerance 0 "
      "--max-iterations 400 --explain --profile office --output results";
  ASSERT_EQ(run_ranks({{3, words_of(command)}}, {.folder = folder_.path()}).status, 3);
  const Json explain = read_json(folder_.path() / "results/summary.json").at("explain");
  EXPECT_NEAR(explain.at("bytes_per_iteration").at("ratio").get<double>(), 1, 0.1) << explain;
  EXPECT_TRUE(mentions(explain.at("notes").dump(), "of one client")) << explain;
}

TEST_F(ExplainTest, RefusesWhatMakesNoSense) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"--profile office", "--profile"},
      {"--explain --profile nowhere.json", "nowhere.json"},
      {"--explain --transport simulated --clients 2", "--explain"},
  };
  for (const auto& [rest, named] : wrong) {
    SCOPED_TRACE(rest);
    const RunResult result = solve(rest);
    expect_one_line(result, "fedsinkhorn: ");
    EXPECT_TRUE(mentions(result.err, named)) << result;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// calibrate

// Takes some seconds, which sanitizers would make minutes: see SLOW in tests/CMakeLists.txt.
TEST_F(CostModelTest, QuickCalibrationCanBePredictedFrom) {
  const RunResult calibrated = run("calibrate --quick --clients 2 --name here --output here.json");
  ASSERT_EQ(calibrated.status, 0) << calibrated;
  EXPECT_TRUE(mentions(calibrated.out, "alpha (us)")) << calibrated;
  EXPECT_TRUE(mentions(calibrated.out, "here.json")) << calibrated;
  const Json profile = read_json(folder_.path() / "here.json");
  EXPECT_EQ(profile.at("name"), "here");
  EXPECT_EQ(profile.at("source"), "measured");
  EXPECT_FALSE(profile.at("passes").empty());
  EXPECT_FALSE(profile.at("exchanges").empty());
  const std::string predict = "predict --profile here.json --rows 2000 --clients 2";
  EXPECT_EQ(run(predict).err, "") << "it is of this machine";
  for (const Json& one : json_of(predict)) {
    EXPECT_GT(one.at("seconds_per_iteration").get<double>(), 0) << one;
    EXPECT_LT(one.at("seconds_per_iteration").get<double>(), 1) << one;
  }
  EXPECT_EQ(run("plan --profile here.json --rows 2000 --clients 2").status, 0);
}

}  // namespace
}  // namespace fedsinkhorn::test
