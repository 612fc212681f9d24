#include "io/summary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fedsinkhorn {
namespace {

TEST(Summary, KeepsEveryDigitAndTheNamesOfTheContract) {
  Result result;
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
  const auto json = nlohmann::json::parse(summary_json(result, Options{}, 1e-17));
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
  Result result;
  result.backend = "cuda";
  result.device = "Some GPU";
  result.clients.resize(2);
  result.clients[1].device = 1;
  Options options;
  options.precision = Precision::bfloat16;
  const auto json = nlohmann::json::parse(summary_json(result, options, 1));
  EXPECT_EQ(json.at("backend"), "cuda");
  EXPECT_EQ(json.at("device"), "Some GPU");
  EXPECT_EQ(json.at("precision"), "bfloat16");
  EXPECT_EQ(json.at("precision_is_reduced"), true);
  EXPECT_FALSE(json.at("clients").at(0).contains("device"));  // it holds no costs
  EXPECT_EQ(json.at("clients").at(1).at("device"), 1);
}

TEST(Summary, SeveralTargetsAreListed) {
  Result result;
  result.targets = 2;
  result.per_target = {{Status::converged, 5, {}, {}}, {Status::interrupted, 7, {}, {}}};
  const auto json = nlohmann::json::parse(summary_json(result, Options{}, 1));
  EXPECT_EQ(json.at("per_target").size(), 2U);
  EXPECT_EQ(json.at("per_target").at(1).at("status"), "interrupted");
}

TEST(Trace, IsCsvWithAHeader) {
  const std::vector<TraceRow> rows = {{1, 0.5, 0.25, 1e-17, 0.01, 3, 5, 1.5}};
  EXPECT_EQ(trace_csv(rows),
            "iteration,seconds,error_a,error_b,epsilon,rejected,history,omega\n1,0.500000,0.25,1e-17,0.01,3,5,1.5\n");
}

}  // namespace
}  // namespace fedsinkhorn
