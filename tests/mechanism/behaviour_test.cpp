// Private runs as their users see them: budgets that are kept, seeds, stops, losses, and awkward data.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "mechanism/ways.hpp"
#include "privacy/gaussian_accounting.hpp"
#include "support/line_of.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using test::line_of;
using testing::kInfinity;
using testing::OwnedProblem;
using testing::Way;

const OwnedProblem& small() {
  static const OwnedProblem problem = testing::random_problem(30, 8, 0.1, 5);
  return problem;
}

/// With a mass for every record, as far as the mechanism allows.
Problem view_of(const Way& way, const OwnedProblem& owned) {
  Problem view = owned.view();
  if (way.mechanism == "marginal") view.a = {};
  return view;
}

/// By the client that made most: without waiting, they differ, and the first to be ready ends it for all.
std::int64_t most_iterations(const Result& result) {
  std::int64_t most = 0;
  for (const ClientReport& client : result.clients) most = std::max(most, client.iterations);
  return most;
}

class PrivateRun : public ::testing::TestWithParam<Way> {
 protected:
  [[nodiscard]] Options options(std::size_t releases, double noise, std::size_t clients = 3) const {
    return testing::options_of(GetParam(), clients, releases, noise);
  }
  [[nodiscard]] Result run(const Options& options) const { return solve(view_of(GetParam(), small()), options); }
};
INSTANTIATE_TEST_SUITE_P(Ways, PrivateRun, ::testing::ValuesIn(testing::private_ways()),
                         [](const auto& info) { return testing::name_of(info.param); });

// ---------------------------------------------------------------------------------------------------------------------
// Budgets

TEST_P(PrivateRun, StopsBeforeTheReleaseThatWouldExceedTheBudget) {
  Options unlimited = options(1, GetParam().mechanism == "marginal" ? 0.1 : 100);
  // Without waiting, a client may be told to end between the two releases of an iteration.
  if (testing::is_asynchronous(GetParam())) unlimited.topology = "all-to-all";
  const double mu_of_one = run(unlimited).privacy.mu;
  for (const double affordable : {3.02, 7.5}) {
    Options limited = options(1000, unlimited.noise);
    limited.budget = {exact_epsilon(mu_of_one * std::sqrt(affordable), 1e-5), 1e-5};
    const Result result = run(limited);
    EXPECT_EQ(result.status, Status::budget_spent);
    EXPECT_EQ(most_iterations(result), static_cast<std::int64_t>(affordable));
    EXPECT_LE(result.privacy.epsilon_exact, limited.budget[0]);
    EXPECT_EQ(result.privacy.delta, 1e-5);
    EXPECT_EQ(result.privacy.epsilon_budget, limited.budget[0]);
    if (testing::is_asynchronous(GetParam())) continue;
    const double one_more = std::sqrt(1 + 1 / std::floor(affordable));
    EXPECT_GT(exact_epsilon(result.privacy.mu * one_more, 1e-5), limited.budget[0]);
  }
}

TEST_P(PrivateRun, ABudgetTooSmallForOneReleaseIsRefused) {
  Options tiny = options(1000, 0.1);
  tiny.budget = {1e-3, 1e-6};
  try {
    (void)run(tiny);
    FAIL() << "it released something";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("the first iteration alone costs epsilon"), std::string::npos)
        << error.what();
  }
}

TEST_P(PrivateRun, CalibratedNoiseSpendsTheBudget) {
  for (const double epsilon : {0.1, 1.0, 10.0}) {
    for (const std::size_t releases : {1U, 7U}) {
      Options calibrated = options(releases, 0);
      calibrated.budget = {epsilon, 1e-6};
      const Result result = run(calibrated);
      EXPECT_LE(result.privacy.epsilon_exact, epsilon);
      EXPECT_EQ(most_iterations(result), static_cast<std::int64_t>(releases));
      if (result.iterations == most_iterations(result)) {
        EXPECT_GT(result.privacy.epsilon_exact, 0.999 * epsilon);
      }
      // Who accounts for it in another way comes to more, never to less.
      EXPECT_GE(result.privacy.epsilon_rdp, result.privacy.epsilon_exact);
      EXPECT_GE(result.privacy.epsilon_rdp_paper, result.privacy.epsilon_rdp);
    }
  }
}

