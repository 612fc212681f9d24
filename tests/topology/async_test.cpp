// Clients that do not wait for each other: every run ends at the plan of those that do, whatever the network does.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "solve/client_solve.hpp"
#include "support/faults.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

Options asynchronous(std::size_t clients, double tolerance = 1e-11) {
  Options options;
  options.topology = "async";
  options.clients = clients;
  options.tolerance = tolerance;
  options.max_iterations = 100'000;
  options.threads = 1;
  return options;
}

Options simulated(std::size_t clients, const Scenario& scenario, double tolerance = 1e-11) {
  Options options = asynchronous(clients, tolerance);
  options.transport = "simulated";
  options.scenario = scenario;
  return options;
}

/// Seconds an iteration takes one of so many clients.
double iteration_seconds(std::size_t n, std::size_t clients) {
  return 2 * static_cast<double>(n * n) / static_cast<double>(clients) * Scenario{}.seconds_per_entry;
}

Scenario slowed_down(std::size_t client, double factor) {
  Scenario scenario;
  ClientScenario slow;
  slow.client = client;
  slow.slower = factor;
  scenario.clients.push_back(slow);
  return scenario;
}

void expect_plan_of_centralized(const Problem& problem, const Options& options, double distance = 1e-9) {
  Options alone = options;
  alone.topology = "centralized";
  alone.transport = "threads";
  alone.clients = 1;
  alone.local_steps = 1;
  alone.damping = 1;
  alone.row_weights.clear();
  const Result expected = solve(problem, alone);
  const Result result = solve(problem, options);
  ASSERT_EQ(expected.status, Status::converged);
  EXPECT_EQ(result.status, Status::converged);
  for (std::size_t target = 0; target < expected.targets; ++target) {
    EXPECT_LT(testing::l1_distance(testing::whole_plan(problem, result, target),
                                   testing::whole_plan(problem, expected, target)),
              distance);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// On threads

TEST(AsyncOnThreads, ReachesTheSynchronousPlan) {
  const OwnedProblem owned = testing::random_problem(101, 101, 0.05, 1);
  for (const std::size_t clients : {1, 2, 3, 4, 7}) {
    SCOPED_TRACE(clients);
    expect_plan_of_centralized(owned.view(), asynchronous(clients));
  }
}

TEST(AsyncOnThreads, AwkwardProblems) {
  OwnedProblem zeros = testing::random_problem(61, 83, 0.05, 2, 3);
  for (const std::size_t i : {0, 1, 2, 30, 60}) zeros.a[i] = 0;
  for (const std::size_t j : {0, 7, 82}) {
    for (const std::size_t k : {0, 1, 2}) zeros.b[3 * j + k] = 0;
  }
  zeros.b[3 * 8] = 0;  // of one target alone
  testing::normalise(zeros.a);
  for (const std::size_t k : {0, 1, 2}) testing::normalise(zeros.b, k, 3);
  expect_plan_of_centralized(zeros.view(), asynchronous(3));

  OwnedProblem forbidden = testing::random_problem(61, 61, 0.05, 3);
  for (std::size_t k = 0; k < forbidden.cost.size(); k += 7) forbidden.cost[k] = testing::kInfinity;
  expect_plan_of_centralized(forbidden.view(), asynchronous(4));

  const OwnedProblem few = testing::random_problem(3, 5, 0.1, 4);
  expect_plan_of_centralized(few.view(), asynchronous(7));

  // Potentials far from where they start: the kernel is rebuilt on the way.
  const OwnedProblem tiny = testing::point_problem(61, 61, 1e-3, 5);
  expect_plan_of_centralized(tiny.view(), asynchronous(3, 1e-10), 1e-7);
}

// Potentials that drift apart: kernels are rebuilt with several targets, and some are solved alone.
TEST(AsyncOnThreads, SeveralTargetsAtSmallEpsilon) {
  OwnedProblem owned = testing::point_problem(41, 47, 2e-3, 21);
  owned.targets = 3;
  Random random(22);
  owned.b.assign(3 * owned.m, 0);
  for (double& mass : owned.b) mass = std::pow(10.0, random.uniform(-6, 0));
  for (const std::size_t k : {0, 1, 2}) testing::normalise(owned.b, k, 3);
  Options options = asynchronous(3, 1e-8);
  options.precision = Precision::mixed;  // absorbs early
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_GT(result.absorptions, 0);
  for (const ClientReport& client : result.clients) EXPECT_GT(client.iterations, 0);
  options.precision = Precision::float64;
  expect_plan_of_centralized(owned.view(), options, 1e-5);
}

TEST(AsyncOnThreads, UnevenSlices) {
  const OwnedProblem owned = testing::random_problem(101, 83, 0.05, 6);
  Options options = asynchronous(4);
  options.row_weights = {1, 0, 5, 2.5};
  expect_plan_of_centralized(owned.view(), options);
  options.row_weights = {0, 0, 1, 0};
  expect_plan_of_centralized(owned.view(), options);
}

TEST(AsyncOnThreads, LocalStepsAndDamping) {
  const OwnedProblem owned = testing::random_problem(61, 61, 0.1, 7);
  Options options = asynchronous(3);
  options.local_steps = 5;
  expect_plan_of_centralized(owned.view(), options);
  options.local_steps = 1;
  options.damping = 0.5;
  for (const DampingKind kind : {DampingKind::arithmetic, DampingKind::geometric}) {
    options.damping_kind = kind;
    expect_plan_of_centralized(owned.view(), options);
  }
}

TEST(AsyncOnThreads, ReducedPrecisionAndOnlineKernels) {
  const OwnedProblem owned = testing::random_problem(61, 61, 0.1, 8);
  Options options = asynchronous(3);
  options.kernel = KernelKind::online;
  expect_plan_of_centralized(owned.view(), options);
  options.kernel = KernelKind::dense;
  options.precision = Precision::mixed;
  expect_plan_of_centralized(owned.view(), options);
  options.precision = Precision::float32;
  options.tolerance = 1e-5;
  expect_plan_of_centralized(owned.view(), options, 1e-4);
}

TEST(AsyncOnThreads, EndsAtTheIterationLimit) {
  const OwnedProblem owned = testing::random_problem(61, 61, 0.05, 9);
  for (const std::int64_t limit : {1, 2, 3, 40}) {
    Options options = asynchronous(3, 0);
    options.max_iterations = limit;
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.status, Status::iteration_limit);
    EXPECT_EQ(result.iterations, limit);
    for (const ClientReport& client : result.clients) EXPECT_LE(client.iterations, limit);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Bad networks, on threads

TEST(AsyncUnderFaults, Converges) {
  const OwnedProblem owned = testing::random_problem(61, 61, 0.1, 10);
  const Problem problem = owned.view();
  Options options = asynchronous(3);
  options.clients = 0;
  const Result expected = solve(problem, [] {
    Options alone;
    alone.tolerance = 1e-11;
    return alone;
  }());
  for (const std::uint64_t seed : {1, 2, 3}) {
    Result result;
    run_on_threads(3, Seconds(60), [&](Communicator& communicator) {
      BadNetwork network(communicator, seed, 2e-4, 0.3);
      Result own = solve_as_client(problem, options, network.communicator());
      if (communicator.rank() == 0) result = std::move(own);
    });
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LT(testing::l1_distance(testing::whole_plan(problem, result), testing::whole_plan(problem, expected)), 1e-9);
  }
}

/// A client whose clock is wrong, and says that clocks differ.
class WrongClock final : public ForwardingCommunicator {
 public:
  WrongClock(Communicator& inner, double ahead) : ForwardingCommunicator(inner), ahead_(ahead) {}
  [[nodiscard]] double now() const override { return inner().now() + ahead_; }
  [[nodiscard]] bool shares_clock() const override { return false; }
  [[nodiscard]] bool wait_any(std::span<Pending* const> messages, double until) override {
    return inner().wait_any(messages, until - ahead_);
  }

 private:
  double ahead_;
};

TEST(AsyncUnderFaults, ClocksMayDiffer) {
  const OwnedProblem owned = testing::random_problem(61, 61, 0.1, 11);
  Options options = asynchronous(0);
  Scenario scenario;
  Result result;
  run_simulated(3, Seconds(60), scenario, [&](Communicator& communicator) {
    WrongClock wrong(communicator, 1e6 * static_cast<double>(communicator.rank()));
    Result own = solve_as_client(owned.view(), options, wrong);
    if (communicator.rank() == 0) result = std::move(own);
  });
  EXPECT_EQ(result.status, Status::converged);
  for (const DelayRow& row : result.delays) {
    EXPECT_GT(row.uses.size(), 1U);  // ages were counted, and were small
    EXPECT_LT(row.uses.size(), 6U);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Iterations that are worth their name

std::int64_t plain_iterations(const Problem& problem, double tolerance) {
  Options options = asynchronous(1, tolerance);
  options.topology = "centralized";
  options.method = "sinkhorn";
  const Result result = solve(problem, options);
  EXPECT_EQ(result.status, Status::converged);
  return result.iterations;
}

/// Of the iterations plain Sinkhorn takes.
double times_plain(const Problem& problem, const Options& options) {
  const Result result = solve(problem, options);
  EXPECT_EQ(result.status, Status::converged);
  return static_cast<double>(result.iterations) / static_cast<double>(plain_iterations(problem, options.tolerance));
}

/// All threads this one starts share one processor while this lives.
class OneProcessor {
 public:
  OneProcessor() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) throw std::runtime_error("sched_getaffinity failed");
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t k = 0; k < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++k) {
      if (CPU_ISSET(k, &before_)) CPU_SET(k, &one);
    }
    if (sched_setaffinity(0, sizeof one, &one) != 0) throw std::runtime_error("sched_setaffinity failed");
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_{};
};

TEST(AsyncIterations, AreNotSpentOnOldNewsWhereClientsShareAProcessor) {
  const OneProcessor shared;
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    const OwnedProblem owned = testing::block_problem(5, 13, 6e-3, seed);
    EXPECT_LT(times_plain(owned.view(), asynchronous(4, 1e-9)), 4);
    Options damped = asynchronous(4, 1e-9);
    damped.damping = 0.2;  // by itself 2 / 0.2 - 1 times as many
    EXPECT_LT(times_plain(owned.view(), damped), 4 * 9);
  }
}

// The fast one has nothing to learn between two messages of the others.
TEST(AsyncIterations, AreNotSpentOnOldNewsWhileOthersCompute) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const std::size_t clients : {2, 4}) {
      SCOPED_TRACE(std::to_string(clients) + " clients, seed " + std::to_string(seed));
      const OwnedProblem owned = testing::block_problem(5, 13, 6e-3, seed);
      Scenario scenario;
      scenario.latency = ConstantLaw{1e-7};
      for (std::size_t k = 1; k < clients; ++k) scenario.clients.push_back(slowed_down(k, 50).clients.front());
      EXPECT_LT(times_plain(owned.view(), simulated(clients, scenario, 1e-9)), 2.5 * static_cast<double>(clients - 1));
    }
  }
}

