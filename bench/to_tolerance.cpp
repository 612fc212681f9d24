// How long it takes to get there: from the cost matrix in memory to an L1 error of 1e-9, with our methods and with
// other solvers.
//
// PyTorch and POT do plain Sinkhorn: they are told to make as many iterations as our plain one needs. They begin with v
// where we begin with u, so they are given the problem with its two sides exchanged, and all make the same iterations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>

#include "fedsinkhorn/solve.hpp"
#include "io/temporary_folder.hpp"
#include "matrix_problem.hpp"
#include "peer.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kTolerance = 1e-9;
constexpr std::int64_t kMostIterations = 100'000;
/// Who would need longer is not run to the end.
constexpr double kLongestSeconds = 20;
constexpr double kLongestSecondsQuick = 0.5;
constexpr int kCheckedIterations = 7;
constexpr const char* kPlainPot = "sinkhorn";
/// What POT offers for a small epsilon.
constexpr const char* kStablePot = "sinkhorn_stabilized";

struct Level {
  double epsilon;  ///< of the largest cost, which is 1
  int rounds;
  double torch_goal;  ///< times as long as ours, at least
  double pot_goal;
  const char* pot_of_goal;  ///< which of POT's solvers the goal is about
};
constexpr Level kLevels[] = {{0.05, 4, 5, 6, kPlainPot}, {0.01, 2, 10, 12, kPlainPot}, {0.001, 3, 25, 60, kStablePot}};

Options options_to_tolerance(const char* method, int threads) {
  Options options;
  options.backend = "cpu";
  options.method = method;
  options.tolerance = kTolerance;
  options.max_iterations = kMostIterations;
  options.threads = threads;
  return options;
}

/// L1 error of the worse marginal, by the plan that the potentials define and nothing else of the solvers.
double plan_error(const Problem& problem, const Result& result, int threads) {
  constexpr std::size_t kRows = 64;
  const Plan plan(problem, result, threads);
  std::vector<double> block(kRows * result.columns);
  std::vector<double> columns(result.columns);
  double error_a = 0;
  for (std::size_t first = 0; first < result.rows; first += kRows) {
    const std::size_t count = std::min(kRows, result.rows - first);
    plan.rows(first, count, 0, block);
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < result.columns; ++j) {
        sum += block[i * result.columns + j];
        columns[j] += block[i * result.columns + j];
      }
      error_a += std::abs(sum - problem.a[first + i]);
    }
  }
  double error_b = 0;
  for (std::size_t j = 0; j < result.columns; ++j) error_b += std::abs(columns[j] - problem.b.data[j]);
  return error_a > error_b ? error_a : error_b;
}

double require_solved(const std::string& who, const Problem& problem, const Result& result, int threads) {
  const double error = plan_error(problem, result, threads);
  // The sums above round otherwise than those the solvers stop by.
  if (!(error <= 1.001 * kTolerance)) {
    throw std::runtime_error(fmt::format("to-tolerance: {}: L1 error {:.3g}", who, error));
  }
  return error;
}

// ---------------------------------------------------------------------------------------------------- others

struct Answer {
  double seconds = 0;  ///< kernel and iterations
  Result result;       ///< sides changed back
};

/// Another solver at one epsilon.
struct Rival {
  std::string name;
  double goal = 0;  ///< 0: none
  /// So many iterations from the cost matrix on.
  std::function<Answer(std::int64_t iterations)> run;
  /// What that many would take, by a few of them.
  std::function<double(std::int64_t iterations)> extrapolate;
};

Answer from_json(const nlohmann::json& answer, const Problem& problem) {
  Answer done;
  done.seconds = answer.at("seconds");
  done.result.rows = problem.a.size();
  done.result.columns = problem.b.rows;
  done.result.f = answer.at("g").get<std::vector<double>>();
  done.result.g = answer.at("f").get<std::vector<double>>();
  done.result.f_rest.resize(done.result.f.size());
  done.result.g_rest.resize(done.result.g.size());
  return done;
}

