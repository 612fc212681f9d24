// The line through measured times of messages.
#include "costmodel/fit.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "core/random.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kAlpha = 50e-6;
constexpr double kBeta = 0.8e-9;

/// Eight sizes from 64 bytes to 1 MB, each timed several times. noise: of a time, relative.
std::vector<TimedBytes> timed(std::size_t repeats, double noise) {
  Random random(7);
  std::vector<TimedBytes> points;
  for (double bytes = 64; bytes <= 1 << 20; bytes *= 4) {
    for (std::size_t k = 0; k < repeats; ++k) {
      const double seconds = kAlpha + kBeta * bytes;
      points.push_back({bytes, seconds * (1 + noise * (2 * random.uniform() - 1))});
    }
  }
  return points;
}

TEST(FitLine, IsExactForExactTimes) {
  const LineFit fit = fit_line(timed(1, 0));
  EXPECT_NEAR(fit.alpha, kAlpha, 1e-9 * kAlpha);
  EXPECT_NEAR(fit.beta, kBeta, 1e-9 * kBeta);
  EXPECT_NEAR(fit.r_squared, 1, 1e-9);
}

TEST(FitLine, IsCloseForNoisyTimesAndSaysHowClose) {
  const LineFit fit = fit_line(timed(20, 0.05));
  EXPECT_NEAR(fit.alpha, kAlpha, 0.02 * kAlpha);
  EXPECT_NEAR(fit.beta, kBeta, 0.03 * kBeta);
  EXPECT_GT(fit.alpha_error, 0);
  EXPECT_GT(fit.beta_error, 0);
  EXPECT_NEAR(fit.alpha, kAlpha, 2 * fit.alpha_error);
  EXPECT_NEAR(fit.beta, kBeta, 2 * fit.beta_error);
  EXPECT_GT(fit.r_squared, 0.9);
}

// Every tenth message waited for another process.
TEST(FitLine, DoesNotCareAboutGrossOutliers) {
  std::vector<TimedBytes> points = timed(20, 0.05);
  for (std::size_t k = 3; k < points.size(); k += 10) points[k].seconds *= 50;
  const LineFit fit = fit_line(points);
  EXPECT_NEAR(fit.alpha, kAlpha, 0.05 * kAlpha);
  EXPECT_NEAR(fit.beta, kBeta, 0.05 * kBeta);
}

TEST(FitLine, IsNeverNegative) {
  const std::vector<TimedBytes> falling = {{100, 3e-6}, {1000, 2e-6}, {10000, 1e-6}};
  EXPECT_EQ(fit_line(falling).beta, 0);
  EXPECT_GT(fit_line(falling).alpha, 0);
  const std::vector<TimedBytes> below_the_origin = {{1000, 1e-9}, {2000, 1e-6}, {3000, 2e-6}, {4000, 3e-6}};
  const LineFit steep = fit_line(below_the_origin);
  EXPECT_GE(steep.alpha, 0);
  EXPECT_GT(steep.beta, 0);
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<TimedBytes> points;
    for (int k = 0; k < 6; ++k) points.push_back({1e4 * random.uniform(), 1e-6 + 1e-4 * random.uniform()});
    const LineFit fit = fit_line(points);
    EXPECT_GE(fit.alpha, 0);
    EXPECT_GE(fit.beta, 0);
    EXPECT_TRUE(std::isfinite(fit.alpha_error) && std::isfinite(fit.beta_error));
  }
}

TEST(FitLine, OfOnePointIsALatency) {
  const std::array<TimedBytes, 1> one = {{{4096, 7e-6}}};
  const LineFit fit = fit_line(one);
  EXPECT_DOUBLE_EQ(fit.alpha, 7e-6);
  EXPECT_EQ(fit.beta, 0);
  EXPECT_EQ(fit.alpha_error, 0);
}

TEST(FitLine, OfEqualBytesIsALatency) {
  const std::array<TimedBytes, 4> same = {{{512, 4e-6}, {512, 5e-6}, {512, 5e-6}, {512, 6e-6}}};
  const LineFit fit = fit_line(same);
  EXPECT_NEAR(fit.alpha, 5e-6, 0.5e-6);
  EXPECT_EQ(fit.beta, 0);
  EXPECT_TRUE(std::isfinite(fit.r_squared));
}

}  // namespace
}  // namespace fedsinkhorn