/// Whoever waits for news is waited for by nobody who has none: no run comes to a standstill, which a simulation would
/// report as a lost client, whoever owns what.
TEST(AsyncIterations, ComeToNoStandstill) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto below = [&](std::size_t count) {
      return std::min(count - 1, static_cast<std::size_t>(random.uniform() * static_cast<double>(count)));
    };
    const std::size_t n = 1 + below(8);
    const std::size_t m = 1 + below(8);
    const std::size_t clients = 2 + below(6);
    const OwnedProblem owned = testing::random_problem(n, m, 0.2, seed);
    Scenario scenario;
    scenario.seed = seed;
    scenario.latency = HeavyTailedLaw{1e-6, 1.2};
    scenario.compute_factor = LogNormalLaw{1, 1};
    scenario.clients.push_back(slowed_down(below(clients), 30).clients.front());
    Options options = simulated(clients, scenario, 1e-9);
    for (std::size_t k = 0; k < clients; ++k) options.row_weights.push_back(static_cast<double>(below(3)));
    options.row_weights[below(clients)] = 1;
    options.max_staleness = below(2) == 0 ? 1 : 16;
    options.local_steps = below(2) == 0 ? 1 : 7;
    options.damping = below(2) == 0 ? 1 : 0.5;
    EXPECT_EQ(solve(owned.view(), options).status, Status::converged);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Simulated

