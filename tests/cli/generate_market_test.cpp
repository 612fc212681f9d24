// fedsinkhorn generate-market.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/run_binary.hpp"
#include "io/csv_table.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

class GenerateMarketTest : public ::testing::Test {
 protected:
  [[nodiscard]] RunResult run(const std::string& rest) const {
    return run_here(words_of("generate-market " + rest), {.folder = folder_.path()});
  }
  [[nodiscard]] fs::path file(const std::string& name) const { return folder_.path() / name; }

  TemporaryFolder folder_;
};

TEST_F(GenerateMarketTest, WritesTables) {
  const RunResult result = run("--desks 2 --days 30 --assets 3 --scenarios 10 --output new/market");
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(listing(file("new/market")), (Names{"returns-0.csv", "returns-1.csv", "scenarios.csv", "weights.csv"}));
  const CsvTable first = read_csv(file("new/market/returns-0.csv"));
  const CsvTable second = read_csv(file("new/market/returns-1.csv"));
  EXPECT_EQ(first.rows + second.rows, 30U);
  EXPECT_EQ(first.columns, (Names{"A01", "A02", "A03"}));
  EXPECT_EQ(first.labels.at(0), "2015-01-02");
  EXPECT_EQ(read_csv(file("new/market/scenarios.csv")).rows, 10U);
  EXPECT_EQ(read_csv(file("new/market/weights.csv")).width, 3U);
  for (const std::string& name : listing(file("new/market"))) {
    EXPECT_NE(result.out.find("wrote new/market/" + name), std::string::npos) << result;
  }
}

TEST_F(GenerateMarketTest, EndsWithTheCommandToRunNext) {
  const RunResult result = run("--days 30 --scenarios 10 --output 'a market'");
  ASSERT_EQ(result.status, 0) << result;
  const std::string last = result.out.substr(result.out.rfind("\n  ") + 3);
  const Arguments words = words_of(last.substr(0, last.find('\n')));
  ASSERT_GT(words.size(), 10U) << result;
  const Arguments expected = {"risk",
                              "--returns",
                              "a market/returns-{client}.csv",
                              "--clients",
                              "5",
                              "--scenarios",
                              "a market/scenarios.csv",
                              "--weights",
                              "a market/weights.csv"};
  EXPECT_EQ(Arguments(words.begin() + 1, words.begin() + 10), expected);
}

TEST_F(GenerateMarketTest, RepeatsItselfForTheSameSeed) {
  const std::string spec = "--days 40 --scenarios 20 --output ";
  ASSERT_EQ(run(spec + "first --seed 7").status, 0);
  ASSERT_EQ(run(spec + "again --seed 7").status, 0);
  ASSERT_EQ(run(spec + "other --seed 8").status, 0);
  EXPECT_EQ(listing(file("first")).size(), 7U);
  for (const std::string& name : listing(file("first"))) {
    EXPECT_EQ(read_bytes(file("first") / name), read_bytes(file("again") / name)) << name;
    EXPECT_NE(read_bytes(file("first") / name), read_bytes(file("other") / name)) << name;
  }
  // Over the files of another market.
  ASSERT_EQ(run(spec + "other --seed 7").status, 0);
  for (const std::string& name : listing(file("first"))) {
    EXPECT_EQ(read_bytes(file("first") / name), read_bytes(file("other") / name)) << name;
  }
}

TEST_F(GenerateMarketTest, RefusesInOneLineAndLeavesNothing) {
  write_bytes(file("file"), "");
  struct Refused {
    std::string rest;
    std::string line;
  };
  const std::vector<Refused> all = {
      {"", "fedsinkhorn: --output"},
      {"--output ''", "fedsinkhorn: --output: is empty; name a folder"},
      {"--output file", "fedsinkhorn: --output file: cannot create the folder (Not a directory)"},
      {"--output file/new", "fedsinkhorn: --output file/new: cannot create the folder (Not a directory)"},
      {"--output new/m --desks 0", "fedsinkhorn: --desks: "},
      {"--output new/m --desks 501", "fedsinkhorn: --desks: "},
      {"--output new/m --desks 7 --days 6", "fedsinkhorn: --desks: 7 desks cannot share 6 days; each needs"},
      {"--output new/m --days 0", "fedsinkhorn: --days: "},
      {"--output new/m --days 1e9", "fedsinkhorn: --days: is not between 1 and 1,000,000"},
      {"--output new/m --assets -1", "fedsinkhorn: --assets: "},
      {"--output new/m --assets few", "fedsinkhorn: --assets: "},
      {"--output new/m --assets 10000 --scenarios 1e7 --days 1e6", "fedsinkhorn: --assets: the market does not fit"},
      {"--output new/m --scenarios 0", "fedsinkhorn: --scenarios: "},
      {"--output new/m --seed -1", "fedsinkhorn: --seed: "},
      {"--output new/m --frobnicate", "fedsinkhorn: --frobnicate: "},
  };
  for (const Refused& refused : all) {
    expect_one_line(run(refused.rest), refused.line);
    EXPECT_EQ(listing(folder_.path()), Names{"file"}) << refused.rest;
  }
}

TEST_F(GenerateMarketTest, AFileThatCannotBeReplacedKeepsAllOfThem) {
  fs::create_directories(file("m/weights.csv"));
  const RunResult result = run("--days 30 --scenarios 10 --output m");
  expect_one_line(result, "fedsinkhorn: m/weights.csv: ");
  EXPECT_EQ(listing(file("m")), Names{"weights.csv"});
}

}  // namespace
}  // namespace fedsinkhorn::test
