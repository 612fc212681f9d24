#include "io/risk_summary.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/csv_field.hpp"
#include "support/made_risk.hpp"

namespace fedsinkhorn {
namespace {

using nlohmann::json;
using testing::MadeRisk;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

RiskSummaryData data_of() {
  RiskSummaryData data;
  data.epsilon = 1e-4;
  data.tolerance = 1e-9;
  data.cost = "sqeuclidean";
  data.loss = "weights";
  return data;
}

json risk_summary_of(const RiskResult& result, const RiskSummaryData& data = data_of()) {
  return json::parse(risk_summary_json(result, data));
}

TEST(RiskSummary, HasAllFields) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.sweep = {made.at(0.01), made.at(0.1)};
  result.clients[0].left.push_back({"rounds", "sum", true, 640, 20});
  const json summary = risk_summary_of(result);
  for (const char* key :
       {"expected_loss", "worst_case_loss", "lambda",     "transport_cost",  "radius",        "dual",
        "duality_gap",   "status",          "is_binding", "entropic_primal", "entropic_dual", "value_at_risk",
        "least_radius",  "largest_radius",  "stays",      "epsilon",         "tolerance",     "cost",
        "loss",          "formulation",     "rows",       "columns",         "dimension",     "passes",
        "sweep",         "most_moved_days", "clients",    "policy",          "simd",          "threads",
        "wall_seconds",  "version"}) {
    EXPECT_TRUE(summary.contains(key)) << key;
  }
  EXPECT_EQ(summary.at("worst_case_loss").get<double>(), result.worst.loss);
  EXPECT_EQ(summary.at("duality_gap").get<double>(), result.worst.dual - result.worst.loss);
  EXPECT_EQ(summary.at("status"), "converged");
  EXPECT_EQ(summary.at("formulation"), "row marginal only");
  EXPECT_FALSE(summary.contains("note"));
  EXPECT_TRUE(summary.at("value_at_risk").is_null());
  ASSERT_EQ(summary.at("sweep").size(), 2U);
  for (const char* key :
       {"radius", "worst_case_loss", "lambda", "transport_cost", "dual", "duality_gap", "is_binding", "status"}) {
    EXPECT_TRUE(summary.at("sweep")[1].contains(key)) << key;
  }
  const json& client = summary.at("clients")[0];
  EXPECT_EQ(client.at("rows"), json({0, 250}));
  EXPECT_EQ(client.at("left")[0].at("form"), "masked");
}

TEST(RiskSummary, DaysMovedMostComeFirst) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.moves[100].cost = 9;
  result.moves[42].cost = 9;
  result.moves[7].cost = 10;
  result.moves[7].scenario = made.scenarios;
  result.moves[7].stays = 0.6;
  const std::vector<std::string> days = testing::made_days(made.days);
  const std::vector<std::string> scenarios = testing::made_scenarios(made.scenarios);
  RiskSummaryData data = data_of();
  data.labels = {days, 0, scenarios};
  const json moved = risk_summary_of(result, data).at("most_moved_days");
  ASSERT_EQ(moved.size(), 20U);
  EXPECT_EQ(moved[0].at("day"), 7);
  EXPECT_TRUE(moved[0].at("scenario").is_null());
  EXPECT_EQ(moved[0].at("stays"), 0.6);
  EXPECT_EQ(moved[1].at("day"), 42);
  EXPECT_EQ(moved[1].at("label"), days[42]);
  EXPECT_EQ(moved[1].at("scenario_label"), scenarios[(42 * 7) % 40]);
  EXPECT_EQ(moved[2].at("day"), 100);
}

TEST(RiskSummary, WhatIsNotANumberIsNull) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.expected_loss = kNan;
  result.worst.dual = std::numeric_limits<double>::infinity();
  result.moves[0].loss_before = kNan;
  result.moves[0].cost = 5;
  const json summary = risk_summary_of(result);
  EXPECT_TRUE(summary.at("expected_loss").is_null());
  EXPECT_TRUE(summary.at("dual").is_null());
  EXPECT_TRUE(summary.at("duality_gap").is_null());
  EXPECT_TRUE(summary.at("most_moved_days")[0].at("loss_before").is_null());
  EXPECT_TRUE(summary.at("most_moved_days")[0].at("label").is_null());
}

