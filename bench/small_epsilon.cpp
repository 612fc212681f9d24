// A small epsilon makes potentials large beside it, so that they have to be folded into the kernel, and the kernel be
// rebuilt, now and then. That must not show in the time of an iteration.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "core/stopwatch.hpp"
#include "fedsinkhorn/solve.hpp"
#include "instance.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kLarge = 0.05;  // of the largest cost, which is 1
constexpr double kSmall = 1e-4;
constexpr double kGoal = 1.2;

struct Solve {
  double all = 0;          ///< seconds an iteration, all of them
  double after_first = 0;  ///< without the first, which is done in logs whatever epsilon is
  double typical = 0;      ///< the median iteration, which has no rebuild in it
  Result result;
};

Solve solve_once(const Instance& instance, const Options& options) {
  Solve solve;
  solve.result = fedsinkhorn::solve(instance.problem(), options);
  const std::vector<TraceRow>& trace = solve.result.trace;
  if (!std::isfinite(solve.result.cost.linear) || trace.size() != static_cast<std::size_t>(options.max_iterations)) {
    throw std::runtime_error("small-epsilon: the solve did not run its budget");
  }
  std::vector<double> iterations;
  for (std::size_t k = 1; k < trace.size(); ++k) iterations.push_back(trace[k].seconds - trace[k - 1].seconds);
  solve.all = solve.result.solve_seconds / static_cast<double>(trace.size());
  solve.after_first = (trace.back().seconds - trace.front().seconds) / static_cast<double>(trace.size() - 1);
  solve.typical = median(iterations);
  return solve;
}

/// The absorbed iteration answers to the one done in logs throughout, at the small epsilon, on fewer points.
void verify(const Settings& settings) {
  const Instance instance(random_points(300, 2), kSmall, settings.threads);
  Options options;
  options.tolerance = 0;
  options.max_iterations = 60;
  options.threads = settings.threads;
  const Result absorbed = solve(instance.problem(), options);
  options.stabilization = Stabilization::log;
  const Result logs = solve(instance.problem(), options);
  require_close("small-epsilon, linear cost", {absorbed.cost.linear}, {logs.cost.linear}, 1e-9);
}

}  // namespace

void measure_small_epsilon(const Settings& settings, Report& report) {
  verify(settings);
  const std::size_t n = settings.size(10000);
  const Points points = random_points(n, 2);
  const Instance large(points, kLarge, settings.threads);
  const Instance small(points, kSmall, settings.threads);
  Options options;
  options.tolerance = 0;
  options.max_iterations = settings.quick ? 10 : 60;
  options.threads = settings.threads;

  Table table({"", "an iteration", "without first", "typical", "absorptions"});
  std::vector<Timing> timings = {{"epsilon 0.05", {}}, {"epsilon 0.0001", {}}};
  std::vector<double> all_ratios;
  std::vector<double> typical_ratios;
  const int rounds = settings.rounds(5);
  std::vector<Solve> last;
  for (int round = 0; round < rounds; ++round) {
    last.clear();
    for (const Instance* instance : {&large, &small}) last.push_back(solve_once(*instance, options));
    for (std::size_t k = 0; k < 2; ++k) timings[k].seconds.push_back(last[k].after_first);
    all_ratios.push_back(last[1].all / last[0].all);
    typical_ratios.push_back(last[1].typical / last[0].typical);
  }
  for (std::size_t k = 0; k < 2; ++k) {
    table.add({timings[k].name, duration_text(last[k].all), duration_text(last[k].after_first),
               duration_text(last[k].typical), fmt::format("{}", last[k].result.absorptions)});
  }
  const std::vector<double> after_first = ratios(timings[1].seconds, timings[0].seconds);
  table.add({"ratio, all rounds", ratio_text(all_ratios), ratio_text(after_first), ratio_text(typical_ratios), ""});
  report.note(fmt::format("n = {}, {} threads, {} iterations, {} rounds; rows of the last round", n, settings.threads,
                          options.max_iterations, rounds));
  report.print(table);
  report.timings(timings);
  report.value("absorptions at epsilon 0.0001", static_cast<double>(last[1].result.absorptions));
  report.at_most("iteration at epsilon 1e-4 / at 0.05", median(after_first), kGoal);
}

}  // namespace fedsinkhorn::bench