// Noise far larger than what it hides: rounding to its grid counts, too.
TEST(PrivateBudget, IsSpentHoweverSmall) {
  const OwnedProblem owned = testing::random_problem(5000, 4, 0.5, 6);
  Options options = testing::options_of({"marginal", "row-reduce"}, 2, 4, 0);
  for (const double epsilon : {1e-3, 0.01, 50.0}) {
    options.budget = {epsilon, 1e-9};
    const Result result = solve(view_of({"marginal", ""}, owned), options);
    EXPECT_EQ(result.iterations, 4) << epsilon;
    EXPECT_LE(result.privacy.epsilon_exact, epsilon);
    EXPECT_GT(result.privacy.epsilon_exact, 0.999 * epsilon);
  }
}

void expect_scalings_spend(double epsilon) {
  const OwnedProblem owned = testing::random_problem(5000, 4, 0.5, 6);
  Options options = testing::options_of({"scalings", "all-to-all"}, 2, 4, 0);
  options.rows_moved = "paper";
  options.budget = {epsilon, 1e-9};
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.iterations, 4);
  EXPECT_LE(result.privacy.epsilon_exact, epsilon);
  EXPECT_GT(result.privacy.epsilon_exact, 0.999 * epsilon);
}

TEST(PrivateBudget, OfScalingsIsSpent) { expect_scalings_spend(5); }

// Rounding to the grid moves slices of n rows by 2^-30 sigma sqrt(n), relative to S: much if sigma is large.
TEST(PrivateBudget, OfScalingsIsSpentHoweverSmall) { expect_scalings_spend(0.001); }

TEST(PrivateBudget, LeavesRoomForTheCost) {
  Options options = testing::options_of({"marginal", "row-reduce"}, 3, 100, 0.2);
  options.cost_bound = 1;
  options.budget = {5, 1e-6};
  const Result result = solve(view_of({"marginal", ""}, small()), options);
  ASSERT_EQ(result.privacy.ledger.size(), 2U);
  EXPECT_EQ(result.privacy.ledger[1].count, 1);
  EXPECT_EQ(result.privacy.releases, result.iterations + 1);
  EXPECT_LE(result.privacy.epsilon_exact, 5);
  EXPECT_GT(result.iterations, 3);
  EXPECT_LT(result.iterations, 100);
  EXPECT_EQ(result.cost.linear, result.privacy.released_cost);
}

TEST(PrivateBudget, AReleasedCostIsThatOfThePlan) {
  const OwnedProblem owned = testing::random_problem(2000, 6, 0.1, 8);
  Options options = testing::options_of({"marginal", "row-reduce"}, 2, 30, 1e-6);
  options.cost_bound = 1;
  const Problem problem = view_of({"marginal", ""}, owned);
  const Result result = solve(problem, options);
  EXPECT_NEAR(result.cost.linear, solve(problem).cost.linear, 1e-4);
}

// ---------------------------------------------------------------------------------------------------------------------
// Seeds and guarantees

TEST_P(PrivateRun, ASeedRepeatsItsNoiseAndIsNotPrivate) {
  if (testing::is_asynchronous(GetParam())) return;  // it depends on time as well
  Options seeded = options(6, 0.01);
  seeded.noise_seed = 7;
  const Result one = run(seeded);
  const Result two = run(seeded);
  EXPECT_EQ(one.f, two.f);
  EXPECT_EQ(one.g, two.g);
  EXPECT_FALSE(one.privacy.is_private);
  EXPECT_NE(one.privacy.why_not.find("seed"), std::string::npos);
  seeded.noise_seed = 8;
  EXPECT_NE(run(seeded).g, one.g);
}