Rival torch_rival(const Peer& torch, const Level& level, const Problem& problem) {
  const double epsilon = level.epsilon;
  const auto ask = [&torch, epsilon](std::int64_t iterations) {
    return torch.ask(fmt::format("run {} {}", epsilon, iterations));
  };
  return {"PyTorch, two products", level.torch_goal,
          [ask, &problem](std::int64_t iterations) { return from_json(ask(iterations), problem); },
          [ask](std::int64_t iterations) {
            constexpr int some = 20;
            const nlohmann::json answer = ask(some);
            const double kernel = answer.at("kernel");
            return kernel + (answer.at("seconds").get<double>() - kernel) / some * static_cast<double>(iterations);
          }};
}

Rival pot_rival(const Peer& pot, const std::string& method, const Level& level, const Problem& problem) {
  const double epsilon = level.epsilon;
  return {"POT " + method, method == level.pot_of_goal ? level.pot_goal : 0,
          [&pot, &problem, method, epsilon](std::int64_t iterations) {
            return from_json(pot.ask(fmt::format("run {} {} {}", method, epsilon, iterations)), problem);
          },
          [&pot, method, epsilon](std::int64_t iterations) {
            constexpr int some = 21;  // one more than from one check of the error to the next: see pot_peer.py
            const nlohmann::json answer = pot.ask(fmt::format("time {} {} {}", some, method, epsilon));
            return answer.at("whole").get<double>() * some +
                   answer.at("seconds").get<double>() * static_cast<double>(iterations - some);
          }};
}

std::vector<Rival> rivals_of(const std::optional<Peer>& torch, const std::optional<Peer>& pot, const Level& level,
                             const Problem& problem) {
  std::vector<Rival> rivals;
  if (torch) rivals.push_back(torch_rival(*torch, level, problem));
  if (pot) {
    rivals.push_back(pot_rival(*pot, kPlainPot, level, problem));
    if (level.pot_of_goal != kPlainPot) rivals.push_back(pot_rival(*pot, level.pot_of_goal, level, problem));
  }
  return rivals;
}

/// Potentials are the same if they differ by a constant that f gains and g loses.
void require_same_potentials(const std::string& who, const Result& x, const Result& y, double epsilon) {
  const double shift = x.f.at(0) - y.f.at(0);
  double worst = 0;
  const auto see = [&](double difference) {
    if (!(std::abs(difference) <= worst)) worst = std::abs(difference);
  };
  for (std::size_t i = 0; i < x.f.size(); ++i) see(x.f[i] - y.f[i] - shift);
  for (std::size_t j = 0; j < x.g.size(); ++j) see(x.g[j] - y.g[j] + shift);
  if (!(worst <= 1e-9 * epsilon)) {
    throw std::runtime_error(fmt::format("to-tolerance: {}: potentials differ by {:.2g} epsilon after {} iterations",
                                         who, worst / epsilon, kCheckedIterations));
  }
}

// ---------------------------------------------------------------------------------------------------- one epsilon

/// The first run is verified; later ones are only timed.
Contender whole_run(const Rival& rival, std::int64_t iterations, const Problem& problem, int threads) {
  return {rival.name, [&rival, &problem, iterations, threads, is_verified = false]() mutable {
            const Answer answer = rival.run(iterations);
            if (!is_verified) (void)require_solved(rival.name, problem, answer.result, threads);
            is_verified = true;
            return answer.seconds;
          }};
}