TEST(RiskSummary, Cvar) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.value_at_risk = 0.25;
  result.worst.value_at_risk = 0.5;
  RiskSummaryData data = data_of();
  data.cvar_level = 0.95;
  const json summary = risk_summary_of(result, data);
  EXPECT_EQ(summary.at("value_at_risk"), json({{"before", 0.25}, {"after", 0.5}}));
  EXPECT_EQ(summary.at("cvar_level"), 0.95);
}

TEST(RiskSummary, BothMarginalsFixed) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.worst.loss = 0.125;
  result.coupling = Result{};
  result.coupling->iterations = 12;
  result.coupling->topology = "row-reduce";
  result.coupling->method = "anderson";
  const json summary = risk_summary_of(result);
  EXPECT_EQ(summary.at("formulation"), "both marginals fixed");
  EXPECT_EQ(summary.at("note"),
            "With both marginals fixed the expected loss is sum_j b_j l_j = 0.125 for every plan: no search over plans "
            "can change it.");
  EXPECT_EQ(summary.at("iterations"), 12);
  EXPECT_EQ(summary.at("error").at("norm"), "l1");
  EXPECT_EQ(summary.at("topology"), "row-reduce");
  EXPECT_EQ(summary.at("method"), "anderson");
}

TEST(RiskSummary, LabelsMayBeAnyBytes) {
  const MadeRisk made;
  const std::vector<std::string> days(made.days, "\xff\"\n");
  RiskSummaryData data = data_of();
  data.labels.days = days;
  EXPECT_EQ(risk_summary_of(made.result(), data).at("most_moved_days")[0].at("label"), "\xef\xbf\xbd\"\n");
}

TEST(RiskSummary, NothingAtAll) { EXPECT_EQ(risk_summary_of({}).at("most_moved_days").size(), 0U); }

TEST(RiskCsv, Scenarios) {
  RiskResult result;
  result.scenario_weights = {0.25, 0.75};
  result.scenario_losses = {-1, 0.1};
  const std::vector<std::string> labels{"crash, of \"1987\"", "calm"};
  EXPECT_EQ(worst_case_csv(result, labels),
            "scenario,label,weight,loss\n0,\"crash, of \"\"1987\"\"\",0.25,-1\n1,calm,0.75,0.1\n");
  EXPECT_EQ(worst_case_csv(result), "scenario,label,weight,loss\n0,,0.25,-1\n1,,0.75,0.1\n");
}

TEST(RiskCsv, Radii) {
  RiskResult result;
  WorstCase one;
  one.radius = 0.5;
  one.loss = 2;
  one.lambda = 1.5;
  one.transport_cost = 0.5;
  one.dual = 2.25;
  one.status = Status::converged;
  result.worst = one;
  const std::string header = "radius,worst_case_loss,lambda,transport_cost,dual,duality_gap,status\n";
  const std::string line = "0.5,2,1.5,0.5,2.25,0.25,converged\n";
  EXPECT_EQ(radius_csv(result), header + line);
  result.sweep = {one, one};
  EXPECT_EQ(radius_csv(result), header + line + line);
}

TEST(RiskCsv, Days) {
  RiskResult result;
  result.columns = 3;
  result.moves = {{4, 0.5, kNan, 2, 0.25, 1, 0.75, 0}, {5, 0.5, 1, 1, 0, 3, 1, 1}};
  const std::vector<std::string> days{"Monday", "the\nnext"};
  const std::vector<std::string> scenarios{"a", "b,c", "d"};
  EXPECT_EQ(days_csv(result, {days, 4, scenarios}),
            "day,label,mass,loss_before,loss_after,cost,scenario,scenario_label,share,stays\n"
            "4,Monday,0.5,nan,2,0.25,1,\"b,c\",0.75,0\n"
            "5,\"the\nnext\",0.5,1,1,0,,,1,1\n");
}

TEST(RiskCsv, Fields) {
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("2020-03-16"), "2020-03-16");
  EXPECT_EQ(csv_field("a b"), "a b");
  EXPECT_EQ(csv_field(" a"), "\" a\"");
  EXPECT_EQ(csv_field("\""), "\"\"\"\"");
  EXPECT_EQ(csv_field("a\r\nb"), "\"a\r\nb\"");
}

}  // namespace
}  // namespace fedsinkhorn
