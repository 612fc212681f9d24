// A few hundred points, where an iteration takes microseconds and everything around it shows.
#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>

#include "core/stopwatch.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/temporary_folder.hpp"
#include "matrix_problem.hpp"
#include "peer.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr std::size_t kSizes[] = {100, 200, 500, 1000};
/// Small enough that acceleration is busy in all the iterations, large enough that epsilon need not come down in
/// levels.
constexpr double kSmallEpsilon = 0.003;  // of the largest cost
constexpr int kSmallIterations = 40;
constexpr double kAdded = 1;  // iterations

constexpr std::size_t kPotSize = 200;
constexpr double kPotEpsilon = 0.01;
constexpr double kShareOfPot = 1.0 / 3;

Options options_of_small(const char* method, int threads) {
  Options options;
  options.backend = "cpu";
  options.method = method;
  options.threads = threads;
  return options;
}

/// An iteration, without the first.
double iteration_seconds(const Problem& problem, const char* method, int threads) {
  Options options = options_of_small(method, threads);
  options.tolerance = 0;
  options.max_iterations = kSmallIterations;
  const Result result = solve(problem, options);
  if (result.trace.size() != kSmallIterations) throw std::runtime_error("small: the solve did not run its budget");
  return (result.trace.back().seconds - result.trace[1].seconds) / (kSmallIterations - 2);
}

/// The accelerated solver and the plain one have the same solution.
void verify(const Problem& problem, int threads) {
  Options options = options_of_small("auto", threads);
  options.tolerance = 1e-11;
  const Result accelerated = solve(problem, options);
  options.method = "sinkhorn";
  const Result plain = solve(problem, options);
  if (accelerated.status != Status::converged || plain.status != Status::converged) {
    throw std::runtime_error("small: a solve did not converge");
  }
  require_close("small, linear cost", {accelerated.cost.linear}, {plain.cost.linear}, 1e-9);
}

void measure_acceleration(const Settings& settings, Report& report) {
  const int threads = settings.threads;
  const RoundRobin rounds{settings.rounds(31), 2};
  report.note(fmt::format("epsilon {}, {} iterations of a solve(), {} threads at most, {} rounds", kSmallEpsilon,
                          kSmallIterations, threads, rounds.rounds));
  Table table({"", "sinkhorn", "auto", "added", "added / iteration (middle 80 %)"});
  for (const std::size_t n : kSizes) {
    const MatrixProblem matrix(n, n, threads);
    const Problem problem = matrix.problem(kSmallEpsilon);
    verify(matrix.problem(kPotEpsilon), threads);
    const Contender contenders[] = {
        {fmt::format("n = {}, sinkhorn", n), [&] { return iteration_seconds(problem, "sinkhorn", threads); }},
        {fmt::format("n = {}, auto", n), [&] { return iteration_seconds(problem, "auto", threads); }},
    };
    const std::vector<Timing> timings = round_robin(rounds, contenders);
    report.timings(timings);
    std::vector<double> added = ratios(timings[1].seconds, timings[0].seconds);
    for (double& ratio : added) ratio -= 1;
    const double plain = median(timings[0].seconds);
    table.add({fmt::format("n = {}", n), duration_text(plain), duration_text(median(timings[1].seconds)),
               duration_text(median(added) * plain), ratio_text(added)});
    report.at_most(fmt::format("n = {}: what acceleration adds / iteration", n), median(added), kAdded);
  }
  report.print(table);
}

/// From the cost matrix to the result, to an L1 error of 1e-9. POT is told how many iterations that takes.
void measure_whole_call(const Settings& settings, Report& report) {
  const int threads = settings.threads;
  const MatrixProblem matrix(kPotSize, kPotSize, threads);
  const Problem problem = matrix.problem(kPotEpsilon);
  const Result plain = solve(problem, options_of_small("sinkhorn", threads));
  const Result accelerated = solve(problem, options_of_small("auto", threads));
  require_close("small, linear cost", {accelerated.cost.linear}, {plain.cost.linear}, 1e-7);
  const TemporaryFolder folder;
  matrix.write_exchanged(folder.path());
  const auto pot =
      Peer::start("pot", "python3-pot libopenblas0-pthread", folder.path().string(), kPotEpsilon, threads, report);

  constexpr int calls = 5;  // at a time
  const auto ours = [&](const char* method) {
    return Contender{fmt::format("solve(), {}", method), [&, method] {
                       const Timer timer;
                       for (int k = 0; k < calls; ++k) (void)solve(problem, options_of_small(method, threads));
                       return timer.seconds() / calls;
                     }};
  };
  std::vector<Contender> contenders = {ours("auto"), ours("sinkhorn")};
  if (pot) {
    contenders.push_back(
        {"POT sinkhorn", [&] {
           double seconds = 0;
           for (int k = 0; k < calls; ++k) {
             seconds +=
                 pot->ask(fmt::format("run sinkhorn {} {}", kPotEpsilon, plain.iterations)).at("seconds").get<double>();
           }
           return seconds / calls;
         }});
  }
  const RoundRobin rounds{settings.rounds(21), 2, 0.05};
  const std::vector<Timing> timings = round_robin(rounds, contenders);
  report.timings(timings);
  report.note(fmt::format("whole calls to an L1 error of 1e-9: n = {}, epsilon {}, {} rounds of {} calls", kPotSize,
                          kPotEpsilon, rounds.rounds, calls));
  Table table({"", "iterations", "median", "least", "p90", "x auto (middle 80 %)"});
  for (std::size_t k = 0; k < timings.size(); ++k) {
    const std::vector<double>& seconds = timings[k].seconds;
    table.add({timings[k].name, fmt::format("{}", k == 0 ? accelerated.iterations : plain.iterations),
               duration_text(median(seconds)), duration_text(quantile(seconds, 0)),
               duration_text(quantile(seconds, 0.9)), ratio_text(ratios(seconds, timings[0].seconds))});
  }
  report.print(table);
  if (pot) {
    report.at_most(fmt::format("n = {}: whole solve() / POT's call", kPotSize),
                   median(ratios(timings[0].seconds, timings[2].seconds)), kShareOfPot);
  }
}

}  // namespace

void measure_small(const Settings& settings, Report& report) {
  measure_acceleration(settings, report);
  measure_whole_call(settings, report);
}

}  // namespace fedsinkhorn::bench
