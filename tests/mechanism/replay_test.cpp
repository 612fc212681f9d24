// Neighbouring data sets with the same past: what one record moves, release by release, is never more than the ledger
// says, and nothing less would do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "mechanism/tapped.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::kInfinity;
using testing::OwnedProblem;
using testing::Tapped;

constexpr std::uint64_t kPairs = 1000;

bool are_same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// What all see follows from releases: with the same past, it is the same to the last bit.
void expect_nothing_else_differs(const Released& one, const Released& other) {
  EXPECT_EQ(one.g, other.g);
  EXPECT_EQ(one.status, other.status);
  EXPECT_EQ(one.iterations, other.iterations);
  EXPECT_TRUE(are_same(one.error_b, other.error_b)) << one.error_b << " and " << other.error_b;
  EXPECT_TRUE(are_same(one.report.released_total, other.report.released_total));
  EXPECT_EQ(one.report.mu, other.report.mu);
}

/// How far the releases of two runs with the same past are apart, as shares of what the ledger says. Lines of the
/// ledger take turns.
struct Moved {
  double most = 0;
  std::size_t releases = 0;
};
Moved moved(const Tapped& one, const Tapped& other) {
  Moved moved;
  const std::vector<LedgerLine>& ledger = one.outcome.report.ledger;
  EXPECT_EQ(one.releases.size(), other.releases.size());
  for (std::size_t t = 0; t < one.releases.size(); ++t) {
    EXPECT_EQ(one.releases[t].released, other.releases[t].released);
    const double apart = testing::distance(one.releases[t].clean, other.releases[t].clean);
    moved.most = std::max(moved.most, apart / ledger.at(t % ledger.size()).sensitivity);
    ++moved.releases;
  }
  expect_nothing_else_differs(one.outcome, other.outcome);
  return moved;
}

void report(const char* name, double ratio) { ::testing::Test::RecordProperty(name, std::to_string(ratio)); }

/// Costs at random, of which some are forbidden; or nothing but one bin. needs_a_pair: not all are forbidden.
void draw_costs(Random& random, bool needs_a_pair, std::vector<double>& cost, std::size_t row, std::size_t m) {
  const auto kind = random.below(4);
  const std::size_t bin = random.below(m);
  for (std::size_t j = 0; j < m; ++j) {
    double& c = cost[row * m + j];
    c = kind == 0 ? (j == bin ? 0 : 1) : random.uniform(-1, 1);
    if (kind == 1 && !(needs_a_pair && j == bin) && random.below(2) == 0) c = kInfinity;
  }
}

OwnedProblem draw_problem(Random& random) {
  const std::size_t n = 1 + random.below(7);
  const std::size_t m = 1 + random.below(7);
  const std::size_t targets = random.below(2) == 0 ? 1 : 3;
  OwnedProblem problem = testing::random_problem(n, m, std::pow(10.0, random.uniform(-3, 2)), random.bits(), targets);
  for (std::size_t i = 0; i < n; ++i) draw_costs(random, true, problem.cost, i, m);
  return problem;
}

// ---------------------------------------------------------------------------------------------------------------------
// Mechanism marginal: one record is a row, with its costs and its mass

/// A record of a random problem is replaced. Returns by how much its releases move, as a share of what the ledger says.
Moved replace_a_record(std::uint64_t seed) {
  Random random(seed, 1);
  OwnedProblem problem = draw_problem(random);
  Options options = testing::alone_with("marginal", std::pow(10.0, random.uniform(-4, 0)), 1 + random.below(6));
  const bool is_uniform = random.below(3) == 0;
  const double room = random.below(2) == 0 ? 1 : 1.1;
  if (!is_uniform) options.record_mass = std::min(1.0, std::ranges::max(problem.a) * room);
  const auto view_of = [&](const OwnedProblem& owned) {
    Problem view = owned.view();
    if (is_uniform) view.a = {};
    return view;
  };
  const Tapped one = testing::record(view_of(problem), options, seed);
  OwnedProblem other = problem;
  const std::size_t row = random.below(problem.n);
  draw_costs(random, false, other.cost, row, problem.m);
  if (random.below(2) == 0) other.a[row] = random.uniform() * options.record_mass;
  return moved(one, testing::replay(view_of(other), options, one.releases));
}

