#include "cli/risk_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "support/made_risk.hpp"
#include "support/special_numbers.hpp"
#include "support/xml.hpp"

namespace fedsinkhorn {
namespace {

using testing::has;
using testing::MadeRisk;
using testing::occurrences;

using testing::kNan;

RiskSummaryData data_of() {
  RiskSummaryData data;
  data.epsilon = 1e-4;
  data.cost = "mahalanobis";
  return data;
}

TEST(RiskTable, SaysWhatAPersonWantsToKnow) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.sweep = {made.at(0.01), made.at(0.04)};
  result.client_count = 3;
  result.policy = "sums";
  result.clients.resize(3);
  result.clients[1].sent.rounds = 2000;
  const std::vector<std::string> days = testing::made_days(made.days);
  const std::vector<std::string> scenarios = testing::made_scenarios(made.scenarios);
  RiskSummaryData data = data_of();
  data.labels = {days, 0, scenarios};
  const std::string table = risk_table(result, data, "results");
  for (const char* text :
       {"converged in 20 passes\n", "250 days x 40 scenarios, dimension 3, cost mahalanobis, epsilon 0.0001",
        "before         0.0004  (expected loss, observed days)", "worst case     0.015956349  (expected loss)",
        "difference     +0.015556349\n", "(a radius larger by 1 % raises the worst case by 7.78e-05)",
        "radius         0.02  (least 0, ", "without entropy, the worst case is in [0.015956349, 0.017956349]",
        "crash of 1950 ", "weight    2.5 %", " -> ", "to crash of ", "upper bound",
        "3, policy sums; each sent up to 2 kB, data only as masked sums", "written to     results"}) {
    EXPECT_TRUE(has(table, text)) << text << "\n" << table;
  }
  EXPECT_FALSE(has(table, "warning"));
  EXPECT_EQ(occurrences(table, "weight "), 5U);
  EXPECT_EQ(occurrences(table, " -> "), 5U);
}

TEST(RiskTable, Warnings) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.status = Status::iteration_limit;
  result.worst.status = Status::iteration_limit;
  result.worst.is_binding = false;
  result.worst.lambda = 0;
  result.largest_radius = 0.015;
  result.least_radius = 0.019;
  const std::string table = risk_table(result, data_of());
  EXPECT_EQ(occurrences(table, "\n  warning"), 3U) << table;
  EXPECT_TRUE(has(table, "the radius is larger than the worst case needs; any radius above 0.015 gives the same"));
  EXPECT_TRUE(has(table, "is at most 0.017956349"));
  EXPECT_TRUE(has(table, "the radius is close to the least possible, 0.019"));
}

TEST(RiskTable, BothMarginalsFixed) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.worst.loss = 0.125;
  result.coupling = Result{};
  const std::string table = risk_table(result, data_of());
  EXPECT_TRUE(table.starts_with(
      "With both marginals fixed the expected loss is sum_j b_j l_j = 0.125 for every plan: no search over plans can "
      "change it.\n"))
      << table;
  EXPECT_FALSE(has(table, "raises the worst case"));
}

TEST(RiskTable, WhatIsNotKnown) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.expected_loss = kNan;
  result.moves.clear();
  const std::string table = risk_table(result, data_of());
  EXPECT_TRUE(has(table, "before         not known"));
  EXPECT_FALSE(has(table, "difference"));
  EXPECT_TRUE(has(table, "days stay with their clients"));
  EXPECT_FALSE(has(table, "nan"));
  EXPECT_FALSE(risk_table({}, {}).empty());
}

TEST(RiskTable, Cvar) {
  const MadeRisk made;
  RiskResult result = made.result();
  result.value_at_risk = 0.25;
  result.worst.value_at_risk = 0.5;
  RiskSummaryData data = data_of();
  data.cvar_level = 0.95;
  const std::string table = risk_table(result, data);
  EXPECT_TRUE(has(table, "(CVaR 95 % of the loss, observed days)"));
  EXPECT_TRUE(has(table, "value at risk  0.25 before, 0.5 after"));
}

TEST(RiskTable, LabelsCannotMoveTheCursor) {
  const MadeRisk made;
  const std::vector<std::string> days(made.days, "\x1b[2J\n" + std::string(500, 'x'));
  RiskSummaryData data = data_of();
  data.labels = {days, 0, days};
  const std::string table = risk_table(made.result(), data);
  EXPECT_FALSE(has(table, "\x1b"));
  EXPECT_EQ(std::ranges::count(table, '\n'), std::ranges::count(risk_table(made.result(), data_of()), '\n'));
  EXPECT_LT(table.size(), 3000U);
}

TEST(RiskTable, IsPrinted) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const RiskResult result = MadeRisk{}.result();
  print_risk(file, result, data_of());
  EXPECT_EQ(static_cast<std::size_t>(std::ftell(file)), risk_table(result, data_of()).size());
  std::fclose(file);
}

}  // namespace
}  // namespace fedsinkhorn
