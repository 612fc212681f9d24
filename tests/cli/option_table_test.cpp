// The table of options, entry by entry: what it says holds for the command line and for its page.
#include "options/option_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"
#include "registry/option_names.hpp"

#ifndef FEDSINKHORN_SOURCE
#error "FEDSINKHORN_SOURCE must name the source tree"
#endif

namespace fedsinkhorn::test {
namespace {

class OptionTableTest : public ::testing::Test {
 protected:
  OptionTableTest() {
    write_npy(folder_.path() / "C.npy", std::vector<double>{0, 1, 2, 3, 1, 0, 1, 2, 2, 1, 0, 1}, Shape{3, 4});
  }

  /// A solve with that option; what it needs to be of use comes along.
  [[nodiscard]] RunResult run(const OptionEntry& option, const std::string& value) const {
    std::string command = "solve --cost C.npy --quiet --output r --threads 1 --clients 2";
    for (const char* field : {"threads", "clients"}) {
      if (option.field == field) command.erase(command.find(fmt::format(" --{} ", field)), 12);
    }
    if (option.field != "epsilon") command += " --epsilon 0.5";
    if (!option.used_by.field.empty() && option.used_by.field != "method") {
      command += fmt::format(" --{} {}", option.used_by.field, option.used_by.names.front());
    }
    return run_here(words_of(command + " " + value), {.folder = folder_.path()});
  }
  [[nodiscard]] nlohmann::json summary() const {
    nlohmann::json json = read_json(folder_.path() / "r/summary.json");
    for (const char* changing : {"clients", "solve_seconds", "wall_seconds", "delays", "iterations", "error"}) {
      json.erase(changing);
    }
    return json;
  }

  TemporaryFolder folder_;
};

bool is_flag(const OptionEntry& option) { return std::holds_alternative<bool Options::*>(option.member); }

TEST_F(OptionTableTest, ADefaultThatIsTypedChangesNothing) {
  for (const OptionEntry& option : option_table()) {
    if (is_flag(option) || !option.default_text.empty()) continue;
    SCOPED_TRACE(option.field);
    const RunResult without = run(option, "");
    ASSERT_EQ(without.status, 0) << without;
    const nlohmann::json expected = summary();
    const RunResult with = run(option, option.main_flag() + " " + value_text(option, Problem{}, Options{}));
    ASSERT_EQ(with.status, 0) << with;
    EXPECT_TRUE(summary() == expected || option.used_by.are_named("async")) << summary();
    EXPECT_TRUE(!option.in_summary || summary().contains(option.field)) << summary();
  }
}

TEST_F(OptionTableTest, WhatIsOutOfRangeIsRefusedWithTheFlag) {
  int count = 0;
  for (const OptionEntry& option : option_table()) {
    const OptionRange& range = option.range;
    std::vector<std::string> wrong;
    if (range.least > -OptionRange::kFinite) wrong = {fmt::format("{}", range.is_open ? range.least : range.least - 1)};
    if (range.most < OptionRange::kFinite) wrong.push_back(fmt::format("{}", range.most + 1));
    if (!names_of_option(option).empty()) wrong.emplace_back("another");
    for (const std::string& value : wrong) {
      const bool is_list = std::holds_alternative<std::vector<double> Options::*>(option.member);
      const RunResult result = run(option, option.main_flag() + "=" + value + (is_list ? ",1" : ""));
      EXPECT_EQ(result.status, 2) << result;
      EXPECT_EQ(result.err.find("fedsinkhorn: " + option.main_flag() + ": "), 0U) << result;
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result;
      EXPECT_EQ(result.err.find('`'), std::string::npos) << result;
      ++count;
    }
  }
  EXPECT_GE(count, 30);
}

TEST_F(OptionTableTest, HelpIsThatOfTheTable) {
  const std::string help = run_here(words_of("help solve"), {.folder = folder_.path()}).out;
  for (const OptionEntry& option : option_table()) {
    EXPECT_NE(help.find(std::string(option.flags) + " "), std::string::npos) << option.flags;
    EXPECT_NE(help.find(option.help), std::string::npos) << option.help;
  }
}

/// The first three cells of an option's row in docs/cli.md.
std::string start_of_row(const OptionEntry& option) {
  std::string flags = "`" + std::string(option.flags) + "`";
  for (std::size_t at = flags.find(','); at != std::string::npos; at = flags.find(',', at + 3))
    flags.replace(at, 1, "`, `");
  std::string names;
  for (const std::string& name : names_of_option(option))
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
  std::string value(option.default_text);
  if (value.empty() && !is_flag(option)) {
    value = value_text(option, Problem{}, Options{});
    if (!names.empty()) value = "`" + value + "`";
  }
  const std::string takes = names.empty() ? range_text(option) : names;
  const auto cell = [](const std::string& text) { return text.empty() ? " " : " " + text + " "; };
  return "|" + cell(flags) + "|" + cell(value) + "|" + cell(takes) + "|";
}

TEST_F(OptionTableTest, ThePageOfTheCommandLineHasEveryEntry) {
  std::ifstream file(std::string(FEDSINKHORN_SOURCE) + "/docs/cli.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  for (const OptionEntry& option : option_table()) {
    const std::string start = start_of_row(option);
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [&](const auto& line) { return line.starts_with(start); }), 1)
        << start;
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
