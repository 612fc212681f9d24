// An iteration while other processes keep all cores busy. With as many of them as threads, half of the machine is left:
// an iteration should take little more than twice as long, however its threads wait for each other.
#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "fedsinkhorn/solve.hpp"
#include "matrix_problem.hpp"
#include "plain_options.hpp"
#include "sections.hpp"
#include "spinners.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kSharedEpsilon = 0.05;  // of the largest cost
constexpr double kSharedGoal = 2.5;

struct Case {
  std::size_t n;
  int iterations;  // enough for the system to have taken the cores away many times
};
constexpr Case kCases[] = {{10000, 41}, {1000, 2001}};

/// The mean iteration without the first; the cost is for comparison.
double iteration_seconds(const Problem& problem, int iterations, int threads, std::vector<double>& costs) {
  Options options = plain_options(iterations, threads);
  const Result result = solve(problem, options);
  if (result.trace.size() != static_cast<std::size_t>(iterations)) {
    throw std::runtime_error("shared: the solve did not run its budget");
  }
  costs.push_back(result.cost.linear);
  return (result.trace.back().seconds - result.trace.front().seconds) / (iterations - 1);
}

}  // namespace

void measure_shared(const Settings& settings, Report& report) {
  Spinners spinners(settings.threads);
  const int rounds = settings.rounds(4);
  report.note(fmt::format("{} threads, {} other processes spinning, {} rounds; the mean iteration of a solve()",
                          settings.threads, settings.threads, rounds));
  Table table({"", "undisturbed", "disturbed", "x undisturbed (middle 80 %)"});
  for (const Case& c : kCases) {
    const std::size_t n = settings.quick ? c.n / 10 : c.n;
    const int iterations = settings.quick ? 11 : c.iterations;
    const MatrixProblem matrix(n, n, settings.threads);
    const Problem problem = matrix.problem(kSharedEpsilon);
    std::vector<double> costs;
    const auto measure = [&] { return iteration_seconds(problem, iterations, settings.threads, costs); };
    const Contender contenders[] = {
        {fmt::format("n = {}, undisturbed", n), measure},
        {fmt::format("n = {}, disturbed", n),
         [&] {
           spinners.spin();
           // Until the system has noticed whom it has to share the cores among.
           std::this_thread::sleep_for(std::chrono::milliseconds(settings.quick ? 1 : 50));
           const double seconds = measure();
           spinners.rest();
           return seconds;
         }},
    };
    const std::vector<Timing> timings = round_robin({rounds, 1, 0.05}, contenders);
    report.timings(timings);
    require_close("shared, linear cost", costs, std::vector<double>(costs.size(), costs.front()), 0);  // bit for bit
    const std::vector<double> ratio = ratios(timings[1].seconds, timings[0].seconds);
    table.add({fmt::format("n = {}", n), duration_text(median(timings[0].seconds)),
               duration_text(median(timings[1].seconds)), ratio_text(ratio)});
    report.at_most(fmt::format("n = {}: iteration, disturbed / undisturbed", n), median(ratio), kSharedGoal);
  }
  report.print(table);
}

}  // namespace fedsinkhorn::bench
