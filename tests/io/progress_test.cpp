#include "io/progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

namespace fedsinkhorn {
namespace {

constexpr std::size_t kWide = 1000;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// A hundred checks in that many seconds, a hundred iterations each, with the errors a function of time gives.
TimeLeft after(double seconds, const std::function<double(double)>& error, double tolerance = 1e-9,
               std::int64_t max_iterations = 1000000000) {
  TimeLeft left;
  Progress now;
  now.max_iterations = max_iterations;
  now.tolerance = tolerance;
  now.epsilon = 1;
  for (int k = 1; k <= 100; ++k) {
    now.iteration = 100 * k;
    now.seconds = seconds * k / 100;
    now.error_a = 1e5;  // of a point nobody keeps
    now.error_b = error(now.seconds);
    left.add(now);
  }
  return left;
}

TEST(TimeLeft, FollowsTheSlopeOfTheError) {
  // A decade every 2.5 seconds: four decades in ten seconds, five are left.
  const auto left = after(10, [](double t) { return std::pow(10.0, -t / 2.5); }).seconds();
  ASSERT_TRUE(left.has_value());
  EXPECT_NEAR(*left, 12.5, 0.1);
}

TEST(TimeLeft, TheSlopeIsThatOfTheEnd) {
  // Fast at first, then a decade every ten seconds: from 1e-4 at t = 10.
  const auto left =
      after(20, [](double t) { return t < 6 ? std::pow(10.0, -t / 2) : std::pow(10.0, -3 - (t - 6) / 10); });
  ASSERT_TRUE(left.seconds().has_value());
  EXPECT_NEAR(*left.seconds(), 46, 1);
}

TEST(TimeLeft, JumpsDoNotBendIt) {
  // As accelerated methods do: now and then a point that is much worse or better.
  const auto left = after(10, [](double t) {
    const int k = static_cast<int>(std::lround(t * 10));
    return std::pow(10.0, -t / 2.5) * (k % 7 == 0 ? 100 : k % 11 == 0 ? 0.01 : 1);
  });
  ASSERT_TRUE(left.seconds().has_value());
  EXPECT_NEAR(*left.seconds(), 12.5, 2);
}

// Version 0.1 said "3.9 h" here, extrapolating to the iteration limit.
TEST(TimeLeft, IsNotToldWithoutAClearSlope) {
  EXPECT_FALSE(after(8, [](double) { return 1e-3; }).seconds().has_value()) << "stalled";
  EXPECT_FALSE(after(8, [](double t) { return 1e-3 * (1 + t); }).seconds().has_value()) << "rising";
  EXPECT_FALSE(after(8, [](double t) { return 1e-3 * (1.5 + std::sin(40 * t)); }).seconds().has_value()) << "jumping";
  EXPECT_FALSE(after(8, [](double t) { return 1e-3 / (1 + 1e-3 * t); }).seconds().has_value()) << "hardly falling";
  EXPECT_FALSE(after(8, [](double) { return std::nan(""); }).seconds().has_value()) << "nan";
  EXPECT_FALSE(after(8, [](double) { return 0.0; }).seconds().has_value()) << "nothing to take logs of";
  EXPECT_FALSE(TimeLeft().seconds().has_value());
}

TEST(TimeLeft, TheIterationLimitMayComeFirst) {
  // 10,000 iterations in ten seconds, 2,000 left.
  const auto error = [](double t) { return std::pow(10.0, -t / 2.5); };
  const auto left = after(10, error, 1e-9, 12000).seconds();
  ASSERT_TRUE(left.has_value());
  EXPECT_NEAR(*left, 2, 0.01);
  // With tolerance 0 it is the end, whatever the error does.
  const auto budget = after(
                          10, [](double) { return 1e-16; }, 0, 100000)
                          .seconds();
  ASSERT_TRUE(budget.has_value());
  EXPECT_NEAR(*budget, 90, 0.1);
}

Progress some_progress() {
  Progress now;
  now.iteration = 200;
  now.max_iterations = 1000000;
  now.seconds = 10;
  now.error_b = 1e-3;
  now.tolerance = 1e-9;
  return now;
}

TEST(TimeLeft, ErrorsOfOtherEpsilonsDoNotCount) {
  TimeLeft left = after(10, [](double t) { return std::pow(10.0, -t / 2.5); });
  Progress now = some_progress();
  now.iteration = 10100;
  now.seconds = 10.1;
  now.epsilon = 0.5;
  left.add(now);
  EXPECT_FALSE(left.seconds().has_value());
  for (int k = 1; k <= 100; ++k) {
    now.is_on_the_way = true;
    now.epsilon = 0.1;
    now.seconds += 0.1;
    now.error_b *= 0.9;
    left.add(now);
  }
  EXPECT_FALSE(left.seconds().has_value());
}

TEST(ProgressText, TellsWhatIsKnown) {
  Progress now = some_progress();
  EXPECT_EQ(progress_text(now, 15, kWide), "iteration 200  error 1.00e-03  20 it/s  about 15 s left");
  EXPECT_EQ(progress_text(now, std::nullopt, kWide), "iteration 200  error 1.00e-03  20 it/s");
  now.epsilon = 0.025;
  now.targets_left = 3;
  EXPECT_EQ(progress_text(now, std::nullopt, kWide).find("epsilon"), std::string::npos);
  now.is_on_the_way = true;
  EXPECT_EQ(progress_text(now, 1, kWide),
            "iteration 200  error 1.00e-03  20 it/s  at epsilon 0.025  3 targets left  about 1.0 s left");
}

TEST(ProgressText, FitsIntoTheWidth) {
  Progress now = some_progress();
  now.is_on_the_way = true;
  now.epsilon = 0.025;
  now.targets_left = 3;
  std::size_t longest = 0;
  for (std::size_t width = 0; width < 100; ++width) {
    const std::string text = progress_text(now, 15, width);
    EXPECT_LE(text.size(), width);
    longest = std::max(longest, text.size());
  }
  EXPECT_GT(longest, 80U);
  EXPECT_EQ(progress_text(now, 15, 50), "iteration 200  error 1.00e-03  about 15 s left");
  EXPECT_EQ(progress_text(now, 15, 30), "iteration 200  error 1.00e-03");
  EXPECT_EQ(progress_text(now, 15, 5), "itera");
}

TEST(ProgressLine, WritesPlainLinesEverMoreRarelyWhereThereIsNoTerminal) {
  const File file(std::tmpfile(), std::fclose);
  {
    ProgressLine line(file.get());
    Progress now;
    for (now.iteration = 1; now.iteration <= 1000; ++now.iteration) {
      now.seconds = 0.1 * static_cast<double>(now.iteration);
      now.error_b = 1.0 / static_cast<double>(now.iteration);
      line.update(now);
    }
  }
  std::rewind(file.get());
  std::string text;
  for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get())) text += static_cast<char>(c);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_GE(lines, 5);
  EXPECT_LE(lines, 10);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

/// Both ends of a pseudo-terminal.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : outside_(posix_openpt(O_RDWR | O_NOCTTY)) {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = columns;
    if (outside_ < 0 || grantpt(outside_) != 0 || unlockpt(outside_) != 0) return;
    inside_.reset(std::fopen(ptsname(outside_), "w"));  // NOLINT(concurrency-mt-unsafe): there is one thread
    if (inside_) ioctl(outside_, TIOCSWINSZ, &size);
  }
  ~Terminal() {
    inside_.reset();
    close(outside_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] std::FILE* stream() const { return inside_.get(); }
  /// What was written so far.
  [[nodiscard]] std::string text() const {
    std::string text;
    pollfd ready{outside_, POLLIN, 0};
    std::array<char, 4096> buffer{};
    while (poll(&ready, 1, 0) == 1 && (ready.revents & POLLIN) != 0) {
      const auto count = read(outside_, buffer.data(), buffer.size());
      if (count <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int outside_;
  File inside_{nullptr, std::fclose};
};

/// The longest stretch between two returns, without the sequence that erases the rest of the line.
std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = text.find('\r'); at != std::string::npos; at = text.find('\r', at + 1)) {
    longest = std::max(longest, std::min(text.find("\033[K", at), text.size()) - at - 1);
  }
  return longest;
}

TEST(ProgressLine, IsNoWiderThanTheTerminal) {
  for (const unsigned short columns : {std::uint16_t{20}, std::uint16_t{40}, std::uint16_t{200}}) {
    const Terminal terminal(columns);
    ASSERT_NE(terminal.stream(), nullptr);
    EXPECT_EQ(terminal_width(terminal.stream()), columns);
    Progress now = some_progress();
    now.targets_left = 12345;
    ProgressLine line(terminal.stream());
    line.update(now);
    const std::string text = terminal.text();
    EXPECT_GT(longest_line(text), 10U) << text;
    EXPECT_LT(longest_line(text), columns) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(ProgressLine, ATerminalThatDoesNotKnowItsWidthHasThatOfTheEnvironment) {
  const Terminal terminal(0);
  ASSERT_NE(terminal.stream(), nullptr);
  ASSERT_EQ(setenv("COLUMNS", "33", 1), 0);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(terminal_width(terminal.stream()), 33U);
  ASSERT_EQ(setenv("COLUMNS", "wide", 1), 0);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(terminal_width(terminal.stream()), 80U);
  ASSERT_EQ(unsetenv("COLUMNS"), 0);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(terminal_width(terminal.stream()), 80U);
}

}  // namespace
}  // namespace fedsinkhorn