TEST(MarginalReplay, ARecordMovesNoMoreThanTheLedgerSays) {
  double most = 0;
  std::size_t releases = 0;
  for (std::uint64_t seed = 1; seed <= kPairs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Moved by = replace_a_record(seed);
    EXPECT_LE(by.most, 1);
    most = std::max(most, by.most);
    releases += by.releases;
  }
  EXPECT_GT(releases, 3 * kPairs);
  EXPECT_GE(most, 0.9);
  report("largest_ratio", most);
}

/// Three records; all of the last one's mass goes to one bin.
OwnedProblem with_a_record_in(std::size_t bin, std::size_t targets, double epsilon) {
  OwnedProblem problem{3, 4, targets, std::vector<double>(12, 1.0), {0.3, 0.2, 0.5}, {}, epsilon};
  for (const std::size_t i : {0U, 1U}) problem.cost[i * 4 + i] = 0;
  for (std::size_t j = 0; j < 4; ++j) problem.cost[8 + j] = j == bin ? 0 : kInfinity;
  problem.b.assign(4 * targets, 0.25);
  return problem;
}

TEST(MarginalReplay, NothingLessWouldDo) {
  for (const std::size_t targets : {1U, 3U}) {
    for (const double epsilon : {0.02, 1.0, 100.0}) {
      SCOPED_TRACE(std::to_string(targets) + " targets, epsilon " + std::to_string(epsilon));
      Options options = testing::alone_with("marginal", 0.01, 5);
      options.record_mass = 0.5;
      const Tapped one = testing::record(with_a_record_in(2, targets, epsilon).view(), options, 7);
      const Tapped other = testing::replay(with_a_record_in(3, targets, epsilon).view(), options, one.releases);
      const double most = moved(one, other).most;
      EXPECT_LE(most, 1);
      EXPECT_GE(most, 0.999999);
      EXPECT_NEAR(one.outcome.report.sensitivity, 0.5 * std::sqrt(2.0 * static_cast<double>(targets)), 1e-7);
    }
  }
}

// A hundred records go to the first bin; then one of them goes to another. 100 times 0.01 is more than 1
// by rounding.
TEST(MarginalReplay, AllRecordsInOneBin) {
  constexpr std::size_t kRecords = 100;
  OwnedProblem problem{kRecords, 2, 1, {}, {}, {0.5, 0.5}, 0.001};
  for (std::size_t i = 0; i < kRecords; ++i) problem.cost.insert(problem.cost.end(), {0, 1});
  const auto uniform = [&] {
    Problem view = problem.view();
    view.a = {};
    return view;
  };
  const Options options = testing::alone_with("marginal", 0.01, 1);
  const Tapped one = testing::record(uniform(), options, 7);
  EXPECT_NEAR(one.releases[0].clean[0], 1, 1e-9);
  std::swap(problem.cost[0], problem.cost[1]);
  const double most = moved(one, testing::replay(uniform(), options, one.releases)).most;
  EXPECT_LE(most, 1);
  EXPECT_GE(most, 0.999);
}

// Costs below 0 count as 0, those above the bound as the bound.
TEST(MarginalReplay, TheCostMovesNoMoreThanTheLedgerSays) {
  double most = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 2);
    OwnedProblem problem = draw_problem(random);
    problem.targets = 1;
    problem.b.assign(problem.m, 1.0 / static_cast<double>(problem.m));
    Options options = testing::alone_with("marginal", 0.01, 2);
    options.record_mass = std::min(1.0, std::ranges::max(problem.a));
    options.cost_bound = 1;
    const Tapped one = testing::record(problem.view(), options, 1);
    OwnedProblem other = problem;
    const auto row = static_cast<std::size_t>(std::ranges::max_element(problem.a) - problem.a.begin());
    for (std::size_t j = 0; j < problem.m; ++j) {
      problem.cost[row * problem.m + j] = 3;
      other.cost[row * problem.m + j] = -1;
    }
    const Tapped high = testing::replay(problem.view(), options, one.releases);
    const Tapped low = testing::replay(other.view(), options, one.releases);
    ASSERT_EQ(high.outcome.report.ledger.size(), 2U);
    const double apart = std::abs(high.releases.back().clean[0] - low.releases.back().clean[0]);
    const double ratio = apart / high.outcome.report.ledger[1].sensitivity;
    EXPECT_LE(ratio, 1);
    most = std::max(most, ratio);
  }
  EXPECT_GE(most, 0.999);
}

