// Fewer rounds, the same answers: what an accelerated solve must have in common with a plain one, and what it must not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "comm/alone.hpp"
#include "fedsinkhorn/solve.hpp"
#include "iteration/absorbed_sinkhorn.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"
#include "support/stated.hpp"

namespace fedsinkhorn {
namespace {

using testing::largest_difference;
using testing::OwnedProblem;

Options with_method(const std::string& method, double tolerance = 1e-9) {
  Options options;
  options.method = method;
  options.tolerance = tolerance;
  options.max_iterations = 20000;
  options.threads = 1;
  return options;
}

/// Two clouds of four clusters on a diagonal: rows and columns of different clusters barely see each other.
OwnedProblem cluster_problem(std::size_t n, double epsilon, std::uint64_t seed) {
  OwnedProblem problem = testing::random_problem(n, n, epsilon, seed);
  Random random(seed, 2);
  std::vector<double> x(2 * n);
  std::vector<double> y(2 * n);
  for (auto* points : {&x, &y}) {
    for (std::size_t i = 0; i < n; ++i) {
      const double centre = std::floor(4 * random.uniform());
      (*points)[2 * i] = centre + 0.1 * random.uniform();
      (*points)[2 * i + 1] = centre + 0.1 * random.uniform();
    }
  }
  testing::set_distances(problem, x, y);
  return problem;
}

/// Masses over eight decades.
OwnedProblem uneven_problem(std::size_t n, double epsilon, std::uint64_t seed) {
  OwnedProblem problem = testing::point_problem(n, n, epsilon, seed);
  Random random(seed, 3);
  for (auto* masses : {&problem.a, &problem.b}) {
    for (double& mass : *masses) mass = std::pow(10, -8 * random.uniform());
    testing::normalise(*masses);
  }
  return problem;
}

using Family = OwnedProblem (*)(std::size_t n, double epsilon, std::uint64_t seed);
struct FamilyCase {
  const char* name;
  Family make;
};
class AcceleratedFamily : public ::testing::TestWithParam<FamilyCase> {};
INSTANTIATE_TEST_SUITE_P(
    Families, AcceleratedFamily,
    ::testing::Values(FamilyCase{"Plane", [](std::size_t n, double e,
                                             std::uint64_t s) { return testing::point_problem(n, n, e, s); }},
                      FamilyCase{"Random", [](std::size_t n, double e,
                                              std::uint64_t s) { return testing::random_problem(n, n, e, s); }},
                      FamilyCase{"Oblong", [](std::size_t n, double e,
                                              std::uint64_t s) { return testing::random_problem(n, n / 3, e, s); }},
                      FamilyCase{"Clusters", cluster_problem}, FamilyCase{"Uneven", uneven_problem}),
    [](const auto& info) { return info.param.name; });

TEST_P(AcceleratedFamily, TakesFewerRoundsToTheSamePlan) {
  double ratios = 0;
  int problems = 0;
  for (const double epsilon : {0.1, 1e-2, 2e-3}) {
    for (const std::uint64_t seed : {1U, 2U}) {
      SCOPED_TRACE("epsilon " + std::to_string(epsilon) + ", seed " + std::to_string(seed));
      const OwnedProblem owned = GetParam().make(90, epsilon, seed);
      const Problem problem = owned.view();
      const Result plain = solve(problem, with_method("sinkhorn", 1e-11));
      for (const std::string& method : testing::methods_that_accelerate()) {
        SCOPED_TRACE(method);
        const Result result = solve(problem, with_method(method, 1e-11));
        ASSERT_EQ(result.status, Status::converged);
        EXPECT_EQ(result.method, method);
        EXPECT_LE(static_cast<double>(result.iterations), 1.1 * static_cast<double>(plain.iterations) + 5);
        const std::vector<double> plan = testing::whole_plan(problem, result);
        EXPECT_LE(testing::plan_error(plan, owned.a, owned.b), 2e-11);
        if (plain.status == Status::converged) {
          EXPECT_LE(largest_difference(plan, testing::whole_plan(problem, plain)), 1e-9);
        }
        if (result.method != "auto") continue;
        ratios += std::log(static_cast<double>(plain.iterations) / static_cast<double>(result.iterations));
        ++problems;
      }
    }
  }
  EXPECT_GE(std::exp(ratios / problems), 3);
}

TEST_P(AcceleratedFamily, SaysWhenTheLimitIsReachedOnTheWay) {
  const OwnedProblem owned = GetParam().make(60, 1e-3, 3);
  const Problem problem = owned.view();
  for (const std::string& method : testing::methods_that_accelerate()) {
    for (const std::int64_t limit : {1, 2, 3, 5, 8, 13, 21, 34}) {
      SCOPED_TRACE(std::string(method) + ", limit " + std::to_string(limit));
      Options options = with_method(method);
      options.max_iterations = limit;
      const Result result = solve(problem, options);
      if (result.status == Status::converged && limit > 13) continue;  // Newton's method needs about so many
      ASSERT_EQ(result.status, Status::iteration_limit);
      EXPECT_EQ(result.iterations, limit);
      EXPECT_EQ(result.trace.back().iteration, limit);
      // What is handed over is for the epsilon asked for, whatever level the iteration was at.
      const double error = testing::plan_error(testing::whole_plan(problem, result), owned.a, owned.b);
      EXPECT_NEAR(error, std::max(result.error.a, result.error.b), 1e-9);
    }
  }
}

// A tolerance that anything meets: the first check ends the run, whether its round counts or not.
TEST_P(AcceleratedFamily, ARejectedRoundDoesNotPutOffTheCheck) {
  const OwnedProblem owned = GetParam().make(40, 1e-3, 4);
  const Problem problem = owned.view();
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    Options options = with_method("anderson", 5);
    options.precision = precision;
    std::int64_t rejected = 0;
    int checks_of_rejected_rounds = 0;
    for (options.check_every = 1; options.check_every <= 120; ++options.check_every) {
      SCOPED_TRACE(options.check_every);
      const Result result = solve(problem, options);
      ASSERT_EQ(result.status, Status::converged);
      EXPECT_EQ(result.iterations, options.check_every);
      EXPECT_EQ(result.trace.size(), 1U);
      checks_of_rejected_rounds += static_cast<int>(result.rejected > rejected);
      rejected = result.rejected;
    }
    EXPECT_GT(checks_of_rejected_rounds, 0);
  }
}

TEST(Auto, ShowsItsWayInTheTrace) {
  const OwnedProblem owned = cluster_problem(80, 1e-3, 4);
  const Result result = solve(owned.view(), with_method("auto"));
  ASSERT_EQ(result.status, Status::converged);
  ASSERT_EQ(static_cast<std::int64_t>(result.trace.size()), result.iterations);
  EXPECT_EQ(result.trace.front().epsilon, 1e-3);
  EXPECT_EQ(result.trace.back().epsilon, 1e-3);
  std::size_t longest = 0;
  std::int64_t up = 0;
  std::int64_t down = 0;
  for (std::size_t k = 1; k < result.trace.size(); ++k) {
    if (result.trace[k].epsilon > result.trace[k - 1].epsilon) {
      ++up;
      EXPECT_EQ(result.trace[k].epsilon, 0.1);  // of the largest cost, which is 1
    }
    down += result.trace[k].epsilon < result.trace[k - 1].epsilon ? 1 : 0;
    longest = std::max(longest, result.trace[k].history);
  }
  EXPECT_EQ(up, 1);
  EXPECT_GE(down, 2);
  EXPECT_EQ(up + down, result.levels);
  EXPECT_GT(longest, 4U);
  EXPECT_LE(longest, 24U);
  EXPECT_GT(result.rejected, 0);
  EXPECT_EQ(result.trace.back().rejected, result.rejected);
}

TEST(Auto, DoesWithoutLevelsWhereItCan) {
  const OwnedProblem owned = testing::point_problem(80, 80, 1e-2, 4);
  const Result result = solve(owned.view(), with_method("auto"));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.levels, 0);
  EXPECT_EQ(result.iterations, solve(owned.view(), with_method("anderson")).iterations);
}