void measure_level(const MatrixProblem& matrix, const std::optional<Peer>& torch, const std::optional<Peer>& pot,
                   const Level& level, const Settings& settings, Report& report) {
  const int threads = settings.threads;
  const Problem problem = matrix.problem(level.epsilon);
  const Result plain = solve(problem, options_to_tolerance("sinkhorn", threads));
  (void)require_solved("sinkhorn", problem, plain, threads);
  const Result accelerated = solve(problem, options_to_tolerance("auto", threads));
  (void)require_solved("auto", problem, accelerated, threads);
  Options brief = options_to_tolerance("sinkhorn", threads);
  brief.tolerance = 0;
  brief.max_iterations = kCheckedIterations;
  const Result begun = solve(problem, brief);
  const std::vector<Rival> rivals = rivals_of(torch, pot, level, problem);

  std::vector<Contender> contenders = {
      {"fedsinkhorn, auto", [&] { return solve(problem, options_to_tolerance("auto", threads)).wall_seconds; }}};
  const double longest = settings.quick ? kLongestSecondsQuick : kLongestSeconds;
  for (const Rival& rival : rivals) {
    require_same_potentials(rival.name, rival.run(kCheckedIterations).result, begun, level.epsilon);
    if (rival.extrapolate(plain.iterations) <= longest) {
      contenders.push_back(whole_run(rival, plain.iterations, problem, threads));
    } else {
      contenders.push_back(
          {rival.name + ", extrapolated", [&rival, &plain] { return rival.extrapolate(plain.iterations); }});
    }
  }
  const RoundRobin rounds{settings.rounds(level.rounds), 0, 0.05};
  std::vector<Timing> timings = round_robin(rounds, contenders);

  report.note(fmt::format("epsilon {}, {} rounds; auto: {} levels of epsilon before the last, {} rejected iterations",
                          level.epsilon, rounds.rounds, accelerated.levels, accelerated.rejected));
  Table table({"", "iterations", "whole", "least", "most", "x auto (middle 80 %)"});
  for (std::size_t k = 0; k < timings.size(); ++k) {
    const std::vector<double>& seconds = timings[k].seconds;
    table.add({timings[k].name, fmt::format("{}", k == 0 ? accelerated.iterations : plain.iterations),
               duration_text(median(seconds)), duration_text(quantile(seconds, 0)), duration_text(quantile(seconds, 1)),
               ratio_text(ratios(seconds, timings[0].seconds))});
  }
  table.add({"fedsinkhorn, sinkhorn, once", fmt::format("{}", plain.iterations), duration_text(plain.wall_seconds), "",
             "", fmt::format("{:.3f}", plain.wall_seconds / median(timings[0].seconds))});
  report.print(table);
  const std::string label = fmt::format("epsilon {}: ", level.epsilon);
  for (std::size_t k = 0; k < rivals.size(); ++k) {
    const std::string what = fmt::format("{}whole solve(), times faster than {}", label, contenders[k + 1].name);
    const double ratio = median(ratios(timings[k + 1].seconds, timings[0].seconds));
    if (rivals[k].goal > 0) report.at_least(what, ratio, rivals[k].goal);
    if (rivals[k].goal == 0) report.value(what, ratio);
  }
  for (Timing& timing : timings) timing.name = label + timing.name;
  report.timings(timings);
}

}  // namespace

void measure_to_tolerance(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  const MatrixProblem matrix(n, n, settings.threads);
  const TemporaryFolder folder;
  matrix.write_exchanged(folder.path());
  const auto start = [&](const char* name, const char* packages) {
    return Peer::start(name, packages, folder.path().string(), kLevels[0].epsilon, settings.threads, report);
  };
  const auto torch = start("torch", "python3-torch libopenblas0-pthread");
  const auto pot = start("pot", "python3-pot libopenblas0-pthread");

  report.note(fmt::format("n = {}, {} threads, costs as a matrix, to an L1 error of {}; epsilon: of the largest cost",
                          n, settings.threads, kTolerance));
  report.note(
      "whole: ours from the matrix to the result, POT a call, PyTorch its kernel and loop, which checks nothing");
  report.note(
      fmt::format("extrapolated, where a run takes over {:g} s: its beginning, and the time of an iteration for "
                  "each that plain Sinkhorn needs",
                  settings.quick ? kLongestSecondsQuick : kLongestSeconds));
  if (pot) report.note("POT sinkhorn_stabilized has tau = 1000 n: its own, 1000, fails from n = 1000 on (pot_peer.py)");
  for (const Level& level : kLevels) measure_level(matrix, torch, pot, level, settings, report);
}

}  // namespace fedsinkhorn::bench
