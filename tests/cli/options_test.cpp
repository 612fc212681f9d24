// How options are read: numbers, names, aliases, what is misspelt or makes no sense, and what the program tells about
// itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn::test {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  OptionsTest() {
    write_npy(folder_.path() / "C.npy", std::vector<double>{0, 1, 2, 3, 1, 0, 1, 2, 2, 1, 0, 1}, Shape{3, 4});
    write_npy(folder_.path() / "X.npy", std::vector<double>{0.5, 0, 1, 0, 2, 0}, Shape{3, 2});
  }

  [[nodiscard]] RunResult run(const std::string& command) const {
    return run_here(words_of(command), {.folder = folder_.path()});
  }

  [[nodiscard]] nlohmann::json summary_of(const std::string& rest) const {
    const RunResult result = run("solve --cost C.npy --output results --quiet " + rest);
    EXPECT_NE(result.status, 2) << rest << '\n' << result;
    return read_json(folder_.path() / "results/summary.json");
  }

  TemporaryFolder folder_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Good ones

TEST_F(OptionsTest, IntegersMayBeWrittenAsPeopleDo) {
  for (const char* ten : {"10", "010", "+10", "1e1", "1E+1", "1.0e1", "10.0", "0.1e2", "100e-1", "1_0", "0_1_0"}) {
    EXPECT_EQ(summary_of(std::string("--epsilon 0.1 --tolerance 0 --max-iterations ") + ten).at("iterations"), 10)
        << ten;
  }
  EXPECT_EQ(summary_of("--epsilon 0.1 --max-iterations 1e6 --check-every 1_0").at("status"), "converged");
  EXPECT_EQ(summary_of("--epsilon 0.1 --max-iterations 9223372036854775807").at("status"), "converged");
}

TEST_F(OptionsTest, SeedsUseAll64Bits) {
  const std::string simulated = "--epsilon 0.1 --clients 2 --transport simulated --seed ";
  EXPECT_EQ(summary_of(simulated + "18446744073709551615").at("seed").get<std::uint64_t>(), 18446744073709551615U);
  EXPECT_EQ(summary_of(simulated + "1e19").at("seed").get<std::uint64_t>(), 10000000000000000000U);
  EXPECT_EQ(summary_of(simulated + "010").at("seed").get<std::uint64_t>(), 10U);
}

TEST_F(OptionsTest, NumbersKeepEveryDigit) {
  EXPECT_EQ(summary_of("--epsilon 0.1").at("epsilon").get<double>(), 0.1);
  EXPECT_EQ(summary_of("--epsilon +1.2345678901234567e-1").at("epsilon").get<double>(), 1.2345678901234567e-1);
  EXPECT_EQ(summary_of("--epsilon 1_0.5").at("epsilon").get<double>(), 10.5);
  EXPECT_EQ(summary_of("--epsilon .5").at("epsilon").get<double>(), 0.5);
}

TEST_F(OptionsTest, AliasesMeanTheSame) {
  for (const char* words : {"--epsilon 0.5 --tolerance 1e-3 --max-iterations 7", "--eps 0.5 --tol 1e-3 --max-iter 7",
                            "--reg=0.5 --tol=1e-3 --max-iter=7"}) {
    const nlohmann::json summary = summary_of(words);
    EXPECT_EQ(summary.at("epsilon"), 0.5) << words;
    EXPECT_EQ(summary.at("tolerance"), 1e-3) << words;
  }
  EXPECT_EQ(summary_of("--eps 0.1 --tol 0 --max-iter 7").at("iterations"), 7);
}

TEST_F(OptionsTest, FormerNamesAreAnsweredWithTheNewOnes) {
  const RunResult result = run("solve --cost C.npy --epsilon 0.1 --memory 2 --output new");
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(mentions(result.err, "--memory")) << result;
  EXPECT_TRUE(mentions(result.err, "--history")) << result;
  EXPECT_FALSE(mentions(run("help solve").out, "--memory"));
}

TEST_F(OptionsTest, ListsAreSeparatedByCommas) {
  const nlohmann::json summary = summary_of("--epsilon 0.1 --clients 2 --rows 1,2e0");
  EXPECT_EQ(summary.at("clients").at(0).at("rows"), nlohmann::json({0, 1}));
  EXPECT_EQ(summary.at("clients").at(1).at("rows"), nlohmann::json({1, 3}));
}

