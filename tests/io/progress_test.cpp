#include "io/progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace fedsinkhorn {
namespace {

TEST(ProgressText, EstimatesTheTimeLeftFromTheDecay) {
  Progress now;
  now.iteration = 200;
  now.max_iterations = 1000000;
  now.seconds = 10;
  now.error_a = 1e5;  // of a point nobody keeps
  now.error_b = 1e-3;
  now.tolerance = 1e-9;
  // From 1e-1 to 1e-3 in 5 seconds: two decades. Six are left, so 15 seconds.
  const std::string text = progress_text(now, 5, 1e-1);
  EXPECT_NE(text.find("iteration 200"), std::string::npos) << text;
  EXPECT_NE(text.find("1.00e-03"), std::string::npos) << text;
  EXPECT_NE(text.find("20 it/s"), std::string::npos) << text;
  EXPECT_NE(text.find("about 15 s left"), std::string::npos) << text;
  // The iteration limit comes first if it is nearer.
  now.max_iterations = 240;
  EXPECT_NE(progress_text(now, 5, 1e-1).find("about 2.0 s left"), std::string::npos);
}

TEST(ProgressText, SaysThatErrorsAreThoseOfAnotherEpsilon) {
  Progress now;
  now.iteration = 10;
  now.max_iterations = 100;
  now.seconds = 1;
  now.epsilon = 0.025;
  EXPECT_EQ(progress_text(now, 0, 1).find("epsilon"), std::string::npos);
  now.is_on_the_way = true;
  EXPECT_NE(progress_text(now, 0, 1).find("at epsilon 0.025"), std::string::npos);
}

TEST(ProgressLine, WritesPlainLinesEverMoreRarelyWhereThereIsNoTerminal) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
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

}  // namespace
}  // namespace fedsinkhorn
