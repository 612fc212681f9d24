// The table of options, entry by entry: what it says holds for the library. For the command line see tests/cli.
#include "options/option_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "registry/option_names.hpp"
#include "registry/registry.hpp"
#include "support/problems.hpp"

#ifndef FEDSINKHORN_SOURCE
#error "FEDSINKHORN_SOURCE must name the source tree"
#endif

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

TEST(OptionTable, NamesAreThereOnce) {
  std::set<std::string> seen;
  for (const OptionEntry& option : option_table()) {
    SCOPED_TRACE(option.field);
    EXPECT_TRUE(seen.insert(std::string(option.field)).second);
    std::istringstream flags{std::string(option.flags) + "," + std::string(option.former_flag)};
    for (std::string flag; std::getline(flags, flag, ',');)
      EXPECT_TRUE(flag.empty() || seen.insert(flag).second) << flag;
    EXPECT_EQ(find_option(option.field), &option);
    EXPECT_TRUE(option.main_flag().starts_with("--"));
    EXPECT_FALSE(option.help.empty());
    EXPECT_FALSE(option.group.empty());
  }
  EXPECT_EQ(find_option("no such field"), nullptr);
}

TEST(OptionTable, DefaultsAreAllowed) {
  for (const OptionEntry& option : option_table()) {
    SCOPED_TRACE(option.field);
    EXPECT_NO_THROW(check_range(option, Options{}));
    const std::vector<std::string> names = names_of_option(option);
    const std::string value = value_text(option, Problem{}, Options{});
    EXPECT_EQ(std::count(names.begin(), names.end(), value), names.empty() ? 0 : 1) << value;
  }
}

TEST(OptionTable, WhoUsesAnOptionExists) {
  for (const OptionEntry& option : option_table()) {
    const OptionEntry* by = option.used_by.field.empty() ? nullptr : find_option(option.used_by.field);
    for (const std::string_view user : option.used_by.names) {
      ASSERT_NE(by, nullptr) << option.field;
      const std::vector<std::string> names = names_of_option(*by);
      EXPECT_EQ(std::count(names.begin(), names.end(), user), 1) << option.field << " by " << user;
    }
  }
}

/// Sets an option to a number.
struct NumberSetter {
  Problem& problem;
  Options& options;
  double number;

  void operator()(double Problem::*member) const { problem.*member = number; }
  void operator()(std::vector<int> Options::*member) const { options.*member = {static_cast<int>(number)}; }
  void operator()(std::vector<double> Options::*member) const { options.*member = {number}; }
  template <class Value>
  void operator()(Value Options::*member) const {
    if constexpr (std::is_arithmetic_v<Value>) options.*member = static_cast<Value>(number);
  }
};

/// Numbers out of range that the type can hold.
std::vector<double> wrong_numbers(const OptionEntry& option) {
  const OptionRange& range = option.range;
  const bool counts_from_zero = std::holds_alternative<std::size_t Options::*>(option.member);
  std::vector<double> wrong;
  if (std::isfinite(range.least) && !counts_from_zero) wrong = {range.is_open ? range.least : range.least - 1};
  if (range.most < OptionRange::kFinite) wrong.push_back(range.most + 1);
  const bool is_real = std::holds_alternative<double Options::*>(option.member);
  if (is_real) wrong.push_back(std::numeric_limits<double>::quiet_NaN());
  return wrong;
}

TEST(OptionTable, TheLibraryRefusesWhatIsOutOfRangeAndNamesTheField) {
  const OwnedProblem owned = testing::random_problem(5, 6, 0.1, 1);
  int count = 0;
  for (const OptionEntry& option : option_table()) {
    if (option.range.least == -std::numeric_limits<double>::infinity()) continue;
    for (const double number : wrong_numbers(option)) {
      SCOPED_TRACE(std::string(option.field) + " " + std::to_string(number));
      Problem problem = owned.view();
      Options options;
      std::visit(NumberSetter{problem, options, number}, option.member);
      try {
        (void)solve(problem, options);
        ADD_FAILURE() << "it was accepted";
      } catch (const InputError& error) {
        const std::string line = error.what();
        EXPECT_TRUE(line.starts_with(std::string(option.field) + ": ")) << line;
        EXPECT_EQ(line.find('\n'), std::string::npos) << line;
        EXPECT_EQ(line.find("--"), std::string::npos) << line;
        ++count;
      }
    }
  }
  EXPECT_GE(count, 19);
}

TEST(OptionTable, UnknownNamesAreRefusedWithTheField) {
  const OwnedProblem owned = testing::random_problem(5, 6, 0.1, 1);
  for (const OptionEntry& option : option_table()) {
    const auto* member = std::get_if<std::string Options::*>(&option.member);
    if (member == nullptr) continue;
    Options options;
    options.*(*member) = "another";
    try {
      (void)solve(owned.view(), options);
      ADD_FAILURE() << option.field << " was accepted";
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(std::string(option.field) + ": ")) << error.what();
    }
  }
}

TEST(OptionTable, TextsTellValuesApart) {
  Problem problem;
  Options options;
  options.row_weights = {1, 2.5};
  options.grid = {2, 3};
  options.keep_local = true;
  const auto text = [&](const char* field) { return value_text(*find_option(field), problem, options); };
  EXPECT_EQ(text("row_weights"), "1,2.5,");
  EXPECT_EQ(text("devices"), "");
  EXPECT_EQ(text("grid"), "2x3");
  EXPECT_EQ(text("keep_local"), "true");
  EXPECT_EQ(text("tolerance"), "1e-09");
  EXPECT_EQ(text("norm"), "l1");
  EXPECT_EQ(range_text(*find_option("damping")), "above 0, up to 1");
  EXPECT_EQ(range_text(*find_option("history")), "1 to 64");
  EXPECT_EQ(range_text(*find_option("norm")), "");
}

TEST(InputErrors, FieldsAreMarkedForThoseWhoCallThemOtherwise) {
  const InputError error("`damping`", "the topology is star", "add `topology` async");
  EXPECT_STREQ(error.what(), "damping: the topology is star; add `topology` async");
  EXPECT_EQ(error.marked(), "`damping`: the topology is star; add `topology` async");
  EXPECT_STREQ(InputError(error.marked()).what(), error.what());
  EXPECT_STREQ(InputError("a.npy", "is empty").what(), "a.npy: is empty");
  EXPECT_STREQ(InputError("`odd", "is a file").what(), "`odd: is a file");
}

TEST(InputErrors, TheLibraryWritesNoFlags) {
  namespace fs = std::filesystem;
  const std::regex flag(R"("([^"]*[^-"])?--[a-z])");
  const fs::path source = fs::path(FEDSINKHORN_SOURCE) / "src";
  // Who speaks for the command line, or to it.
  const std::set<std::string> others = {"cli", "options", "synthetic", "watch", "hint.cpp", "output_folder.cpp"};
  int count = 0;
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(source)) {
    const fs::path path = file.path().lexically_relative(source);
    const bool is_ours = path.extension() == ".cpp" || path.extension() == ".hpp" || path.extension() == ".cu";
    if (!is_ours || others.contains(*path.begin()) || others.contains(path.filename())) continue;
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line); ++count) {
      const bool is_comment = line.find_first_not_of(' ') == line.find("//");
      EXPECT_TRUE(is_comment || !std::regex_search(line, flag)) << path << ": write `field`, not its flag: " << line;
    }
  }
  EXPECT_GT(count, 10000);
}

}  // namespace
}  // namespace fedsinkhorn
