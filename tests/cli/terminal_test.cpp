// What comes from outside, file names, JSON, words of the command line, reaches the terminal as plain text of a
// bearable length.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn::test {
namespace {

constexpr const char* kRed = "\x1b[31m";
constexpr std::size_t kBearable = 1200;  // bytes of a line: 1,000 characters and the name of the program

bool is_plain(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte >= 0x7f;
  });
}

class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() { write_npy(folder_.path() / "C.npy", std::vector<double>{0, 1, 1, 0}, Shape{2, 2}); }

  [[nodiscard]] RunResult run(const Arguments& arguments) const {
    return run_binary(arguments, {.folder = folder_.path()});
  }

  TemporaryFolder folder_;
};

TEST_F(TerminalTest, RefusalsAreOneShortPlainLine) {
  const std::string long_name(100000, 'x');
  const std::string red = kRed;
  const std::string broken = "a\nb\r\x9b\xff\x7f" + red;
  const std::vector<Arguments> commands = {
      {red},
      {long_name},
      {"--" + red},
      {"solve", "--" + red},
      {"solve", "--" + long_name},
      {"solve", red, "--epsilon", "1"},
      {"solve", "--cost", broken, "--epsilon", "1"},
      {"solve", "--cost", long_name, "--epsilon", "1"},
      {"solve", "--cost", "C.npy", "--epsilon", red},
      {"solve", "--cost", "C.npy", "--epsilon", long_name},
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--max-iterations", red},
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--rows", red},
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--topology", red},
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--topology", long_name},
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--norm", broken},
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--grid", broken},
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--simd", broken},
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--output", "C.npy/" + broken},
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--transport", "simulated", "--scenario", broken},
      {"generate", "--rows", "3", "--output", "C.npy/" + broken},
      {"generate", "--rows", red, "--output", "new"},
      {"demo", "--output", "C.npy/" + broken},
  };
  for (const Arguments& arguments : commands) {
    const RunResult result = run(arguments);
    SCOPED_TRACE(arguments.front().substr(0, 100) + " ... " + arguments.back().substr(0, 100));
    EXPECT_EQ(result.status, 2) << result.err.substr(0, 1000);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(is_plain(result.err)) << result.err.substr(0, 1000);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    EXPECT_LE(result.err.size(), kBearable);
    EXPECT_EQ(result.err.find("internal error"), std::string::npos) << result.err.substr(0, 1000);
  }
}

// The end of the line, which says why, is still there.
TEST_F(TerminalTest, TheReasonStaysBesideALongName) {
  const RunResult result = run({"solve", "--cost", std::string(100000, 'x'), "--epsilon", "1"});
  EXPECT_NE(result.err.find("File name too long"), std::string::npos) << result.err.substr(0, 1000);
}

TEST_F(TerminalTest, JsonIsNotShownRaw) {
  const std::string megabyte(1 << 20, 'k');
  const std::vector<std::string> texts = {
      R"({"\u001b[31mlatency": 3})",
      R"({"\u009b31m\u202e": 3})",
      "{\"" + megabyte + "\": 3}",
      R"({"latency": {"law": ")" + megabyte + "\"}}",
      R"({"latency": {"law": "\u001b]0;title\u0007"}})",
      "{\"a\x1b[31m",
      "\x1b[31m" + megabyte,
      "{\"\xff\xfe\": 3}",
      "[" + megabyte,
  };
  for (const std::string& text : texts) {
    write_bytes(folder_.path() / "scenario.json", text);
    const RunResult result =
        run(words_of("solve --cost C.npy --epsilon 1 --transport simulated --clients 2 --scenario scenario.json"));
    SCOPED_TRACE(text.substr(0, 60));
    EXPECT_EQ(result.status, 2);
    EXPECT_TRUE(is_plain(result.err)) << result.err.substr(0, 1000);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    EXPECT_LE(result.err.size(), kBearable);
    EXPECT_NE(result.err.find("scenario.json"), std::string::npos);
  }
}

TEST_F(TerminalTest, NorAreTheNamesOfResults) {
  const std::string folder = std::string("re") + kRed + "\nsults'";
  const std::vector<Arguments> commands = {
      {"solve", "--cost", "C.npy", "--epsilon", "1", "--output", folder},
      {"generate", "--rows", "3", "--output", folder},
  };
  for (const Arguments& arguments : commands) {
    const RunResult result = run(arguments);
    ASSERT_EQ(result.status, 0) << result;
    EXPECT_TRUE(is_plain(result.out)) << result.out;
    EXPECT_NE(result.out.find("re\\x1b[31m\\nsults"), std::string::npos) << result.out;
    EXPECT_TRUE(std::filesystem::is_directory(folder_.path() / folder));  // the files have the name that was given
  }
  // The line to copy is quoted so that bash finds the file.
  EXPECT_NE(run(commands.back()).out.find(R"($'re\x1b[31m\nsults\'/X.npy')"), std::string::npos);
}

}  // namespace
}  // namespace fedsinkhorn::test
