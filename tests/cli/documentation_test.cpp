// Commands that the documentation shows work as they are written there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/federated.hpp"

#ifndef FEDSINKHORN_SOURCE
#error "FEDSINKHORN_SOURCE must name the source tree"
#endif

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

/// The arguments of every "fedsinkhorn ..." that stands alone and indented; a backslash continues a line.
std::vector<std::string> commands_in(const fs::path& page) {
  const std::string start = "    fedsinkhorn ";
  std::ifstream file(page);
  std::vector<std::string> commands;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(start)) continue;
    std::string command = line.substr(start.size());
    while (command.ends_with('\\') && std::getline(file, line)) command.replace(command.size() - 1, 1, line);
    commands.push_back(command);
  }
  return commands;
}

using DocumentationTest = FederatedTest;

TEST_F(DocumentationTest, TheSimulationPageWorksAsWritten) {
  const fs::path source = FEDSINKHORN_SOURCE;
  fs::create_directory_symlink(source / "examples", folder() / "examples");
  const std::vector<std::string> commands = commands_in(source / "docs" / "simulation.md");
  ASSERT_GE(commands.size(), 2U);
  for (const std::string& command : commands) {
    const RunResult result = run(command);
    ASSERT_EQ(result.status, 0) << command << '\n' << result;
  }
  const Json json = summary("solution");
  EXPECT_EQ(json["transport"], "simulated");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_GT(json["virtual_seconds"], 0);
}

}  // namespace
}  // namespace fedsinkhorn::test