TEST(Auto, TheTotalOfTheMassesDoesNotMatter) {
  OwnedProblem owned = cluster_problem(60, 2e-3, 5);
  const Result one = solve(owned.view(), with_method("auto", 1e-9));
  for (const double mass : {1e-12, 1e9}) {
    OwnedProblem scaled = owned;
    for (double& x : scaled.a) x *= mass;
    for (double& x : scaled.b) x *= mass;
    for (const char* method : {"auto", "overrelaxed"}) {
      const Result result = solve(scaled.view(), with_method(method, 1e-9));
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_LE(result.iterations, 2 * solve(owned.view(), with_method(method)).iterations);
    }
  }
  EXPECT_EQ(one.status, Status::converged);
}

TEST(Auto, RemembersNoMoreThanItIsAllowed) {
  const OwnedProblem owned = testing::point_problem(80, 80, 1e-2, 5);
  Options options = with_method("auto");
  options.history = 3;
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::converged);
  std::size_t longest = 0;
  for (const TraceRow& row : result.trace) longest = std::max(longest, row.history);
  EXPECT_EQ(longest, 3U);
}

TEST(Auto, IsPlainWhereNothingElseIsToBeHad) {
  const OwnedProblem owned = testing::random_problem(12, 9, 0.1, 6);
  Options options = with_method("auto");
  options.stabilization = Stabilization::log;
  EXPECT_EQ(solve(owned.view(), options).method, "sinkhorn");
  options = with_method("auto");
  options.precision = Precision::digits50;
  EXPECT_EQ(solve(owned.view(), options).method, "sinkhorn");
  options = with_method("auto");
  options.local_steps = 2;
  EXPECT_EQ(solve(owned.view(), options).method, "sinkhorn");
  options = with_method("anderson");
  options.local_steps = 2;
  EXPECT_THROW((void)solve(owned.view(), options), InputError);
}