TEST_P(PrivateRun, WithoutASeedNoTwoAreTheSame) {
  const Result one = run(options(3, 0.01));
  const Result two = run(options(3, 0.01));
  EXPECT_NE(one.f, two.f);
  EXPECT_NE(one.g, two.g);
  EXPECT_TRUE(one.privacy.is_private);
  EXPECT_EQ(one.privacy.why_not, "");
}

TEST_P(PrivateRun, IsCalledPrivateUpToAnEpsilon) {
  Options little = options(3, 0.01);
  little.private_up_to = Options{}.private_up_to;
  EXPECT_EQ(little.private_up_to, 10);
  const Result result = run(little);
  EXPECT_GT(result.privacy.epsilon_exact, 10);
  EXPECT_FALSE(result.privacy.is_private);
  EXPECT_NE(result.privacy.why_not.find("epsilon"), std::string::npos) << result.privacy.why_not;
  little.private_up_to = 2 * result.privacy.epsilon_exact + 100;
  EXPECT_TRUE(run(little).privacy.is_private);
}

TEST_P(PrivateRun, IsNotCalledPrivateIfItsBoundMayFail) {
  Options often = options(3, 0.01);
  often.delta = 0.5;
  const Result result = run(often);
  EXPECT_FALSE(result.privacy.is_private);
  EXPECT_NE(result.privacy.why_not.find("delta"), std::string::npos) << result.privacy.why_not;
}

TEST(PrivateScalings, WithoutAClipThereIsNoGuarantee) {
  Options options = testing::options_of({"scalings", "all-to-all"}, 3, 3, 0.01);
  options.clip = 0;
  options.clip_kind = ClipKind::none;
  const Result result = solve(small().view(), options);
  EXPECT_FALSE(result.privacy.is_private);
  EXPECT_NE(result.privacy.why_not.find("nothing is clipped"), std::string::npos);
  EXPECT_TRUE(std::isinf(result.privacy.epsilon_exact));
  EXPECT_TRUE(std::isinf(result.privacy.sensitivity));
}

TEST(PrivateScalings, NamesTheRowsARecordMayMove) {
  const auto report = [](const std::string& rows_moved, ClipKind kind) {
    Options options = testing::options_of({"scalings", "all-to-all"}, 3, 1, 10);
    options.rows_moved = rows_moved;
    options.clip_kind = kind;
    return solve(small().view(), options).privacy;
  };
  // Slices have 10 rows and 3 columns at most.
  EXPECT_NEAR(report("all", ClipKind::rows).sensitivity, 20 * std::sqrt(10.0), 1e-5);
  EXPECT_NEAR(report("2", ClipKind::rows).sensitivity, 20 * std::sqrt(2.0), 1e-5);
  EXPECT_NEAR(report("paper", ClipKind::rows).sensitivity, 20, 1e-5);
  EXPECT_NEAR(report("all", ClipKind::slice).sensitivity, 20, 1e-5);
  EXPECT_EQ(report("all", ClipKind::rows).rows_moved, 10U);
  EXPECT_EQ(report("paper", ClipKind::rows).rows_moved, 1U);
  EXPECT_NE(report("paper", ClipKind::rows).unit.find("the paper's reading"), std::string::npos);
}

// Client 0 is slow: the others have released more than it has. What the run guarantees is what they can claim.
TEST(PrivateScalings, TheReportIsThatOfTheClientThatReleasedMost) {
  Options options = testing::options_of({"scalings", "async"}, 3, 20, 10);
  options.transport = "simulated";
  options.timeout = 1e6;
  options.max_staleness = 1000;
  options.scenario.seconds_per_entry = 1e-6;
  options.scenario.clients = {{.client = 0, .slower = 1000}};
  const Result result = solve(small().view(), options);
  ASSERT_EQ(most_iterations(result), 20);
  EXPECT_EQ(result.privacy.releases, 40);
  EXPECT_GT(result.privacy.epsilon_exact, 0);
}

// ---------------------------------------------------------------------------------------------------------------------
// Stops and losses

