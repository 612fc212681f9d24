#include "io/summary.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "support/summary_schema.hpp"

namespace fedsinkhorn {
namespace {

using nlohmann::json;

/// Of the first client of a solve that has ended.
Result small_result() {
  Result result;
  result.topology = "centralized";
  result.transport = "threads";
  result.method = "sinkhorn";
  result.backend = "cpu";
  result.simd = "baseline";
  result.targets = 1;
  result.clients.resize(1);
  return result;
}

/// The summary, which must follow the schema.
json summary_of(const Result& result, const Options& options = {}, double epsilon = 1) {
  const auto summary = json::parse(summary_json(result, options, epsilon));
  EXPECT_EQ(testing::schema_violations(summary), "");
  return summary;
}

TEST(Summary, TheSchemaIsStrict) {
  const json good = summary_of(small_result());
  EXPECT_EQ(good.at("schema_version"), 1);
  const auto expect_refused = [&](const char* what, const std::function<void(json&)>& spoil) {
    json bad = good;
    spoil(bad);
    EXPECT_NE(testing::schema_violations(bad), "") << what;
  };
  for (const auto& field : good.items()) {
    expect_refused("a field is missing", [&](json& summary) { summary.erase(field.key()); });
    expect_refused("a field has no value", [&](json& summary) {
      summary[field.key()] = field.key() == "error_floor" ? json("none") : json(nullptr);
    });
  }
  expect_refused("an unknown field", [](json& summary) { summary["colour"] = 1; });
  expect_refused("an unknown cost", [](json& summary) { summary["cost"]["colour"] = 1; });
  expect_refused("an unknown field of a client", [](json& summary) { summary["clients"][0]["colour"] = 1; });
  expect_refused("no phase", [](json& summary) { summary["clients"][0]["sent"].erase("rounds"); });
  expect_refused("a status there is not", [](json& summary) { summary["status"] = "finished"; });
  expect_refused("half an iteration", [](json& summary) { summary["iterations"] = 1.5; });
  expect_refused("less than nothing", [](json& summary) { summary["rows"] = -1; });
  expect_refused("async without its options", [](json& summary) { summary["topology"] = "async"; });
  expect_refused("simulated without a seed", [](json& summary) { summary["transport"] = "simulated"; });
  expect_refused("targets that are not listed", [](json& summary) { summary["targets"] = 2; });
  expect_refused("nobody is named", [](json& summary) { summary["status"] = "client_lost"; });
  expect_refused("another version", [](json& summary) { summary["schema_version"] = 2; });
}

TEST(Summary, KeepsEveryDigitAndTheNamesOfTheContract) {
  Result result = small_result();
  result.status = Status::iteration_limit;
  result.iterations = 12;
  result.rows = 3;
  result.columns = 4;
  result.error = {0.1 + 0.2, 1e-300};
  result.cost.linear = 1.0 / 3;
  ClientReport client;
  client.last_row = 3;
  client.compute_seconds = 0.25;
  client.sent = {1, 20, 300, 4000};
  result.clients = {client};
  const auto json = summary_of(result, {}, 1e-17);
  EXPECT_EQ(json.at("status"), "iteration_limit");
  EXPECT_EQ(json.at("error").at("norm"), "l1");
  EXPECT_EQ(json.at("error").at("a").get<double>(), 0.1 + 0.2);
  EXPECT_EQ(json.at("error").at("b").get<double>(), 1e-300);
  EXPECT_EQ(json.at("cost").at("linear").get<double>(), 1.0 / 3);
  EXPECT_EQ(json.at("epsilon").get<double>(), 1e-17);
  EXPECT_EQ(json.at("clients").at(0).at("rows"), nlohmann::json({0, 3}));
  EXPECT_EQ(json.at("clients").at(0).at("compute_seconds").get<double>(), 0.25);
  EXPECT_EQ(json.at("clients").at(0).at("bytes_sent"), 4321);
  EXPECT_EQ(json.at("clients").at(0).at("sent").at("rounds"), 20);
  EXPECT_EQ(json.at("clients").at(0).at("bytes_received"), 0);
  for (const char* field : {"iterations", "exchanges", "rows", "columns", "targets", "topology", "method", "passes",
                            "precision", "backend", "solve_seconds", "wall_seconds", "version", "simd"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_FALSE(json.contains("per_target"));
}

TEST(Summary, TheDeviceIsNamed) {
  Result result = small_result();
  result.backend = "cuda";
  result.device = "Some GPU";
  result.clients.resize(2);
  result.clients[1].device = 1;
  Options options;
  options.precision = Precision::bfloat16;
  const auto json = summary_of(result, options);
  EXPECT_EQ(json.at("backend"), "cuda");
  EXPECT_EQ(json.at("device"), "Some GPU");
  EXPECT_EQ(json.at("precision"), "bfloat16");
  EXPECT_EQ(json.at("precision_is_reduced"), true);
  EXPECT_FALSE(json.at("clients").at(0).contains("device"));  // it holds no costs
  EXPECT_EQ(json.at("clients").at(1).at("device"), 1);
}

TEST(Summary, SeveralTargetsAreListed) {
  Result result = small_result();
  result.targets = 2;
  result.per_target = {{Status::converged, 5, {}, {}}, {Status::interrupted, 7, {}, {}}};
  const auto json = summary_of(result);
  EXPECT_EQ(json.at("per_target").size(), 2U);
  EXPECT_EQ(json.at("per_target").at(1).at("status"), "interrupted");
}

TEST(Trace, IsCsvWithAHeader) {
  const std::vector<TraceRow> rows = {{1, 0.5, 0.25, 1e-17, 0.01, 3, 5, 1.5, 7}};
  EXPECT_EQ(trace_csv(rows),
            "iteration,seconds,error_a,error_b,epsilon,rejected,history,omega,newton\n1,0.500000,0.25,1e-17,0.01,3,5,1."
            "5,7\n");
}

}  // namespace
}  // namespace fedsinkhorn