TEST(Auto, PotentialsHaveADefiniteConstant) {
  const OwnedProblem owned = testing::point_problem(40, 30, 5e-3, 7);
  for (const std::string& method : testing::methods_that_accelerate()) {
    const Result result = solve(owned.view(), with_method(method, 1e-11));
    double difference = 0;
    for (std::size_t i = 0; i < owned.n; ++i) difference += owned.a[i] * result.f[i];
    for (std::size_t j = 0; j < owned.m; ++j) difference -= owned.b[j] * result.g[j];
    EXPECT_NEAR(difference, 0, 1e-13) << method;
  }
}

TEST(Overrelaxed, ShowsItsOmega) {
  const OwnedProblem owned = testing::point_problem(60, 60, 1e-2, 8);
  const Result result = solve(owned.view(), with_method("overrelaxed"));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.passes, Passes::two);
  EXPECT_EQ(result.trace.front().omega, 1);
  EXPECT_GT(result.trace.back().omega, 1.2);
  EXPECT_LT(result.trace.back().omega, 2);
}

TEST(AcceleratedTargets, EachHasItsOwnHistoryAndPlan) {
  for (const double epsilon : {0.1, 1e-3}) {
    OwnedProblem owned = testing::point_problem(24, 30, epsilon, 12);
    constexpr std::size_t targets = 7;
    owned.targets = targets;
    owned.b = testing::random_problem(24, 30, epsilon, 13, targets).b;
    for (std::size_t j = 0; j < 10; ++j) owned.b[j * targets + 3] = 0;
    testing::normalise(owned.b, 3, targets);
    const Problem problem = owned.view();
    const Result together = solve(problem, with_method("auto", 1e-11));
    const Result plain = solve(problem, with_method("sinkhorn", 1e-11));
    ASSERT_EQ(together.status, Status::converged);
    EXPECT_LT(together.iterations, plain.iterations);
    for (std::size_t k = 0; k < targets; ++k) {
      const std::vector<double> plan = testing::whole_plan(problem, together, k);
      EXPECT_LE(largest_difference(plan, testing::whole_plan(problem, plain, k)), 1e-9) << "target " << k;
    }
  }
}

