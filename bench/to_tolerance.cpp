// How long it takes to get there: an L1 error of 1e-9 at a small epsilon, with our methods and with other solvers.
//
// PyTorch and POT do plain Sinkhorn: they are told to make as many iterations as our plain one needs. They begin with v
// where we begin with u, so they are given the problem with its two sides exchanged, and all make the same iterations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "fedsinkhorn/npy.hpp"
#include "fedsinkhorn/solve.hpp"
#include "instance.hpp"
#include "io/temporary_folder.hpp"
#include "peer.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kEpsilon = 1e-3;  // of the largest cost, which is 1
constexpr double kTolerance = 1e-9;
constexpr std::int64_t kMostIterations = 100'000;
/// Who would need longer is not run to the end.
constexpr double kLongestSeconds = 600;
constexpr double kLongestSecondsQuick = 2;
constexpr int kCheckedIterations = 7;

/// Uniform points in a square and their costs as a matrix: what all solvers get. The parts point to each other.
class MatrixProblem {
 public:
  explicit MatrixProblem(std::size_t n) : points_(random_points(CloudKind::uniform, n, 2)), cost_(n * n) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double dx = points_.x[2 * i] - points_.y[2 * j];
        const double dy = points_.x[2 * i + 1] - points_.y[2 * j + 1];
        cost_[i * n + j] = dx * dx + dy * dy;
      }
    }
    problem_.cost = CostMatrix{MatrixView<double>{cost_.data(), n, n}};
    problem_.a = points_.a;
    problem_.b = {points_.b.data(), n, 1};
    problem_.epsilon = kEpsilon;
  }
  MatrixProblem(const MatrixProblem&) = delete;
  MatrixProblem& operator=(const MatrixProblem&) = delete;

  [[nodiscard]] const Problem& problem() const { return problem_; }

  /// With its sides exchanged.
  void write_exchanged(const std::filesystem::path& folder) const {
    const std::array<std::size_t, 2> cloud = {points_.a.size(), 2};
    const std::array<std::size_t, 1> masses = {points_.a.size()};
    write_npy(folder / "X.npy", points_.y, cloud);
    write_npy(folder / "Y.npy", points_.x, cloud);
    write_npy(folder / "a.npy", points_.b, masses);
    write_npy(folder / "b.npy", points_.a, masses);
  }

 private:
  Points points_;
  std::vector<double> cost_;
  Problem problem_;
};

Options options_for(const char* method, int threads) {
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

struct Rival {
  std::string name;
  const Peer* peer;
  std::string run;   ///< the question to which iterations are appended
  std::string time;  ///< the question for the seconds of an iteration
};

std::vector<Rival> rivals_of(const std::optional<Peer>& torch, const std::optional<Peer>& pot) {
  std::vector<Rival> rivals;
  if (torch) rivals.push_back({"PyTorch, two products", &*torch, "run", "time float64 20"});
  // One iteration more than from one check of the error to the next: see pot_peer.py.
  if (pot) {
    rivals.push_back({"POT sinkhorn_stabilized", &*pot, "run sinkhorn_stabilized", "time 21 sinkhorn_stabilized"});
    rivals.push_back({"POT sinkhorn_log", &*pot, "run sinkhorn_log", "time 11 sinkhorn_log"});
  }
  return rivals;
}

struct RivalRun {
  double seconds = 0;
  Result result;  ///< sides changed back
};

RivalRun run(const Rival& rival, std::int64_t iterations, const Result& shape) {
  const nlohmann::json answer = rival.peer->ask(fmt::format("{} {}", rival.run, iterations));
  RivalRun done;
  done.seconds = answer.at("seconds");
  done.result.rows = shape.rows;
  done.result.columns = shape.columns;
  done.result.f = answer.at("g").get<std::vector<double>>();
  done.result.g = answer.at("f").get<std::vector<double>>();
  done.result.f_rest.resize(done.result.f.size());
  done.result.g_rest.resize(done.result.g.size());
  return done;
}

/// Potentials are the same if they differ by a constant that f gains and g loses.
void require_same_potentials(const std::string& who, const Result& x, const Result& y) {
  const double shift = x.f.at(0) - y.f.at(0);
  double worst = 0;
  const auto see = [&](double difference) {
    if (!(std::abs(difference) <= worst)) worst = std::abs(difference);
  };
  for (std::size_t i = 0; i < x.f.size(); ++i) see(x.f[i] - y.f[i] - shift);
  for (std::size_t j = 0; j < x.g.size(); ++j) see(x.g[j] - y.g[j] + shift);
  if (!(worst <= 1e-9 * kEpsilon)) {
    throw std::runtime_error(fmt::format("to-tolerance: {}: potentials differ by {:.2g} epsilon after {} iterations",
                                         who, worst / kEpsilon, kCheckedIterations));
  }
}

// ---------------------------------------------------------------------------------------------------- ours

Result first_iterations(const Problem& problem, int iterations, int threads) {
  Options options = options_for("sinkhorn", threads);
  options.tolerance = 0;
  options.max_iterations = iterations;
  return solve(problem, options);
}

/// Seconds an iteration; the first, done in logs, is not counted.
Contender plain_iterations(const std::string& name, const Problem& problem, int threads) {
  return {name, [&problem, threads] {
            const std::vector<TraceRow> trace = first_iterations(problem, 21, threads).trace;
            return (trace.back().seconds - trace.front().seconds) / static_cast<double>(trace.size() - 1);
          }};
}

// ---------------------------------------------------------------------------------------------------- the table

struct Row {
  std::string name;
  std::int64_t iterations = 0;
  double iteration = 0;  ///< seconds
  double whole = 0;
  std::optional<double> error{};  ///< none: not run to the end
};

void print(const std::vector<Row>& rows, Report& report) {
  Table table({"", "iterations", "an iteration", "whole", "x auto", "L1 error"});
  for (const Row& row : rows) {
    const double ratio = row.whole / rows[0].whole;
    table.add({row.name, fmt::format("{}", row.iterations), duration_text(row.iteration),
               duration_text(row.whole) + (row.error ? "" : ", extrapolated"), fmt::format("{:.3g}", ratio),
               row.error ? fmt::format("{:.2g}", *row.error) : "not run"});
    report.value(row.name + (row.error ? ", whole" : ", whole, extrapolated"), row.whole);
    report.value(row.name + ", times as long as auto", ratio);
  }
  report.print(table);
}

}  // namespace

