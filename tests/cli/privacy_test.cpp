// fedsinkhorn privacy explain.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_binary.hpp"
#include "registry/registry.hpp"

#ifndef FEDSINKHORN_SOURCE
#error "FEDSINKHORN_SOURCE must name the source tree"
#endif

namespace fedsinkhorn::test {
namespace {

/// The arguments of every table that there is.
std::vector<std::string> all_tables() {
  std::vector<std::string> tables;
  for (const TopologyEntry& topology : topologies()) {
    for (const PolicyEntry& policy : policies()) {
      if (policy.asks_mechanism || (policy.adds_securely && !topology.only_open.empty())) continue;
      const std::string pair = "--topology " + std::string(topology.name) + " --policy " + std::string(policy.name);
      tables.push_back("privacy explain " + pair);
      if (policy.adds_securely) tables.push_back("privacy explain " + pair + " --server sums");
    }
  }
  for (const MechanismEntry& mechanism : mechanisms()) {
    for (const std::string_view topology : mechanism.topologies) {
      const std::string all =
          fmt::format("privacy explain --topology {} --policy private --mechanism {}", topology, mechanism.name);
      tables.push_back(all);
      if (mechanism.policy.adds_securely) tables.push_back(all + " --server sums");
    }
  }
  return tables;
}

TEST(PrivacyExplain, PrintsATableOfAHundredColumns) {
  for (const std::string& command : all_tables()) {
    const RunResult result = run_line(command);
    ASSERT_EQ(result.status, 0) << result;
    EXPECT_EQ(result.err, "");
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(PrivacyExplain, SaysTheSameInJson) {
  for (const std::string& command : all_tables()) {
    const auto json = nlohmann::json::parse(run_line(command + " --format json").out);
    const bool is_alone = json.at("topology") == "centralized";
    EXPECT_TRUE(is_alone || json.at("messages").size() > 5U);
    EXPECT_FALSE(json.at("remarks").empty());
    for (const auto& message : json.at("messages")) {
      EXPECT_FALSE(message.at("phases").empty());
      for (const char* field : {"kind", "form", "seen_by", "what", "reveals"}) {
        EXPECT_FALSE(message.at(field).get<std::string>().empty()) << field;
      }
      const bool is_plain_data = message.at("form") == "plain" && message.at("kind") == "slice";
      EXPECT_FALSE(json.at("policy") == "sums" && is_plain_data);
    }
  }
}

TEST(PrivacyExplain, RefusesInOneLine) {
  struct Refused {
    std::string command;
    std::string line;
  };
  const std::vector<Refused> all = {
      {"privacy explain --topology star --policy sums", "--policy: sums is not for topology star: its server holds"},
      {"privacy explain --server sums", "--server: adds up masked sums"},
      {"privacy explain --topology row-reduc", "--topology: unknown name 'row-reduc'; did you mean row-reduce?"},
      {"privacy explain --policy secret", "--policy: unknown name 'secret'; choose open, sums"},
      {"privacy explain --format xml", "--format: unknown name 'xml'; choose table, json"},
      {"privacy explain --topolgy star", "--topolgy: no such option; did you mean --topology?"},
      {"privacy explain --topology --policy sums", "--topology: "},
      {"privacy explan", "explan: no such command of privacy; did you mean explain?"},
      {"privacy", "privacy: needs a command after it; there are: explain"},
  };
  for (const Refused& refused : all) expect_one_line(run_line(refused.command), "fedsinkhorn: " + refused.line);
}

TEST(PrivacyExplain, IsWhatThePageShows) {
  std::ifstream file(std::string(FEDSINKHORN_SOURCE) + "/docs/what-leaves.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& command : all_tables()) {
    const std::string block = "```\n$ fedsinkhorn " + command + "\n\n" + run_line(command).out + "```\n";
    EXPECT_NE(page.find(block), std::string::npos) << "replace in docs/what-leaves.md:\n" << block;
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