TEST_F(OptionsTest, VersionAndHelpHaveShortForms) {
  EXPECT_EQ(run("-v").status, 0);
  EXPECT_EQ(run("-v").out, run("--version").out);
  EXPECT_EQ(run("help").status, 0);
  EXPECT_EQ(run("help").out, run("--help").out);
  EXPECT_EQ(run("help solve").out, run("solve --help").out);
  EXPECT_EQ(run("help generate").out, run("generate -h").out);
  EXPECT_TRUE(mentions(run("help").out, "solve"));
  EXPECT_TRUE(mentions(run("help").out, "completion"));
}

// ---------------------------------------------------------------------------------------------------------------------
// Bad ones

struct Refused {
  std::string command;
  std::vector<std::string> mentioned;
  std::vector<std::string> not_mentioned{};
};

TEST_F(OptionsTest, WhatIsWrongIsNamed) {
  const std::string good = "solve --cost C.npy --epsilon 0.1 ";
  const std::vector<Refused> all = {
      // Unknown ones first, whatever else is missing or wrong.
      {"solve --tolerence 1e-3", {"--tolerence", "did you mean --tolerance?"}, {"required"}},
      {"solve --tolerence=1e-3 --max-iterations x", {"--tolerence:", "--tolerance?"}, {"'x'"}},
      {"solve --cost C.npy --epsilom 0.1", {"--epsilom", "--epsilon?"}, {"required"}},
      {"solve -tolerance 1", {"-tolerance", "did you mean --tolerance?"}, {"required"}},
      {"solve --cost missing.npy --eps 1 --quite", {"--quite", "--quiet?"}, {"missing.npy"}},
      {good + "--iterations 3", {"--max-iterations?"}},
      {good + "--max_iterations 3", {"--max-iterations?"}},
      {good + "--tpology star", {"--topology?"}},
      {good + "--xyzzy 3", {"--xyzzy", "solve --help"}, {"did you mean"}},
      {"generate --colums 3", {"--colums", "--columns?"}, {"required"}},
      {"demo --client 3", {"--client", "--clients?"}},
      {"--epsilon 0.1 solve --cost C.npy", {"--epsilon", "after"}, {"required"}},
      {"--versoin", {"--versoin", "--version?"}},
      {"slove --epsilon 1", {"slove", "did you mean solve?"}},
      {"help slove", {"slove", "did you mean solve?"}},
      {"help frobnicate", {"frobnicate", "generate"}},
      {"solve C.npy", {"C.npy", "unexpected"}, {"required"}},

      {good + "--max-iterations 1.5", {"--max-iterations", "1.5", "whole number"}},
      {good + "--max-iter 1e-1", {"--max-iterations", "1e-1"}},
      {good + "--max-iter 1e30", {"--max-iterations", "1e30", "9223372036854775807"}},
      {good + "--max-iter 1e99999999999999999999", {"--max-iterations", "9223372036854775807"}},
      {good + "--max-iter 18446744073709551616", {"--max-iterations", "9223372036854775807"}},
      {good + "--max-iter 18446744073709551617", {"--max-iterations", "9223372036854775807"}},
      {good + "--max-iter 9223372036854775808", {"--max-iterations", "9223372036854775807"}},
      {good + "--max-iter -18446744073709551615", {"--max-iterations", "too small"}},
      {good + "--max-iter 0", {"--max-iterations", "1 or more"}},
      {good + "--max-iter 0x10", {"--max-iterations", "0x10"}},
      {good + "--max-iter 1_", {"--max-iterations", "1_"}},
      {good + "--max-iter 1__0", {"--max-iterations", "1__0"}},
      {good + "--max-iter 1e", {"--max-iterations", "1e"}},
      {good + "--max-iter ''", {"--max-iterations"}},
      {good + "--max-iter '1 0'", {"--max-iterations", "1 0"}},
      {good + "--check-every 1.5", {"--check-every"}},
      {good + "--threads 4294967297", {"--threads", "4294967297"}},
      {good + "--clients 18446744073709551617", {"--clients"}},
      {good + "--clients 2.5", {"--clients"}},
      {good + "--history 4294967297", {"--history"}},
      {good + "--history 4 --history 5", {"--history", "2 values"}},
      {good + "--history 65", {"--history", "64"}},
      {good + "--history 8 --method sinkhorn", {"--history", "sinkhorn", "anderson"}},
      {good + "--clients 2 --topology async --history 8", {"--history", "--topology async"}, {"`"}},
      {good + "--local-steps 18446744073709551617", {"--local-steps"}},
      {good + "--clients 2 --topology async --max-staleness 0x5", {"--max-staleness"}},
      {good + "--clients 2 --transport simulated --seed 18446744073709551616", {"--seed", "18446744073709551615"}},
      {"generate --rows 18446744073709551617 --output new", {"--rows", "9223372036854775807"}},
      {"generate --rows 10 --dimension 1.5 --output new", {"--dimension"}},
      {"generate --rows 10 --seed 18446744073709551616 --output new", {"--seed"}},
      {"generate --rows 10 --cost-scale 1e --output new", {"--cost-scale"}},
      {"demo --clients 4294967297 --output new", {"--clients", "64"}},
      {"demo --threads 4294967297 --output new", {"--threads"}},

      {"solve --cost C.npy --epsilon 0.1e", {"--epsilon", "0.1e"}},
      {"solve --cost C.npy --epsilon nan", {"--epsilon", "nan", "finite"}},
      {"solve --cost C.npy --epsilon inf", {"--epsilon", "inf", "finite"}},
      {"solve --cost C.npy --epsilon 0x1p-3", {"--epsilon"}},
      {"solve --cost C.npy --epsilon 0,1", {"--epsilon", "0,1"}},
      {"solve --cost C.npy --epsilon 1e999", {"--epsilon", "1e999"}},
      {"solve --cost C.npy --epsilon 1e-999", {"--epsilon", "1e-999"}},
      {good + "--tolerance nan", {"--tolerance", "nan"}},
      {good + "--timeout inf", {"--timeout", "inf"}},
      {good + "--timeout 1e300", {"--timeout", "1e+09"}},

      {good + "--clients 2 --rows 1,,2", {"--rows", "empty"}},
      {good + "--clients 2 --rows 1,2,", {"--rows", "empty"}},
      {good + "--clients 2 --rows ,1,2", {"--rows", "empty"}},
      {good + "--clients 2 --rows ''", {"--rows", "empty"}},
      {good + "--clients 2 --rows 1,nan", {"--rows", "nan"}},
      {good + "--clients 2 --rows 1,2x", {"--rows", "2x"}},
      {good + "--devices 0,,1", {"--devices", "empty"}},
      {good + "--devices 0,", {"--devices", "empty"}},
      {good + "--devices 0,1.5", {"--devices", "1.5"}},
      {good + "--devices 4294967296", {"--devices", "4294967296"}},
      {good + "--topology grid --clients 2 --grid 9223372036854775809x2", {"--grid", "9223372036854775809x2"}},
      {good + "--topology grid --clients 2 --grid 2", {"--grid", "2x3"}},
      {good + "--topology grid --clients 2 --grid 2x", {"--grid", "2x3"}},

      {good + "--metric euclidean", {"--metric", "--cost"}},
      {good + "--metric sqeuclidean", {"--metric", "--cost"}},
      {good + "--clients 2 --topology async --history 8", {"--history", "--topology async"}},
      {good + "--clients 2 --local-steps 2 --history 8", {"--history", "--local-steps"}},
      {good + "--stabilization log --history 8", {"--history", "--stabilization log"}},
      {good + "--epsilon 0.1", {"--epsilon", "2 values"}},
      {good + "--eps 0.2", {"--epsilon", "2 values"}},
      {good + "--max-iter 5 --max-iterations 6", {"--max-iterations", "2 values"}},
      {"solve --epsilon 0.1 --cost", {"--cost", "no value"}},
      {"solve --cost --epsilon 0.1", {"--cost", "no value", "--epsilon"}},
      {"solve --cost C.npy --epsilon --tolerance 1", {"--epsilon", "no value", "--tolerance"}},
      {"completion fish", {"fish", "bash"}},
  };
  for (const Refused& refused : all) {
    const RunResult result = run(refused.command);
    SCOPED_TRACE(refused.command + "\n" + result.err);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    EXPECT_TRUE(result.err.starts_with("fedsinkhorn: "));
    for (const std::string& text : refused.mentioned) EXPECT_TRUE(mentions(result.err, text)) << text;
    for (const std::string& text : refused.not_mentioned) EXPECT_FALSE(mentions(result.err, text)) << text;
  }
  EXPECT_EQ(listing(folder_.path()), (std::vector<std::string>{"C.npy", "X.npy"}));
}