/// The laws of docs/simulation.md, fewer seeds.
TEST(AsyncSimulated, AlwaysConverges) {
  for (const std::size_t clients : {2, 4, 8, 16}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const OwnedProblem owned = testing::point_problem(128, 128, 0.05, 100 + seed);
      const double iteration = iteration_seconds(128, clients);
      Scenario log_normal;
      log_normal.latency = LogNormalLaw{0.5 * iteration, 1};
      Scenario heavy_tailed;
      heavy_tailed.latency = HeavyTailedLaw{0.2 * iteration, 1.2};
      Scenario late;
      late.latency = ConstantLaw{0.5 * iteration};
      late.late = {0.02, 60 * iteration};
      Scenario straggler = slowed_down(1, 10);
      straggler.latency = log_normal.latency;
      for (Scenario scenario : {log_normal, heavy_tailed, late, straggler}) {
        scenario.seed = seed;
        Options options = simulated(clients, scenario, 1e-12);
        options.max_iterations = 3000;
        const Result result = solve(owned.view(), options);
        ASSERT_EQ(result.status, Status::converged) << "clients " << clients << ", seed " << seed;
        ASSERT_LE(std::max(result.exact_error.a, result.exact_error.b), 2e-12);
      }
    }
  }
}

TEST(AsyncSimulated, SameSeedSameRun) {
  const OwnedProblem owned = testing::random_problem(61, 61, 0.05, 12);
  Scenario scenario;
  scenario.latency = HeavyTailedLaw{1e-6, 1.2};
  scenario.compute_factor = LogNormalLaw{1, 0.5};
  const Result first = solve(owned.view(), simulated(5, scenario));
  const Result again = solve(owned.view(), simulated(5, scenario));
  scenario.seed = 2;
  const Result other = solve(owned.view(), simulated(5, scenario));
  EXPECT_EQ(first.f, again.f);
  EXPECT_EQ(first.g, again.g);
  EXPECT_EQ(first.virtual_seconds, again.virtual_seconds);
  EXPECT_EQ(first.delays, again.delays);
  ASSERT_EQ(first.trace.size(), again.trace.size());
  for (std::size_t k = 0; k < first.trace.size(); ++k) {
    EXPECT_EQ(first.trace[k].iteration, again.trace[k].iteration);
    EXPECT_EQ(first.trace[k].seconds, again.trace[k].seconds);
    EXPECT_EQ(first.trace[k].error_a, again.trace[k].error_a);
    EXPECT_EQ(first.trace[k].error_b, again.trace[k].error_b);
  }
  EXPECT_NE(first.virtual_seconds, other.virtual_seconds);
  EXPECT_NE(first.f, other.f);
}