// ---------------------------------------------------------------------------------------------------------------------
// Mechanism scalings: one record is behind some entries of a or b

/// Another mass in so many places; also none, and a thousand times as much.
void change_masses(Random& random, std::size_t places, std::vector<double>& masses) {
  for (std::size_t k = 0; k < places; ++k) {
    double& mass = masses[(k + places) % masses.size()];
    switch (random.below(3)) {
      case 0: mass = 0; break;
      case 1: mass *= 1000; break;
      default: mass = random.uniform();
    }
  }
}

/// Any clip, S from far below a row's numbers to far above.
Options draw_scalings(Random& random) {
  Options options = testing::alone_with("scalings", std::pow(10.0, random.uniform(-3, 1)), 1 + random.below(6));
  options.clip = std::pow(10.0, random.uniform(-2, 2));
  options.clip_kind = random.below(3) == 0 ? ClipKind::slice : ClipKind::rows;
  options.centre = random.below(2) == 0;
  options.release_every = random.below(4) == 0 ? 2 : 1;
  return options;
}

TEST(ScalingsReplay, ARecordMovesNoMoreThanTheLedgerSays) {
  double most = 0;
  std::size_t releases = 0;
  for (std::uint64_t seed = 1; seed <= kPairs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 3);
    const OwnedProblem problem = draw_problem(random);
    Options options = draw_scalings(random);
    const bool moves_rows = random.below(2) == 0;
    const std::size_t lines = moves_rows ? problem.n : problem.m;
    std::size_t places = 1 + random.below(lines);
    if (options.clip_kind == ClipKind::rows && options.release_every == 1) options.rows_moved = std::to_string(places);
    OwnedProblem other = problem;
    // Of b, a line has a mass for each target.
    if (moves_rows) change_masses(random, places, other.a);
    for (std::size_t j = 0; !moves_rows && j < places * problem.targets; ++j) other.b[j] *= random.uniform(0, 2);
    const Tapped one = testing::record(problem.view(), options, seed);
    const Moved by = moved(one, testing::replay(other.view(), options, one.releases));
    EXPECT_LE(by.most, 1);
    most = std::max(most, by.most);
    releases += by.releases;
  }
  EXPECT_GT(releases, 3 * kPairs);
  EXPECT_GE(most, 0.9);
  report("largest_ratio", most);
}

// Given what was released before, a row depends on its own mass alone, and log v not on a at all.
TEST(ScalingsReplay, OnlyTheRowsOfTheRecordMove) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 4);
    const OwnedProblem problem = draw_problem(random);
    Options options = draw_scalings(random);
    options.clip_kind = ClipKind::rows;
    options.release_every = 1;
    OwnedProblem other = problem;
    const std::size_t row = random.below(problem.n);
    other.a[row] *= 2;
    const Tapped one = testing::record(problem.view(), options, seed);
    const Tapped two = testing::replay(other.view(), options, one.releases);
    for (std::size_t t = 0; t < one.releases.size(); ++t) {
      const bool is_of_rows = t % 2 == 0;
      for (std::size_t i = 0; i < one.releases[t].clean.size(); ++i) {
        if (is_of_rows && i % problem.n == row) continue;
        EXPECT_EQ(one.releases[t].clean[i], two.releases[t].clean[i]) << "release " << t << ", number " << i;
      }
    }
  }
}