TEST_P(PrivateRun, AStopBeforeTheFirstReleaseIsThrown) {
  const std::atomic<bool> stop = true;
  Options interrupted = options(20'000, 0.1);
  interrupted.interrupt = &stop;
  EXPECT_THROW((void)run(interrupted), Interrupted);
}

TEST_P(PrivateRun, AStopEndsTheReleases) {
  std::atomic<bool> stop = false;
  Options interrupted = options(20'000, 0.1);
  interrupted.interrupt = &stop;
  interrupted.on_check = [&](const Progress& now) {
    if (now.iteration >= 5) stop = true;
  };
  const Result result = run(interrupted);
  EXPECT_EQ(result.status, Status::interrupted);
  EXPECT_GE(result.iterations, 5);
  EXPECT_LT(result.iterations, 20'000);
  EXPECT_GE(result.privacy.releases, result.iterations);
  for (const double g : result.g) EXPECT_TRUE(std::isfinite(g));
}

TEST_P(PrivateRun, ALostClientIsNamed) {
  Options lossy = options(100'000, 0.1);
  lossy.transport = "simulated";
  lossy.timeout = 5;
  lossy.scenario.seconds_per_entry = 1e-6;
  std::size_t named = 0;
  for (const double lost_at : {0.0, 1e-4, 1e-3, 0.01}) {
    lossy.scenario.clients = {{.client = 1, .lost_at = lost_at}};
    SCOPED_TRACE(lost_at);
    try {
      (void)run(lossy);
      ADD_FAILURE() << "it ended as if nobody were missing";
    } catch (const ClientLost& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      named += error.lost() == std::vector<std::size_t>{1} ? 1 : 0;
    }
  }
  EXPECT_EQ(named, 4U);
}

TEST_P(PrivateRun, ASlowNetworkChangesNoBit) {
  if (testing::is_asynchronous(GetParam())) return;
  Options seeded = options(6, 0.01);
  seeded.noise_seed = 7;
  const Result expected = run(seeded);
  seeded.transport = "simulated";
  seeded.timeout = 1e6;
  seeded.scenario.latency = HeavyTailedLaw{1e-3, 0.8};
  const Result result = run(seeded);
  EXPECT_EQ(result.f, expected.f);
  EXPECT_EQ(result.g, expected.g);
}

// ---------------------------------------------------------------------------------------------------------------------
// Awkward data

/// Finite where there is mass, and no NaN anywhere.
void expect_sound(const Result& result, const OwnedProblem& owned) {
  ASSERT_EQ(result.f.size(), owned.n);
  ASSERT_EQ(result.g.size(), owned.m * owned.targets);
  for (const double f : result.f) EXPECT_FALSE(std::isnan(f));
  for (std::size_t j = 0; j < result.g.size(); ++j) EXPECT_FALSE(std::isnan(result.g[j])) << j;
  EXPECT_GT(most_iterations(result), 0);
}

TEST_P(PrivateRun, MoreClientsThanRowsAndColumns) {
  const OwnedProblem owned = testing::random_problem(4, 3, 0.2, 9);
  expect_sound(solve(view_of(GetParam(), owned), options(3, 0.05, 7)), owned);
}

TEST_P(PrivateRun, UnevenSlicesAndEmptyOnes) {
  Options uneven = options(3, 0.05, 4);
  uneven.row_weights = {5, 0, 1, 0};
  const Result result = run(uneven);
  expect_sound(result, small());
  EXPECT_EQ(most_iterations(result), 3);
}

TEST_P(PrivateRun, OneRowOneColumn) {
  for (const auto& [n, m] : {std::pair{1, 5}, std::pair{5, 1}, std::pair{1, 1}}) {
    SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(m));
    const OwnedProblem owned =
        testing::random_problem(static_cast<std::size_t>(n), static_cast<std::size_t>(m), 0.2, 10);
    // Noise large enough for masses that are a little off.
    expect_sound(solve(view_of(GetParam(), owned), options(3, 1, 2)), owned);
  }
}

TEST_P(PrivateRun, MassesOfZero) {
  OwnedProblem owned = testing::random_problem(9, 6, 0.2, 11, 2);
  for (const std::size_t j : {2U, 3U, 5U}) owned.b[j] = 0;  // column 1 has no mass at all
  for (const std::size_t k : {0U, 1U}) testing::normalise(owned.b, k, 2);
  for (const std::size_t i : {0U, 4U, 8U}) owned.a[i] = 0;
  testing::normalise(owned.a);
  for (double& mass : owned.a) mass *= 0.9999;
  Options with_zeros = options(4, 0.02, 3);
  if (GetParam().mechanism == "marginal") with_zeros.record_mass = 0.5;
  const Result result = solve(owned.view(), with_zeros);
  for (const double f : result.f) EXPECT_FALSE(std::isnan(f));
  for (const double g : result.g) EXPECT_FALSE(std::isnan(g));
  if (GetParam().mechanism != "marginal") return;
  for (const std::size_t i : {0U, 4U, 8U}) EXPECT_EQ(result.f[2 * i], -kInfinity);
  EXPECT_EQ(result.g[2], -kInfinity);
  EXPECT_EQ(result.g[3], -kInfinity);
}

TEST_P(PrivateRun, AForbiddenRow) {
  OwnedProblem owned = testing::random_problem(12, 5, 0.2, 12);
  for (std::size_t j = 0; j < 5; ++j) owned.cost[3 * 5 + j] = kInfinity;
  // So much noise that the mass it lacks is not noticed.
  const Result result = solve(view_of(GetParam(), owned), options(4, 0.5));
  expect_sound(result, owned);
  if (GetParam().mechanism == "marginal") {
    EXPECT_EQ(result.f[3], -kInfinity);
  }
}

TEST_P(PrivateRun, SeveralTargetsAreSolvedTogether) {
  const OwnedProblem owned = testing::random_problem(40, 6, 0.3, 13, 3);
  Options many = options(60, 1e-7);
  if (GetParam().mechanism == "scalings") many.clip = 100;
  const Result result = solve(view_of(GetParam(), owned), many);
  Options open;
  open.threads = 1;
  Problem problem = view_of(GetParam(), owned);
  const Result expected = solve(problem, open);
  // Up to a constant for each target, g is that of a run without noise.
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t j = 1; j < 6; ++j) {
      EXPECT_NEAR(result.g[j * 3 + k] - result.g[k], expected.g[j * 3 + k] - expected.g[k], 1e-4) << j << ", " << k;
    }
  }
}

TEST(PrivateMarginal, MassesThatDoNotTotalOneAreNoticed) {
  OwnedProblem owned = testing::random_problem(30, 8, 0.1, 5);
  Options options = testing::options_of({"marginal", "row-reduce"}, 3, 5, 1e-3);
  options.record_mass = 0.5;
  for (const double total : {0.5, 0.9, 1.2}) {
    Problem problem = owned.view();
    std::vector<double> a = owned.a;
    for (double& mass : a) mass *= total;
    problem.a = a;
    const std::string line = line_of<InputError>([&] { (void)solve(problem, options); });
    EXPECT_NE(line.find("as the first release shows"), std::string::npos) << line;
    EXPECT_NE(line.find("masses must add up to 1"), std::string::npos) << line;
  }
  options.noise = 0.5;  // what it cannot know, it does not claim
  std::vector<double> a = owned.a;
  for (double& mass : a) mass *= 0.9;
  Problem problem = owned.view();
  problem.a = a;
  EXPECT_EQ(solve(problem, options).iterations, 5);
}

// Of b, which is public, that is known at once.
TEST(PrivateMarginal, TotalsOfBAreCheckedBeforeAnyRelease) {
  OwnedProblem owned = testing::random_problem(30, 8, 0.1, 5);
  for (double& mass : owned.b) mass *= 0.99;
  const Options options = testing::options_of({"marginal", "row-reduce"}, 3, 5, 0.5);
  Problem problem = owned.view();
  problem.a = {};
  const std::string line = line_of<InputError>([&] { (void)solve(problem, options); });
  EXPECT_NE(line.find("b: total mass is 0.99"), std::string::npos) << line;
}

/// What three clients say if client 1 has another problem; empty if nothing.
std::string complaint_of(const Problem& one, const Problem& other, const Options& options) {
  return line_of<InputError>([&] { (void)solve(std::vector<Problem>{one, other, one}, options); }, "");
}

TEST(PrivateMarginal, ClientsMustHaveTheSameColumns) {
  const OwnedProblem owned = testing::random_problem(30, 8, 0.1, 5);
  OwnedProblem other = owned;
  std::swap(other.b[0], other.b[5]);
  const Options options = testing::options_of({"marginal", "row-reduce"}, 0, 5, 0.5);
  Problem one = owned.view();
  Problem two = other.view();
  one.a = two.a = {};
  EXPECT_EQ(complaint_of(one, two, options), "b: client 1 has others than client 0; give the same to all clients");
}

TEST(PrivateMarginal, ClientsMustHaveTheSamePointsOfColumns) {
  const std::vector<double> x = testing::random_problem(30, 2, 1, 6).cost;
  const std::vector<double> y = testing::random_problem(8, 2, 1, 7).cost;
  std::vector<double> other_y = y;
  other_y[15] += 1e-9;
  const auto problem_with = [&](const std::vector<double>& columns) {
    Problem problem;
    problem.cost = PointClouds{MatrixView<double>{x.data(), 30, 2}, MatrixView<double>{columns.data(), 8, 2}};
    problem.epsilon = 0.5;
    return problem;
  };
  const Options options = testing::options_of({"marginal", "row-reduce"}, 0, 5, 0.5);
  EXPECT_EQ(complaint_of(problem_with(y), problem_with(other_y), options),
            "points y: client 1 has others than client 0; give the same to all clients");
}

// Masses that are to be protected are nobody else's business. Where they are public, all make noise for the largest
// one.
TEST(PrivateMarginal, MassesMayDifferButNotABoundThatIsReadOffThem) {
  const OwnedProblem owned = testing::random_problem(30, 8, 0.1, 5);
  OwnedProblem other = owned;
  *std::ranges::max_element(other.a) *= 1.01;
  Options options = testing::options_of({"marginal", "row-reduce"}, 0, 5, 0.5);
  options.record_mass = 0;
  EXPECT_EQ(complaint_of(owned.view(), other.view(), options),
            "a, its largest mass: client 1 has others than client 0; give the same to all clients");
  options.record_mass = 1;
  EXPECT_EQ(complaint_of(owned.view(), other.view(), options), "");
}

// With little noise, it is Sinkhorn's iteration.
TEST(PrivateMarginal, OneClientAndSeveralConvergeToThePlan) {
  const OwnedProblem owned = testing::random_problem(40, 6, 0.3, 14);
  const Problem problem = view_of({"marginal", ""}, owned);
  const Result expected = solve(problem);
  for (const std::size_t clients : {1U, 2U, 6U}) {
    Options options = testing::options_of({"marginal", "auto"}, clients, 100, 1e-9);
    const Result result = solve(problem, options);
    EXPECT_EQ(result.topology, clients == 1 ? "centralized" : "row-reduce");
    for (std::size_t j = 1; j < 6; ++j) {
      EXPECT_NEAR(result.g[j] - result.g[0], expected.g[j] - expected.g[0], 1e-6);
    }
  }
}

TEST(PrivateMarginal, AToleranceIsReachedByWhatIsReleased) {
  const OwnedProblem owned = testing::random_problem(40, 6, 0.3, 14);
  Options options = testing::options_of({"marginal", "row-reduce"}, 3, 1000, 1e-9);
  options.tolerance = 1e-3;
  const Result result = solve(view_of({"marginal", ""}, owned), options);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_LE(result.error.b, 1e-3);
  EXPECT_LT(result.iterations, 100);
  EXPECT_EQ(result.privacy.releases, result.iterations);
}

}  // namespace
}  // namespace fedsinkhorn