// ---------------------------------------------------------------------------------------------------------------------
// How it ends

TEST_F(OptionsTest, QuietStillSaysThatItDidNotConverge) {
  const std::string limited = "solve --cost C.npy --epsilon 0.01 --max-iterations 2 --method sinkhorn --output results";
  const RunResult quiet = run(limited + " --quiet");
  EXPECT_EQ(quiet.status, 3);
  EXPECT_EQ(quiet.out, "");
  EXPECT_EQ(std::count(quiet.err.begin(), quiet.err.end(), '\n'), 1);
  EXPECT_TRUE(quiet.err.starts_with("fedsinkhorn: not converged")) << quiet;
  const std::string hint = read_json(folder_.path() / "results/summary.json").at("hint");
  EXPECT_TRUE(mentions(hint, "--max-iterations")) << hint;
  EXPECT_TRUE(mentions(hint, "--method auto")) << hint;
  EXPECT_TRUE(mentions(quiet.err, hint)) << quiet;
  const RunResult loud = run(limited);
  EXPECT_EQ(loud.status, 3);
  EXPECT_TRUE(mentions(loud.out, hint)) << loud;

  const RunResult converged = run("solve --cost C.npy --epsilon 1 --output results --quiet");
  EXPECT_EQ(converged.status, 0);
  EXPECT_EQ(converged.out + converged.err, "");
  EXPECT_FALSE(read_json(folder_.path() / "results/summary.json").contains("hint"));
}