void measure_to_tolerance(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  const int threads = settings.threads;
  const double longest = settings.quick ? kLongestSecondsQuick : kLongestSeconds;
  const MatrixProblem matrix(n);
  const Problem& problem = matrix.problem();
  const TemporaryFolder folder;
  matrix.write_exchanged(folder.path());
  const auto start = [&](const char* name, const char* packages) {
    return Peer::start(name, packages, folder.path().string(), kEpsilon, threads, report);
  };
  const auto torch = start("torch", "python3-torch libopenblas0-pthread");
  const auto pot = start("pot", "python3-pot libopenblas0-pthread");
  const std::vector<Rival> rivals = rivals_of(torch, pot);

  const Result plain = solve(problem, options_for("sinkhorn", threads));
  Row our_plain{"fedsinkhorn, sinkhorn", plain.iterations, 0, plain.wall_seconds};
  our_plain.error = require_solved(our_plain.name, problem, plain, threads);
  const Result accelerated = solve(problem, options_for("auto", threads));
  Row our_auto{"fedsinkhorn, auto", accelerated.iterations};
  our_auto.error = require_solved(our_auto.name, problem, accelerated, threads);
  const Result begun = first_iterations(problem, kCheckedIterations, threads);
  for (const Rival& rival : rivals) {
    require_same_potentials(rival.name, run(rival, kCheckedIterations, plain).result, begun);
  }

  Timing auto_whole{our_auto.name, {}};
  const auto time_auto = [&] {
    const Result result = solve(problem, options_for("auto", threads));
    auto_whole.seconds.push_back(result.wall_seconds);
    return result.solve_seconds / static_cast<double>(result.iterations);
  };
  std::vector<Contender> contenders = {{"auto, an iteration", time_auto},
                                       plain_iterations("sinkhorn, an iteration", problem, threads)};
  for (const Rival& rival : rivals) contenders.push_back(rival.peer->contender(rival.name, rival.time));
  const RoundRobin rounds{settings.rounds(3), 0, 0.05};
  std::vector<Timing> timings = round_robin(rounds, contenders);

  our_auto.iteration = median(timings[0].seconds);
  our_plain.iteration = median(timings[1].seconds);
  std::vector<Row> rows = {our_auto, our_plain};
  for (std::size_t k = 0; k < rivals.size(); ++k) {
    Row row{rivals[k].name, plain.iterations, median(timings[k + 2].seconds)};
    row.whole = row.iteration * static_cast<double>(row.iterations);
    if (row.whole <= longest) {
      const RivalRun done = run(rivals[k], row.iterations, plain);
      row.whole = done.seconds;
      row.error = require_solved(row.name, problem, done.result, threads);
      (void)time_auto();
    }
    rows.push_back(row);
  }
  rows[0].whole = median(auto_whole.seconds);
  timings.push_back(auto_whole);
  report.timings(timings);

  report.note(fmt::format("n = {}, {} threads, costs as a matrix, epsilon {} of the largest, to an L1 error of {}", n,
                          threads, kEpsilon, kTolerance));
  report.note(fmt::format("an iteration: median of {} rounds in turns, rebuilds of the kernel and checks included",
                          rounds.rounds));
  report.note("whole: ours from the matrix to the result, POT a call, PyTorch its loop alone, which checks nothing");
  report.note(fmt::format(
      "extrapolated, where that is over {:g} s: an iteration times the iterations of plain Sinkhorn", longest));
  if (pot) report.note("POT sinkhorn_stabilized has tau = 1000 n: its own, 1000, fails from n = 1000 on (pot_peer.py)");
  print(rows, report);
  report.note(
      fmt::format("auto: {} levels of epsilon before the last, {} rejected rounds; {} whole solves took {} to {}",
                  accelerated.levels, accelerated.rejected, auto_whole.seconds.size(),
                  duration_text(quantile(auto_whole.seconds, 0)), duration_text(quantile(auto_whole.seconds, 1))));
}

}  // namespace fedsinkhorn::bench