TEST(WarmStart, FromTheSolutionThereIsNothingLeftToDo) {
  OwnedProblem owned = testing::point_problem(50, 40, 2e-3, 14);
  const Result first = solve(owned.view(), with_method("auto", 1e-10));
  std::vector<double> g = first.g;
  for (const double constant : {0.0, 3.0}) {
    for (double& x : g) x += constant;
    for (const std::string& method : testing::all_methods()) {
      Problem problem = owned.view();
      problem.initial_g = {g.data(), owned.m, 1};
      const Result again = solve(problem, with_method(method, 2e-10));
      EXPECT_EQ(again.status, Status::converged) << method;
      EXPECT_LE(again.iterations, 3) << method;
      EXPECT_EQ(again.levels, 0);
    }
  }
  Options log = with_method("auto", 2e-10);
  log.stabilization = Stabilization::log;
  Problem problem = owned.view();
  problem.initial_g = {g.data(), owned.m, 1};
  EXPECT_LE(solve(problem, log).iterations, 3);
}

TEST(WarmStart, FromANearbyProblemSavesRounds) {
  OwnedProblem owned = testing::point_problem(80, 80, 2e-3, 15);
  const Result first = solve(owned.view(), with_method("auto"));
  for (double& cost : owned.cost) cost *= 1.0001;
  for (const char* method : {"anderson", "newton"}) {
    SCOPED_TRACE(method);
    const Result cold = solve(owned.view(), with_method(method));
    Problem problem = owned.view();
    problem.initial_g = {first.g.data(), owned.m, 1};
    const Result warm = solve(problem, with_method(method));
    EXPECT_EQ(warm.status, Status::converged);
    EXPECT_LT(warm.iterations, cold.iterations * 3 / 4);
    EXPECT_LE(largest_difference(testing::whole_plan(problem, warm), testing::whole_plan(problem, cold)), 1e-8);
  }
}

TEST(WarmStart, FromFarAway) {
  OwnedProblem owned = testing::random_problem(20, 30, 1e-2, 18);
  const Result cold = solve(owned.view(), with_method("auto", 1e-10));
  Random random(1);
  for (const double scale : {1.0, 1e3, 1e6}) {
    for (const bool is_constant : {true, false}) {
      std::vector<double> g;
      for (std::size_t j = 0; j < owned.m; ++j) g.push_back(scale * (is_constant ? 1 : random.normal()));
      Problem problem = owned.view();
      problem.initial_g = {g.data(), owned.m, 1};
      for (const char* method : {"auto", "sinkhorn"}) {
        const Result result = solve(problem, with_method(method, 1e-10));
        EXPECT_EQ(result.status, Status::converged) << scale << method;
        EXPECT_LE(largest_difference(testing::whole_plan(problem, result), testing::whole_plan(problem, cold)), 1e-8);
      }
    }
  }
}

TEST(WarmStart, TargetsThatStartFarApartAreSolvedAlone) {
  OwnedProblem owned = testing::point_problem(20, 20, 1e-3, 16);
  owned.targets = 2;
  owned.b = testing::random_problem(20, 20, 1e-3, 17, 2).b;
  std::vector<double> g(40, 0.0);
  for (std::size_t j = 0; j < 20; ++j) g[2 * j + 1] = j % 2 == 0 ? 5.0 : -5.0;
  Problem problem = owned.view();
  problem.initial_g = {g.data(), 20, 2};
  const Result cold = solve(owned.view(), with_method("auto", 1e-9));
  for (const TopologyEntry& topology : topologies()) {
    if (topology.is_asynchronous) continue;  // plain rounds from there take too long
    SCOPED_TRACE(topology.name);
    Options options = with_method("auto", 1e-9);
    options.topology = topology.name;
    options.clients = topology.several_clients ? 3 : 1;
    const Result result = solve(problem, options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_GT(result.targets_solved_alone, 0U);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_LE(largest_difference(testing::whole_plan(problem, result, k), testing::whole_plan(problem, cold, k)),
                1e-7);
    }
  }
}