TEST(AsyncSimulated, NothingOlderThanAllowedIsUsed) {
  const OwnedProblem owned = testing::random_problem(61, 61, 0.05, 13);
  for (const std::int64_t limit : {1, 2, 5}) {
    // News that take ten iterations, and one client that needs twenty times as long.
    Scenario scenario = slowed_down(2, 20);
    scenario.latency = UniformLaw{0, 20 * iteration_seconds(61, 4)};
    Options options = simulated(4, scenario);
    options.max_staleness = limit;
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.status, Status::converged);
    ASSERT_EQ(result.delays.size(), 2U * 4 * 3);
    std::size_t oldest = 0;
    for (const DelayRow& row : result.delays) oldest = std::max(oldest, row.uses.size() - 1);
    EXPECT_EQ(oldest, static_cast<std::size_t>(limit));  // never more, and it does come to that
  }
}

TEST(AsyncSimulated, FastClientsDoNotWaitForAStraggler) {
  const OwnedProblem owned = testing::point_problem(128, 128, 0.05, 14);
  Scenario scenario = slowed_down(1, 5);
  scenario.latency = ConstantLaw{0.1 * iteration_seconds(128, 4)};
  Options options = simulated(4, scenario, 1e-9);
  const Result ahead = solve(owned.view(), options);
  options.topology = "all-to-all";
  options.method = "sinkhorn";
  const Result in_step = solve(owned.view(), options);
  EXPECT_EQ(ahead.status, Status::converged);
  EXPECT_LT(ahead.virtual_seconds, in_step.virtual_seconds);
  EXPECT_GT(ahead.clients[0].iterations, 2 * ahead.clients[1].iterations);
}

TEST(AsyncSimulated, EqualClientsFallIntoStep) {
  const OwnedProblem owned = testing::point_problem(128, 128, 0.05, 15);
  Scenario scenario;
  scenario.latency = ConstantLaw{0.05 * iteration_seconds(128, 4)};
  scenario.compute_factor = UniformLaw{0.95, 1.05};
  Options options = simulated(4, scenario, 1e-9);
  const Result result = solve(owned.view(), options);
  options.topology = "all-to-all";
  options.method = "sinkhorn";
  const Result in_step = solve(owned.view(), options);
  EXPECT_LE(result.iterations, in_step.iterations + in_step.iterations / 5);
}