// Every number of every slice has noise of its own, of the size that the ledger says.
TEST(ScalingsNoise, IsWhatTheLedgerSays) {
  constexpr std::size_t kIterations = 2000;
  const OwnedProblem problem = testing::random_problem(4, 3, 0.5, 9, 2);
  Options options = testing::alone_with("scalings", 0.3, kIterations);
  options.clip = 2;
  for (const bool centre : {false, true}) {
    options.centre = centre;
    const Tapped tapped = testing::record(problem.view(), options, 21);
    ASSERT_EQ(tapped.releases.size(), 2 * kIterations);
    for (const std::size_t half : {0U, 1U}) {
      const std::size_t numbers = tapped.releases[half].clean.size();
      EXPECT_EQ(numbers, 2 * (half == 0 ? problem.n : problem.m));
      for (std::size_t i = 0; i < numbers; ++i) {
        double sum = 0;
        double with_next = 0;
        for (std::size_t t = half; t < tapped.releases.size(); t += 2) {
          const testing::Release& release = tapped.releases[t];
          const auto noise = [&](std::size_t k) { return (release.released[k] - release.clean[k]) / 0.3; };
          sum += noise(i) * noise(i) / kIterations;
          with_next += noise(i) * noise((i + 1) % numbers) / kIterations;
        }
        EXPECT_NEAR(sum, 1, 5 * std::sqrt(2.0 / kIterations)) << i;
        EXPECT_NEAR(with_next, 0, 5 * std::sqrt(1.0 / kIterations)) << i;
        EXPECT_NEAR(tapped.outcome.report.ledger.at(half).sigma, 0.3, 1e-9);
      }
    }
  }
}

/// Every entry of a far from what it was: all rows are clipped, on one side or on the other.
class ManyRowsMoved : public ::testing::Test {
 protected:
  static constexpr std::size_t kRows = 9;

  /// In units of 2 S, which is what the paper claims.
  double moved_by(const std::string& rows_moved, ClipKind kind = ClipKind::rows) {
    Options options = testing::alone_with("scalings", 1e-3, 3);
    options.clip = 0.5;
    options.clip_kind = kind;
    options.rows_moved = rows_moved;
    const Tapped one = testing::record(problem_.view(), options, 5);
    OwnedProblem other = problem_;
    for (double& mass : other.a) mass *= 1e-6;
    share_of_ledger_ = moved(one, testing::replay(other.view(), options, one.releases)).most;
    return share_of_ledger_ * one.outcome.report.ledger.at(0).sensitivity / (2 * options.clip);
  }

  OwnedProblem problem_ = [] {
    OwnedProblem problem = testing::random_problem(kRows, 4, 0.5, 3);
    for (double& mass : problem.a) mass *= 1e6;
    return problem;
  }();
  double share_of_ledger_ = 0;
};

TEST_F(ManyRowsMoved, ThePapersReadingDoesNotHold) {
  EXPECT_NEAR(moved_by("paper"), std::sqrt(kRows), 1e-9);
  EXPECT_NEAR(share_of_ledger_, std::sqrt(kRows), 1e-6);
}

TEST_F(ManyRowsMoved, WithAsManyRowsItDoes) {
  for (const char* rows_moved : {"all", "9", "1000"}) {
    EXPECT_NEAR(moved_by(rows_moved), std::sqrt(kRows), 1e-9) << rows_moved;
    EXPECT_LE(share_of_ledger_, 1) << rows_moved;
    EXPECT_GE(share_of_ledger_, 0.99999) << rows_moved;
  }
  EXPECT_NEAR(moved_by("8"), std::sqrt(kRows), 1e-9);
  EXPECT_GT(share_of_ledger_, 1.01);
}

TEST_F(ManyRowsMoved, ASliceClippedAsAWholeMovesAsOne) {
  EXPECT_GE(moved_by("all", ClipKind::slice), 0.9);
  EXPECT_LE(share_of_ledger_, 1);
}

}  // namespace
}  // namespace fedsinkhorn