// --- awkward inputs

/// Whatever comes out is finite, and what is said of it is true.
void expect_honest(const OwnedProblem& owned, const Options& options) {
  const Problem problem = owned.view();
  const Result result = solve(problem, options);
  EXPECT_TRUE(result.status == Status::converged || result.status == Status::iteration_limit);
  for (const auto* values : {&result.f, &result.g}) {
    for (const double x : *values) EXPECT_TRUE(std::isfinite(x));
  }
  const double error = testing::plan_error(testing::whole_plan(problem, result), owned.a, owned.b);
  EXPECT_TRUE(std::isfinite(error));
  if (result.status == Status::converged) {
    EXPECT_LE(error, options.tolerance + 10 * result.error_floor);
  }
}

TEST(Awkward, MassesCostsAndSupports) {
  for (const std::string& method : testing::methods_that_accelerate()) {
    SCOPED_TRACE(method);
    Options options = with_method(method);
    options.max_iterations = 3000;
    {
      SCOPED_TRACE("tiny epsilon");
      expect_honest(testing::point_problem(50, 50, 1e-5, 20), options);
      expect_honest(uneven_problem(50, 1e-5, 21), options);
      expect_honest(cluster_problem(50, 1e-5, 22), options);
    }
    {
      SCOPED_TRACE("duplicated points");
      OwnedProblem owned = testing::point_problem(40, 40, 1e-3, 23);
      for (std::size_t i = 0; i < 40; ++i) {
        for (std::size_t j = 0; j < 40; ++j) owned.cost[i * 40 + j] = owned.cost[i / 10 * 10 * 40 + j / 8 * 8];
      }
      expect_honest(owned, options);
    }
    {
      SCOPED_TRACE("a band of allowed pairs, one of them narrow");
      OwnedProblem owned = testing::random_problem(40, 40, 1e-2, 24);
      std::fill(owned.a.begin(), owned.a.end(), 1.0 / 40);
      std::fill(owned.b.begin(), owned.b.end(), 1.0 / 40);
      owned.a[0] += 1e-9;  // must get from the first half to the second by a single pair
      owned.a[39] -= 1e-9;
      for (std::size_t i = 0; i < 40; ++i) {
        for (std::size_t j = 0; j < 40; ++j) {
          const bool crosses = (i < 20) != (j < 20) && !(i == 19 && j == 20);
          if (crosses || (i > j ? i - j : j - i) > 2) owned.cost[i * 40 + j] = testing::kInfinity;
        }
      }
      expect_honest(owned, options);
    }
    {
      SCOPED_TRACE("constant, tiny, huge and shifted costs, and an outlier");
      for (const double scale : {0.0, 1e-12, 1e9}) {
        OwnedProblem owned = testing::point_problem(30, 20, 1e-2 * (scale > 0 ? scale : 1), 25);
        for (double& cost : owned.cost) cost = scale * (cost - 0.5);
        expect_honest(owned, options);
      }
      OwnedProblem owned = testing::point_problem(30, 20, 1e-2, 26);
      owned.cost[77] = 1e6;
      expect_honest(owned, options);
    }
  }
}

TEST(Awkward, OneOutlierAmongTheCostsDoesNotCostManyRounds) {
  OwnedProblem owned = testing::point_problem(60, 60, 0.05, 27);
  owned.cost[77] = 1e6;
  const Result plain = solve(owned.view(), with_method("sinkhorn"));
  const Result result = solve(owned.view(), with_method("auto"));
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_LE(static_cast<double>(result.iterations), 1.1 * static_cast<double>(plain.iterations) + 5);
}

// --- noise

/// Multiplies the scalings it passes on by exp(noise * N(0, 1)).
class NoisyExchanges final : public Exchanges {
 public:
  NoisyExchanges(std::unique_ptr<Exchanges> inner, double noise)
      : inner_(std::move(inner)), noise_(noise), random_(1) {}

