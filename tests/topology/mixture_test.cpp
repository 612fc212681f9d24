#include "topology/mixture.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/random.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

using testing::kInfinity;

/// log v = L_k - sum_i gamma_i (L_{i+1} - L_i), entry by entry.
std::vector<double> obvious_mixture(const std::vector<std::vector<double>>& logs, const std::vector<double>& gamma) {
  std::vector<double> v;
  for (std::size_t j = 0; j < logs.back().size(); ++j) {
    double log_v = logs.back()[j];
    for (std::size_t i = 0; i < gamma.size(); ++i) log_v -= gamma[i] * (logs[i + 1][j] - logs[i][j]);
    v.push_back(std::isinf(logs.back()[j]) ? 0.0 : std::exp(log_v));
  }
  return v;
}

// Images are dropped and their memory is used again; where there is no mass v stays 0.
TEST(Mixture, IsThatOfTheFormulaBitByBit) {
  constexpr std::size_t kImages = 3;
  for (const std::size_t size : {0U, 1U, 3U, 4U, 5U, 7U, 127U, 128U, 129U, 1000U, 1003U}) {
    Random random(size + 1);
    ImageHistory history;
    std::vector<std::vector<double>> logs;
    for (int round = 0; round < 7; ++round) {
      std::vector<double> v(size);
      std::vector<double> log_v(size, -kInfinity);
      for (std::size_t j = 0; j < size; ++j) {
        if (j % 5 == 2) continue;
        v[j] = random.uniform(0.1, 10);
        log_v[j] = std::log(v[j]);
      }
      logs.push_back(log_v);
      if (logs.size() > kImages) logs.erase(logs.begin());
      Mixture mixture{true, kImages, {}};
      for (std::size_t i = 0; i + 1 < logs.size(); ++i) mixture.gamma.push_back(random.uniform(-2, 2));
      const std::vector<double> expected = mixture.gamma.empty() ? v : obvious_mixture(logs, mixture.gamma);
      history.mix(0, mixture, v);
      for (std::size_t j = 0; j < size; ++j) {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(v[j]), std::bit_cast<std::uint64_t>(expected[j])) << size << ", " << j;
      }
    }
    // A round that is rejected leaves the images as they are.
    std::vector<double> rejected(size, 1.0);
    history.mix(0, {false, 0, {0.5, 0.25}}, rejected);
    EXPECT_EQ(rejected, obvious_mixture(logs, {0.5, 0.25}));
  }
}

/// Keeps up to three images and steps back to the one before: gamma = 1 with two images, (0, 1) with three.
std::vector<double> step_back(ImageHistory& history, std::size_t slot, std::vector<double> v, std::size_t differences) {
  Mixture mixture{true, 3, std::vector<double>(differences)};
  if (differences > 0) mixture.gamma.back() = 1;
  history.mix(slot, mixture, v);
  return v;
}

void expect_near_mixture(const std::vector<double>& x, const std::vector<double>& y) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(x[j], y[j], 1e-15 * y[j]) << j;
}

TEST(ImageHistory, ARejectedFirstRoundIsWhatItIs) {
  ImageHistory history;
  std::vector<double> v = {2, 3};
  history.mix(0, {false, 0, {}}, v);
  EXPECT_EQ(v, (std::vector<double>{2, 3}));
}

TEST(ImageHistory, TargetsHaveImagesOfTheirOwnAndMoveDown) {
  ImageHistory history;
  for (std::size_t slot = 0; slot < 3; ++slot) {
    const double x = 10.0 + static_cast<double>(slot);
    EXPECT_EQ(step_back(history, slot, {x, 2 * x}, 0), (std::vector<double>{x, 2 * x}));
  }
  history.remove(1);
  expect_near_mixture(step_back(history, 0, {1, 1}, 1), {10, 20});
  expect_near_mixture(step_back(history, 1, {1, 1}, 1), {12, 24});  // of the third target, which is the second now
  EXPECT_EQ(step_back(history, 2, {5, 6}, 0), (std::vector<double>{5, 6}));
}

TEST(ImageHistory, WhatIsForgottenIsNotMixed) {
  ImageHistory history;
  (void)step_back(history, 0, {10, 20}, 0);
  history.forget();
  (void)step_back(history, 0, {3, 4}, 0);
  expect_near_mixture(step_back(history, 0, {1, 1}, 1), {3, 4});
}

}  // namespace
}  // namespace fedsinkhorn