// An error below the tolerance would look like a wrong claim.
TEST_F(OptionsTest, TheLineHasErrorAndToleranceInTheSameUnits) {
  write_npy(folder_.path() / "C.npy", std::vector<double>{0, 1, 0.3, 0.7, 0.2, 0.9}, Shape{2, 3});
  write_npy(folder_.path() / "a.npy", std::vector<double>{4e-5, 6e-5}, Shape{2});
  write_npy(folder_.path() / "b.npy", std::vector<double>{2e-5, 3e-5, 5e-5}, Shape{3});
  const RunResult result =
      run("solve --cost C.npy --a a.npy --b b.npy --epsilon 0.1 --method sinkhorn --max-iterations 3 --tolerance 1e-6 "
          "--quiet");
  EXPECT_EQ(result.status, 3) << result;
  EXPECT_TRUE(mentions(result.err, "tolerance 1e-10;")) << result;
}

TEST_F(OptionsTest, QuietStillSaysThatAClientWasLost) {
  write_bytes(folder_.path() / "scenario.json", R"({"clients": [{"client": 1, "lost_at": 0.001}]})");
  const RunResult result =
      run("solve --cost C.npy --epsilon 0.01 --tolerance 0 --max-iterations 1e6 --clients 2 --transport simulated "
          "--scenario scenario.json --quiet");
  EXPECT_EQ(result.status, 4) << result;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result;
}

TEST_F(OptionsTest, TheHintKnowsAboutRounding) {
  std::vector<double> costs;
  for (int k = 0; k < 400; ++k) costs.push_back(std::sin(k * k));
  write_npy(folder_.path() / "C.npy", costs, Shape{20, 20});
  const nlohmann::json summary = summary_of("--epsilon 0.1 --precision float32 --tolerance 1e-18 --max-iterations 300");
  EXPECT_EQ(summary.at("status"), "iteration_limit");
  EXPECT_TRUE(mentions(summary.at("hint"), "--precision float64")) << summary.at("hint");
}

// ---------------------------------------------------------------------------------------------------------------------
// The manual page and completion

