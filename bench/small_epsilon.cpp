// A small epsilon makes potentials large beside it, so that they have to be folded into the kernel, and the kernel be
// rebuilt, now and then. That must not show in the time of an iteration.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "fedsinkhorn/solve.hpp"
#include "instance.hpp"
#include "plain_options.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kLarge = 0.05;  // of the largest cost, which is 1
constexpr double kSmall = 1e-4;
constexpr double kSmallEpsilonGoal = 1.2;

struct Solve {
  double seconds = 0;  ///< an iteration, rebuilds included; the first, done in logs whatever epsilon is, is not counted
  double typical = 0;  ///< the median iteration, which has no rebuild in it
  std::int64_t absorptions = 0;
};

Solve solve_once(const Instance& instance, const Options& options) {
  const Result result = solve(instance.problem(), options);
  const std::vector<TraceRow>& trace = result.trace;
  if (!std::isfinite(result.cost.linear) || trace.size() != static_cast<std::size_t>(options.max_iterations)) {
    throw std::runtime_error("small-epsilon: the solve did not run its budget");
  }
  std::vector<double> iterations;
  for (std::size_t k = 1; k < trace.size(); ++k) iterations.push_back(trace[k].seconds - trace[k - 1].seconds);
  const double all = trace.back().seconds - trace.front().seconds;
  return {all / static_cast<double>(iterations.size()), median(iterations), result.absorptions};
}

/// The absorbed iteration answers to the one done in logs throughout, at the small epsilon, on fewer points.
void verify(CloudKind kind, int threads) {
  const Instance instance(random_points(kind, 300, 2), kSmall, threads);
  Options options = plain_options(60, threads);
  const Result absorbed = solve(instance.problem(), options);
  options.stabilization = Stabilization::log;
  const Result logs = solve(instance.problem(), options);
  require_close("small-epsilon, linear cost", {absorbed.cost.linear}, {logs.cost.linear}, 1e-9);
}

struct SmallEpsilonCase {
  const char* name;
  CloudKind kind;
  Precision precision;
};

// Clusters far apart move the potentials most. A kernel held in float32 has less room for them.
constexpr SmallEpsilonCase kSmallEpsilonCases[] = {
    {"uniform", CloudKind::uniform, Precision::float64},
    {"clusters", CloudKind::clusters, Precision::float64},
    {"uniform, mixed", CloudKind::uniform, Precision::mixed},
    {"clusters, mixed", CloudKind::clusters, Precision::mixed},
};

}  // namespace

void measure_small_epsilon(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  const int rounds = settings.rounds(3);
  Options options = plain_options(settings.quick ? 10 : 60, settings.threads);
  report.note(fmt::format("n = {}, {} threads, {} iterations, {} rounds; rebuilds of the kernel counted in", n,
                          settings.threads, options.max_iterations, rounds));
  Table table({"", fmt::format("epsilon {}", kLarge), fmt::format("epsilon {}", kSmall), "ratio (middle 80 %)",
               "typical iterations", "rebuilds"});
  for (const SmallEpsilonCase& c : kSmallEpsilonCases) {
    verify(c.kind, settings.threads);
    options.precision = c.precision;
    const Points points = random_points(c.kind, n, 2);
    const Instance large(points, kLarge, settings.threads);
    const Instance small(points, kSmall, settings.threads);
    Timing at_large{fmt::format("{}, epsilon {}", c.name, kLarge), {}};
    Timing at_small{fmt::format("{}, epsilon {}", c.name, kSmall), {}};
    std::vector<double> typical;
    std::int64_t absorptions = 0;
    for (int round = 0; round < rounds; ++round) {
      const Solve first = solve_once(large, options);
      const Solve second = solve_once(small, options);
      at_large.seconds.push_back(first.seconds);
      at_small.seconds.push_back(second.seconds);
      typical.push_back(second.typical / first.typical);
      absorptions = second.absorptions;
    }
    const std::vector<double> ratio = ratios(at_small.seconds, at_large.seconds);
    table.add({c.name, duration_text(median(at_large.seconds)), duration_text(median(at_small.seconds)),
               ratio_text(ratio), ratio_text(typical), fmt::format("{}", absorptions)});
    report.timings({at_large, at_small});
    report.at_most(fmt::format("{}: iteration at epsilon {} / at {}", c.name, kSmall, kLarge), median(ratio),
                   kSmallEpsilonGoal);
  }
  report.print(table);
}

}  // namespace fedsinkhorn::bench