  void columns_in(Payload kind, std::size_t targets, const double* own, double* known, std::span<Note> notes) override {
    inner_->columns_in(kind, targets, disturbed(kind, own, targets * columns().own.size()).data(), known, notes);
  }
  void rows_in(Payload kind, std::size_t targets, const double* own, double* known) override {
    inner_->rows_in(kind, targets, disturbed(kind, own, targets * rows().own.size()).data(), known);
  }
  void rows_out(Payload kind, std::size_t targets, const double* part, double* own) override {
    inner_->rows_out(kind, targets, part, own);
  }
  void columns_out(Payload kind, std::size_t targets, const double* part, const double* v, double* own) override {
    inner_->columns_out(kind, targets, part, v, own);
  }
  [[nodiscard]] Known rows() const override { return inner_->rows(); }
  [[nodiscard]] Known columns() const override { return inner_->columns(); }
  [[nodiscard]] std::uint64_t each_round() const override { return inner_->each_round(); }

 private:
  std::vector<double> disturbed(Payload kind, const double* values, std::size_t count) {
    std::vector<double> result(values, values + count);
    if (kind != Payload::slice) return result;
    for (double& x : result) x *= std::exp(noise_ * random_.normal());
    return result;
  }

  std::unique_ptr<Exchanges> inner_;
  double noise_;
  Random random_;
};

struct NoisyRun {
  double typical_error = 0;  // median of the last rows of the trace
  std::int64_t rejected = 0;
  std::int64_t iterations = 0;
};

NoisyRun solve_with_noise(const OwnedProblem& owned, Options options, double noise) {
  options.passes = Passes::two;  // u is exchanged, too
  options.topology = "centralized";
  Alone nobody;
  CountingCommunicator traffic(nobody);
  const Collectives clients(traffic, Route::direct);
  const TopologyEntry& entry = topologies().find(options.topology, "`topology`");
  const CheckedProblem problem = check_problem(
      owned.view(), options, [&](std::size_t) { return entry.layout(0, 1, options); }, clients, 1);
  const TopologyContext context{problem, options, clients, testing::block_settings(options, problem)};
  Topology topology(context, std::make_unique<NoisyExchanges>(entry.exchanges(context), noise));
  Monitor monitor(options, problem, traffic);
  const Pacing pacing{methods().find(options.method, "`method`"), 16};
  StopRequest nobody_asks;
  AbsorbedSinkhorn sinkhorn(problem, topology, traffic, monitor, pacing, safe_scaling(options.precision), 1,
                            nobody_asks);
  const std::vector<Outcome> outcomes = sinkhorn.run();
  NoisyRun run;
  run.rejected = sinkhorn.rejected();
  run.iterations = outcomes.front().iterations;
  std::vector<double> errors;
  const std::vector<TraceRow> trace = monitor.take_trace();
  for (std::size_t k = trace.size() - 40; k < trace.size(); ++k) errors.push_back(trace[k].error_b);
  std::nth_element(errors.begin(), errors.begin() + 20, errors.end());
  run.typical_error = errors[20];
  return run;
}

TEST(Noise, DoesNotMakeTheSafeguardLoopOrStall) {
  for (const double epsilon : {1e-2, 2e-3}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const OwnedProblem owned = testing::point_problem(60, 60, epsilon, seed);
      Options options = with_method("sinkhorn", 0);
      options.max_iterations = 2000;
      const NoisyRun plain = solve_with_noise(owned, options, 1e-3);
      options.max_iterations = 200;
      for (const std::string& method : testing::methods_that_accelerate()) {
        SCOPED_TRACE(method + ", epsilon " + std::to_string(epsilon));
        options.method = method;
        const NoisyRun noisy = solve_with_noise(owned, options, 1e-3);
        EXPECT_EQ(noisy.iterations, 200);
        EXPECT_LE(noisy.rejected, 105);                           // rounds that count are at least as many, but for ten
        EXPECT_LE(noisy.typical_error, 5 * plain.typical_error);  // down to the noise, as plain rounds in the end
      }
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