/// Words of a text that start with "--", without what follows their letters.
std::vector<std::string> long_options(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
    if (end > at + 2) names.push_back(text.substr(at, end - at));
  }
  return names;
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST_F(OptionsTest, TheManualPageHasEveryOptionAndItsExamplesRun) {
  const RunResult result = run("man");
  ASSERT_EQ(result.status, 0);
  EXPECT_TRUE(result.out.starts_with(".TH FEDSINKHORN 1"));
  const std::string page = replace_all(result.out, "\\-", "-");
  for (const char* command : {"solve", "risk", "generate", "generate-market", "demo", "privacy", "privacy explain",
                              "calibrate", "predict", "plan", "info", "help"}) {
    EXPECT_TRUE(mentions(page, std::string(".SS fedsinkhorn ") + command)) << command;
    const std::vector<std::string> options = long_options(run(std::string("help ") + command).out);
    EXPECT_FALSE(options.empty());
    for (const std::string& option : options) EXPECT_TRUE(mentions(page, "\\fB" + option + "\\fR")) << option;
  }
  for (const char* section : {"NAME", "SYNOPSIS", "EXIT STATUS", "FILES", "EXAMPLES"}) {
    EXPECT_TRUE(mentions(page, std::string(".SH ") + section + "\n")) << section;
  }
  std::istringstream examples(page.substr(page.find(".SH EXAMPLES")));
  int count = 0;
  for (std::string line; std::getline(examples, line);) {
    if (!line.starts_with("fedsinkhorn ")) continue;
    ++count;
    EXPECT_EQ(run(line.substr(line.find(' '))).status, 0) << line;
  }
  EXPECT_GE(count, 3);
}

class CompletionTest : public OptionsTest {
 protected:
  CompletionTest() { write_bytes(folder_.path() / "completion", run("completion bash").out); }

  /// What bash would offer for the last of these words, sorted.
  [[nodiscard]] std::vector<std::string> offered(const std::string& words) const {
    const std::string script = "cd '" + folder_.path().string() + "' && . ./completion && COMP_WORDS=(" + words +
                               ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _fedsinkhorn && printf '%s\\n' "
                               "\"${COMPREPLY[@]}\" | sort";
    write_bytes(folder_.path() / "script", script);
    const std::string command = "bash '" + (folder_.path() / "script").string() + "' 2>&1";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);  // NOLINT
    std::vector<std::string> lines(1);
    for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
      if (c == '\n') {
        lines.emplace_back();
      } else {
        lines.back() += static_cast<char>(c);
      }
    }
    lines.pop_back();
    return lines;
  }
};

using Words = std::vector<std::string>;

TEST_F(CompletionTest, Commands) {
  EXPECT_EQ(offered("fedsinkhorn sol"), Words{"solve"});
  EXPECT_EQ(offered("fedsinkhorn ''"),
            (Words{"--help", "--version", "calibrate", "completion", "demo", "generate", "generate-market", "help",
                   "info", "man", "plan", "predict", "privacy", "report", "risk", "solve"}));
  EXPECT_EQ(offered("fedsinkhorn help gen"), (Words{"generate", "generate-market"}));
  EXPECT_EQ(offered("fedsinkhorn privacy ''"), (Words{"--help", "account", "calibrate", "explain", "key"}));
}

TEST_F(CompletionTest, Options) {
  EXPECT_EQ(offered("fedsinkhorn solve --tol"), Words{"--tolerance"});
  EXPECT_EQ(offered("fedsinkhorn solve --quiet --max-i"), Words{"--max-iterations"});
  EXPECT_EQ(offered("fedsinkhorn generate --sh"), Words{"--shared-support"});
  EXPECT_EQ(offered("fedsinkhorn privacy explain --to"), Words{"--topology"});
  EXPECT_EQ(offered("fedsinkhorn solve --expl"), Words{"--explain"});
  EXPECT_EQ(offered("fedsinkhorn plan --own"), Words{"--own-rows"});
}

TEST_F(CompletionTest, Values) {
  EXPECT_EQ(offered("fedsinkhorn solve --topology ''"),
            (Words{"all-to-all", "async", "auto", "centralized", "grid", "row-reduce", "star"}));
  EXPECT_EQ(offered("fedsinkhorn solve --cost C.npy --topology st"), Words{"star"});
  EXPECT_EQ(offered("fedsinkhorn solve --norm = li"), Words{"linf"});
  EXPECT_EQ(offered("fedsinkhorn solve --norm ="), (Words{"l1", "l2", "linf"}));
  EXPECT_EQ(offered("fedsinkhorn generate --marginals de"), Words{"decades"});
  EXPECT_EQ(offered("fedsinkhorn privacy explain --policy ''"), (Words{"open", "private", "sums"}));
  EXPECT_EQ(offered("fedsinkhorn predict --format ''"), (Words{"csv", "json", "table"}));
  EXPECT_EQ(offered("fedsinkhorn solve --cost C"), Words{"C.npy"});
  EXPECT_EQ(offered("fedsinkhorn solve --eps ''"), Words{""});  // nothing to choose from
}

}  // namespace
}  // namespace fedsinkhorn::test
