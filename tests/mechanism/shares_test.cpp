// Noise in shares: what all clients add together, and what is left for those who know a part of it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "fedsinkhorn/solve.hpp"
#include "privacy/grid_noise.hpp"
#include "support/problems.hpp"
#include "support/transcript.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

constexpr double kSigma = 2e-4;
constexpr std::size_t kColumns = 300;
constexpr std::size_t kRuns = 20;
/// Five standard deviations of the mean of so many squares of normal numbers.
const double kMargin = 5 * std::sqrt(2.0 / (kColumns * kRuns));

struct Case {
  std::size_t clients;
  std::size_t colluding;
};
void PrintTo(const Case& one, std::ostream* stream) { *stream << one.clients << " clients, " << one.colluding; }

class NoiseInShares : public ::testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static Options options_of(const Case& one, std::size_t seed) {
    Options options;
    options.policy = "private";
    options.clients = one.clients;
    options.colluding = one.colluding;
    options.topology = one.clients == 1 ? "centralized" : "row-reduce";
    options.noise = kSigma;
    options.releases = 1;
    options.noise_seed = seed;
    options.threads = 1;
    return options;
  }
  [[nodiscard]] Problem uniform() const {
    Problem view = problem_.view();
    view.a = {};
    view.b = {};
    return view;
  }

  /// The columns' plan mass where g is 0, as the formula has it.
  [[nodiscard]] std::vector<double> clean() const {
    std::vector<double> mass(kColumns);
    for (std::size_t i = 0; i < problem_.n; ++i) {
      double sum = 0;
      const auto factor = [&](std::size_t j) { return std::exp(-problem_.cost[i * kColumns + j] / problem_.epsilon); };
      for (std::size_t j = 0; j < kColumns; ++j) sum += factor(j);
      for (std::size_t j = 0; j < kColumns; ++j) mass[j] += factor(j) / sum / static_cast<double>(problem_.n);
    }
    return mass;
  }

  /// What was released, taken back from g = epsilon log(b / released).
  [[nodiscard]] std::vector<double> released(const Result& result) const {
    std::vector<double> mass(kColumns);
    for (std::size_t j = 0; j < kColumns; ++j) mass[j] = std::exp(-result.g[j] / problem_.epsilon) / kColumns;
    return mass;
  }

  /// What that client has added, as anybody can tell who knows its bits.
  [[nodiscard]] static std::vector<double> added_by(std::size_t client, const Case& one, std::size_t seed) {
    const GridNoise noise(kSigma / std::sqrt(static_cast<double>(one.clients - one.colluding)));
    SeededBits bits(seed, client);
    std::vector<double> numbers(kColumns);
    for (double& number : numbers) number = noise.number(noise.blur(0, bits));
    return numbers;
  }

  OwnedProblem problem_ = testing::random_problem(40, kColumns, 1, 17);
};

INSTANTIATE_TEST_SUITE_P(Clients, NoiseInShares,
                         ::testing::Values(Case{1, 0}, Case{2, 0}, Case{5, 0}, Case{20, 0}, Case{2, 1}, Case{5, 3},
                                           Case{20, 10}),
                         [](const auto& info) {
                           return std::to_string(info.param.clients) + "With" + std::to_string(info.param.colluding);
                         });

TEST_P(NoiseInShares, AddUpToWhatTheReportSays) {
  const Case one = GetParam();
  const std::vector<double> mass = clean();
  double all = 0;
  double without_first = 0;
  double without_others = 0;
  double left = 0;
  PrivacyReport report;
  for (std::size_t seed = 1; seed <= kRuns; ++seed) {
    const Result result = solve(uniform(), options_of(one, seed));
    report = result.privacy;
    std::vector<double> noise = released(result);
    for (std::size_t j = 0; j < kColumns; ++j) noise[j] -= mass[j];
    std::vector<std::vector<double>> added;
    for (std::size_t k = 0; k < one.clients; ++k) added.push_back(added_by(k, one, seed));
    for (std::size_t j = 0; j < kColumns; ++j) {
      double rest = noise[j];
      all += rest * rest / (kColumns * kRuns);
      without_first += std::pow(rest - added[0][j], 2) / (kColumns * kRuns);
      for (std::size_t k = 0; k + 1 < one.clients; ++k) rest -= added[k][j];
      without_others += rest * rest / (kColumns * kRuns);
      left = std::max(left, std::abs(rest - added.back()[j]));
    }
  }
  const auto c = static_cast<double>(one.clients);
  const double share = kSigma * kSigma / (c - static_cast<double>(one.colluding));
  EXPECT_NEAR(all / (c * share), 1, kMargin);
  EXPECT_LE(left, 1e-12) << "there is other noise than the shares";
  // What the colluding ones cannot subtract is what the budget was charged for.
  EXPECT_NEAR(report.sigma, kSigma, 1e-8 * kSigma);
  if (one.clients == 1) return;
  ASSERT_EQ(report.views.size(), one.clients > 2 ? 3U : 2U);
  EXPECT_NEAR(all / std::pow(report.views[0].sigma, 2), 1, kMargin);
  EXPECT_NEAR(without_first / std::pow(report.views[1].sigma, 2), 1, kMargin);
  EXPECT_NEAR(without_others / std::pow(report.views.back().sigma, 2), 1, kMargin);
  for (std::size_t k = 1; k < report.views.size(); ++k) {
    EXPECT_GT(report.views[k].epsilon_exact, report.views[k - 1].epsilon_exact);
  }
}

class NoiseOfAll : public NoiseInShares {};
INSTANTIATE_TEST_SUITE_P(Clients, NoiseOfAll, ::testing::Values(Case{2, 0}, Case{5, 3}, Case{20, 0}),
                         [](const auto& info) { return std::to_string(info.param.clients); });

TEST_P(NoiseOfAll, EveryClientHasTheSameG) {
  Options options = options_of(GetParam(), 0);
  options.noise = 1e-3;
  options.releases = 4;
  const std::vector<Problem> problems(GetParam().clients, uniform());
  const testing::Recording recording = testing::record_solve(problems, options);
  const testing::Recording again = testing::record_solve(problems, options);
  for (const Result& result : recording.results) {
    EXPECT_EQ(result.g, recording.results[0].g);
    EXPECT_EQ(result.iterations, 4);
    EXPECT_NE(result.g, again.results[0].g) << "the noise is the same again";
  }
}

}  // namespace
}  // namespace fedsinkhorn
