// fedsinkhorn privacy account, calibrate.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run_binary.hpp"

namespace fedsinkhorn::test {
namespace {

nlohmann::json json_of(const std::string& command) {
  const RunResult result = run_line(command + " --format json");
  EXPECT_EQ(result.status, 0) << result;
  return nlohmann::json::parse(result.out);
}

TEST(PrivacyAccount, StatesEpsilonByEachRule) {
  const auto json = json_of("privacy account --sigma 40 --sensitivity 2 --releases 200 --delta 1e-6");
  EXPECT_NEAR(json.at("epsilon_exact"), 3.307600723, 1e-8);
  EXPECT_NEAR(json.at("epsilon_rdp"), 3.542361232, 1e-8);
  EXPECT_NEAR(json.at("epsilon_rdp_paper"), 3.966960886, 1e-8);
  EXPECT_EQ(json.at("rdp_order"), 7.9);
  EXPECT_TRUE(json.at("warnings").empty());
}

TEST(PrivacyAccount, TakesUnequalReleases) {
  const double together =
      json_of("privacy account --sigma 2,4 --sensitivity 1 --releases 1,12 --delta 1e-5").at("epsilon_exact");
  EXPECT_NEAR(together, 4.377178096, 1e-8);  // 1/4 + 12/16 = 1
  EXPECT_NEAR(json_of("privacy account --sigma 5 --sensitivity 3,4 --delta 1e-5").at("epsilon_exact"), together, 1e-12);
}

TEST(PrivacyAccount, CountsUpToTwoToThe53) {
  const auto json = json_of(
      "privacy account --sigma 94906265.62425156 --sensitivity 1 --releases 9007199254740992 "
      "--delta 1e-5");
  EXPECT_NEAR(json.at("epsilon_exact"), 4.377178096, 1e-8);
}

TEST(PrivacyAccount, WarnsAtTheEndsOfTheOrders) {
  const std::string command = "privacy account --sigma 0.01 --sensitivity 1 --delta 1e-6";
  EXPECT_EQ(json_of(command).at("warnings").size(), 2U);
  EXPECT_NE(run_line(command).out.find("order 1.1 is at an end"), std::string::npos);
}

TEST(PrivacyAccount, TheTableBeginsWithTheExactValue) {
  const RunResult result = run_line("privacy account --sigma 1 --sensitivity 1 --delta 1e-5");
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_EQ(result.out.find("epsilon            4.377178096 (exact, at delta = 1e-05)\n"), 0U) << result;
  for (const char* number : {"4.728507067 (order 5.4)", "5.298526139 (order 5.8)", "79.61"}) {
    EXPECT_NE(result.out.find(number), std::string::npos) << result;
  }
}

TEST(PrivacyCalibrate, GivesTheLeastNoise) {
  const auto json = json_of("privacy calibrate --epsilon 1 --delta 1e-6 --sensitivity 1 --releases 1");
  EXPECT_NEAR(json.at("sigma"), 4.2246788893, 1e-9);
  EXPECT_LE(json.at("epsilon_exact"), 1.0);
  EXPECT_NEAR(json_of("privacy calibrate --epsilon 1 --delta 1e-6 --sensitivity 2 --releases 25").at("sigma"),
              42.246788893, 1e-8);
  const RunResult table = run_line("privacy calibrate --epsilon 1 --delta 1e-6 --sensitivity 1");
  EXPECT_EQ(table.out.find("sigma              4.2246788893"), 0U) << table;
}

TEST(PrivacyAccount, RefusesInOneLine) {
  struct Refused {
    std::string command;
    std::string line;
  };
  const std::string account = "privacy account --delta 1e-6 ";
  const std::string calibrate = "privacy calibrate --sensitivity 1 ";
  const std::vector<Refused> all = {
      {account + "--sensitivity 1 --sigma -1", "--sigma: -1 is no standard deviation"},
      {account + "--sensitivity 1 --sigma 0", "--sigma: 0 is no standard deviation"},
      {account + "--sensitivity 1 --sigma 2,0", "--sigma: 0 is no standard deviation"},
      {account + "--sensitivity 1 --sigma nan", "--sigma: 'nan' is no number; give a finite one"},
      {account + "--sensitivity -2 --sigma 1", "--sensitivity: -2 is negative"},
      {account + "--sensitivity 1,2 --sigma 1,2,3", "--sensitivity: has 2 values where another list has 3"},
      {account + "--sensitivity 1 --sigma 1 --releases 0", "--releases: 0 is too small"},
      {account + "--sensitivity 1 --sigma 1 --releases 1.5", "--releases: '1.5' is no whole number"},
      {account + "--sensitivity 1 --sigma 1 --releases 18446744073709551616",
       "--releases: 18446744073709551616 is too large; give a whole number from 1 to 9007199254740992"},
      {account + "--sensitivity 1 --sigma 1 --format xml", "--format: unknown name 'xml'; choose table or json"},
      {account + "--sensitivity 1", "--sigma is required"},
      {"privacy account --sigma 1 --sensitivity 1 --delta 0", "--delta: 0 is not between 0 and 1"},
      {"privacy account --sigma 1 --sensitivity 1 --delta 1", "--delta: 1 is not between 0 and 1"},
      {calibrate + "--epsilon 0 --delta 1e-6", "--epsilon: 0 is no budget; give a number above 0"},
      {calibrate + "--epsilon -1 --delta 1e-6", "--epsilon: -1 is no budget"},
      {calibrate + "--epsilon 1 --delta 2", "--delta: 2 is not between 0 and 1"},
      {calibrate + "--epsilon 1 --delta 1e-6 --releases 1e16", "--releases: 1e16 is too large"},
      {"privacy calibrate --epsilon 1e-300 --delta 1e-300 --sensitivity 1e300",
       "--sensitivity: asks for more noise than float64 can hold"},
  };
  for (const Refused& refused : all) expect_one_line(run_line(refused.command), "fedsinkhorn: " + refused.line);
}

}  // namespace
}  // namespace fedsinkhorn::test