/// Client 0 needs client 1's v alone, and client 1 client 0's. In step, each answers what the other said an iteration
/// ago: two chains that never meet, and whose masses differ for ever. Rounds make one of them.
TEST(AsyncSimulated, ChainsThatNeverMeet) {
  OwnedProblem owned = testing::random_problem(40, 40, 0.1, 16);
  double a_first = 0;
  double b_last = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t j = 0; j < 40; ++j) {
      if ((i < 20) == (j < 20)) owned.cost[i * 40 + j] = testing::kInfinity;
    }
    if (i < 20) a_first += owned.a[i];
    if (i >= 20) b_last += owned.b[i];
  }
  // Rows 0 to 19 go to columns 20 to 39, so their masses must be equal.
  for (std::size_t i = 0; i < 40; ++i) {
    owned.a[i] *= i < 20 ? 0.5 / a_first : 0.5 / (1 - a_first);
    owned.b[i] *= i >= 20 ? 0.5 / b_last : 0.5 / (1 - b_last);
  }
  for (const double latency : {0.3, 0.6, 0.9, 1.4}) {
    Scenario scenario;
    scenario.latency = ConstantLaw{latency * iteration_seconds(40, 2)};
    Options options = simulated(2, scenario);
    options.max_iterations = 3000;
    expect_plan_of_centralized(owned.view(), options);
  }
}

TEST(AsyncSimulated, SynchronousTopologiesAreNotChangedByTheNetwork) {
  const OwnedProblem owned = testing::random_problem(61, 47, 0.05, 17);
  Scenario scenario = slowed_down(0, 3);
  scenario.latency = HeavyTailedLaw{1e-5, 1.1};
  for (const std::string& topology : testing::topologies_in_step()) {
    Options options = simulated(5, scenario);
    options.topology = topology;
    const Result result = solve(owned.view(), options);
    options.transport = "threads";
    const Result expected = solve(owned.view(), options);
    EXPECT_EQ(result.f, expected.f);
    EXPECT_EQ(result.iterations, expected.iterations);
    EXPECT_GT(result.virtual_seconds, 0);
    EXPECT_EQ(expected.virtual_seconds, 0);
  }
}

TEST(AsyncSimulated, ManyClientsOnOneCore) {
  const OwnedProblem owned = testing::random_problem(250, 250, 0.2, 18);
  expect_plan_of_centralized(owned.view(), simulated(120, Scenario{}, 1e-9), 1e-7);
}

TEST(AsyncSimulated, ALostClientIsNamedAndTheRestKept) {
  const OwnedProblem owned = testing::random_problem(61, 61, 0.05, 19);
  const Result expected = solve(owned.view(), asynchronous(1));
  for (const std::size_t lost : {0, 2}) {
    Scenario scenario;
    ClientScenario client;
    client.client = lost;
    client.lost_at = 60 * iteration_seconds(61, 4) + 2e-3;
    scenario.clients.push_back(client);
    Options options = simulated(4, scenario, 0);
    try {
      (void)solve(owned.view(), options);
      FAIL() << "nobody noticed";
    } catch (const ClientLost& error) {
      EXPECT_EQ(error.lost(), std::vector<std::size_t>{lost});
      ASSERT_NE(error.so_far(), nullptr);
      const Result& known = *error.so_far();
      EXPECT_EQ(known.status, Status::client_lost);
      EXPECT_GT(known.iterations, 10);
      EXPECT_TRUE(std::isnan(known.cost.linear));
      EXPECT_LT(
          testing::l1_distance(testing::whole_plan(owned.view(), known), testing::whole_plan(owned.view(), expected)),
          1e-3);
    }
  }
}

TEST(AsyncSimulated, APausedClientIsWaitedFor) {
  const OwnedProblem owned = testing::random_problem(61, 61, 0.05, 20);
  Scenario scenario;
  ClientScenario client;
  client.client = 1;
  client.pauses = {{1e-3, 5}};
  scenario.clients.push_back(client);
  const Result result = solve(owned.view(), simulated(4, scenario));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_GT(result.virtual_seconds, 5);
  EXPECT_LT(result.iterations, 2000);  // not five seconds of them
}

}  // namespace
}  // namespace fedsinkhorn
