// What a solve does before its second iteration: input checked, first round, kernel built. It cannot take less than one
// read of the costs, one exponential an entry, and one write of the kernel into fresh memory.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "core/stopwatch.hpp"
#include "fedsinkhorn/solve.hpp"
#include "floors.hpp"
#include "matrix_problem.hpp"
#include "plain_options.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kFirstRoundEpsilon = 0.05;  // of the largest cost
constexpr double kLaterRounds = 5;
constexpr double kFloors = 1.5;
constexpr int kIterations = 20;

/// Seconds of one solve().
struct Parts {
  std::vector<double> first;   ///< from the call to the second iteration
  std::vector<double> checks;  ///< thereof before the iterations began
  std::vector<double> later;   ///< a later iteration, the median
  std::vector<double> end;     ///< from the last iteration to the return: evaluation, memory given back
};

void solve_once(const Problem& problem, Precision precision, int threads, Parts& parts) {
  std::vector<double> at;
  double before = 0;
  const Timer timer;
  Options options = plain_options(kIterations, threads);
  options.precision = precision;
  options.on_check = [&](const Progress& progress) {
    at.push_back(timer.seconds());
    if (at.size() == 1) before = at[0] - progress.seconds;
  };
  const Result result = solve(problem, options);
  const double whole = timer.seconds();
  if (!std::isfinite(result.cost.linear) || at.size() != kIterations) {
    throw std::runtime_error("first-round: the solve did not run its budget");
  }
  std::vector<double> later;
  for (std::size_t k = 2; k < at.size(); ++k) later.push_back(at[k] - at[k - 1]);
  parts.later.push_back(median(later));
  // Not the first check: a kernel that is built only when it is first used counts here, too.
  parts.first.push_back(at[1] - parts.later.back());
  parts.checks.push_back(before);
  parts.end.push_back(whole - at.back());
}

/// The kernel of less than float64, and passes, answer to the same iterations done in logs; on fewer points.
void verify(int threads) {
  const MatrixProblem matrix(300, 500, threads);
  Options options = plain_options(kIterations, threads);
  const Problem problem = matrix.problem(kFirstRoundEpsilon);
  const double stored = solve(problem, options).cost.linear;
  options.precision = Precision::mixed;
  const double mixed = solve(problem, options).cost.linear;
  options.precision = Precision::float64;
  options.stabilization = Stabilization::log;
  const double logs = solve(problem, options).cost.linear;
  require_close("first-round, linear cost", {stored}, {logs}, 1e-11);
  require_close("first-round, linear cost, mixed", {mixed}, {logs}, 1e-5);
}

void measure_case(const MatrixProblem& matrix, Precision precision, const Settings& settings, bool rounds_are_goal,
                  Report& report) {
  const Problem problem = matrix.problem(kFirstRoundEpsilon);
  const std::size_t entries = matrix.memory().size();
  const bool narrow = precision == Precision::mixed;
  const std::size_t bytes = entries * (narrow ? sizeof(float) : sizeof(double));
  const int threads = settings.threads;
  const cpu::Simd& simd = cpu::simd("auto");
  Parts parts;
  const Contender contenders[] = {
      timed("one read of C", [&] { read_once(simd, matrix.memory(), threads); }),
      timed("one exponential an entry", [&] { exponentials(simd, entries, threads); }),
      {"one write of K, fresh memory", [&] { return fresh_write_seconds(bytes, threads); }},
      timed("solve()", [&] { solve_once(problem, precision, threads, parts); }),
  };
  const RoundRobin rounds{settings.rounds(5), 0};
  const std::vector<Timing> timings = round_robin(rounds, contenders);
  const std::vector<double> floor = sums(sums(timings[0].seconds, timings[1].seconds), timings[2].seconds);

  const std::string label = fmt::format("{} x {}, {}", problem.a.size(), problem.b.rows, narrow ? "mixed" : "float64");
  report.note(fmt::format("{}, {} threads, {}, {} rounds", label, threads, simd.name, rounds.rounds));
  Table table({"", "median", "least", "p90", "x floor (middle 80 %)", "x later iteration (middle 80 %)"});
  std::vector<Timing> all;
  const auto row = [&](const std::string& name, const std::vector<double>& seconds) {
    table.add({name, duration_text(median(seconds)), duration_text(quantile(seconds, 0)),
               duration_text(quantile(seconds, 0.9)), ratio_text(ratios(seconds, floor)),
               ratio_text(ratios(seconds, parts.later))});
    all.push_back({fmt::format("{}: {}", label, name), seconds});
  };
  for (std::size_t k = 0; k < 3; ++k) row(timings[k].name, timings[k].seconds);
  row("floor: all three", floor);
  row("first round and kernel", parts.first);
  row("  thereof before iterations", parts.checks);
  row("a later iteration", parts.later);
  row("the end: evaluation, release", parts.end);
  report.print(table);
  report.timings(all);
  report.at_most(label + ": first round and kernel / floor", median(ratios(parts.first, floor)), kFloors);
  const std::string in_rounds = label + ": first round and kernel / later iteration";
  const double ratio = median(ratios(parts.first, parts.later));
  if (rounds_are_goal) report.at_most(in_rounds, ratio, kLaterRounds);
  if (!rounds_are_goal) report.value(in_rounds, ratio);
}

}  // namespace

void measure_first_round(const Settings& settings, Report& report) {
  verify(settings.threads);
  const std::size_t n = settings.size(10000);
  for (const std::size_t rows : {n, n * 3 / 10}) {
    const MatrixProblem matrix(rows, n, settings.threads);
    for (const Precision precision : {Precision::float64, Precision::mixed}) {
      measure_case(matrix, precision, settings, rows == n && precision == Precision::float64, report);
    }
  }
}

}  // namespace fedsinkhorn::bench
