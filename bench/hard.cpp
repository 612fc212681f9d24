// Problems on which acceleration alone is slow: how many rounds `auto` needs, and how long that takes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <stdexcept>

#include "fedsinkhorn/npy.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/temporary_folder.hpp"
#include "peer.hpp"
#include "sections.hpp"
#include "synthetic/hard_problems.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr std::int64_t kMostRounds = 600;
constexpr std::int64_t kUsualRounds = 250;
constexpr double kShareOfUsual = 0.95;
constexpr double kTolerance = 1e-9;
constexpr std::size_t kClients = 4;  // under policy sums
constexpr std::int64_t kMostRoundsOfSums = 10000;
constexpr double kEpsilons[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};  // of the largest cost

struct HardShape {
  std::size_t n, m;
};
constexpr HardShape kHardShapes[] = {{300, 300}, {500, 400}, {100, 2000}};
constexpr HardShape kSmallShapes[] = {{60, 60}, {50, 40}, {20, 150}};

Problem problem_of(const HardProblem& drawn, double epsilon) {
  Problem problem;
  problem.cost = CostMatrix{MatrixView<double>{drawn.cost.data(), drawn.n, drawn.m}};
  problem.epsilon = epsilon;
  problem.a = drawn.a;
  problem.b = {drawn.b.data(), drawn.m, 1};
  return problem;
}

Options options_for(const char* method, int threads) {
  Options options;
  options.backend = "cpu";
  options.method = method;
  options.threads = threads;
  options.tolerance = kTolerance;
  options.max_iterations = kMostRounds;
  return options;
}

Options options_for_sums() {
  Options options = options_for("auto", 1);
  options.clients = kClients;
  options.policy = "sums";
  options.max_iterations = kMostRoundsOfSums;
  return options;
}

/// A method on many problems.
struct Tally {
  std::vector<double> rounds;
  std::vector<double> sums;  // of vectors over the columns
  double seconds = 0;
  std::size_t converged = 0;

  void solve_one(const Problem& problem, const Options& options) {
    const Result result = solve(problem, options);
    rounds.push_back(static_cast<double>(result.iterations));
    sums.push_back(static_cast<double>(result.sums.seen) / static_cast<double>(problem.b.rows));
    seconds += result.wall_seconds;
    if (result.status != Status::converged) return;
    ++converged;
    // Evaluated from the potentials and the costs as given. Sums there round otherwise than those the solver stops by.
    if (!(std::max(result.exact_error.a, result.exact_error.b) <= 1.001 * kTolerance)) {
      throw std::runtime_error(fmt::format("hard: {} says that it has converged at an error of {:.3g}", options.method,
                                           std::max(result.exact_error.a, result.exact_error.b)));
    }
  }
  void add(const Tally& other) {
    rounds.insert(rounds.end(), other.rounds.begin(), other.rounds.end());
    sums.insert(sums.end(), other.sums.begin(), other.sums.end());
    seconds += other.seconds;
    converged += other.converged;
  }
};

/// Methods take turns on every problem.
struct Tallies {
  Tally automatic, anderson, secure;

  void add(const Tallies& other) {
    automatic.add(other.automatic);
    anderson.add(other.anderson);
    secure.add(other.secure);
  }
};

Tallies tallies_of(std::string_view family, std::span<const HardShape> shapes, std::uint64_t seeds, int threads) {
  Tallies tallies;
  for (const HardShape shape : shapes) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const HardProblem drawn = hard_problem(family, shape.n, shape.m, seed);
      for (const double epsilon : kEpsilons) {
        const Problem problem = problem_of(drawn, epsilon);
        tallies.automatic.solve_one(problem, options_for("auto", threads));
        tallies.anderson.solve_one(problem, options_for("anderson", threads));
        tallies.secure.solve_one(problem, options_for_sums());
      }
    }
  }
  return tallies;
}

std::vector<std::string> quantiles(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double share : {0.5, 0.95, 1.0}) texts.push_back(fmt::format("{:.0f}", quantile(values, share)));
  return texts;
}

std::vector<std::string> row_of(std::string_view name, const Tallies& tallies) {
  const Tally& automatic = tallies.automatic;
  const Tally& anderson = tallies.anderson;
  std::vector<std::string> row = {std::string(name), fmt::format("{}", automatic.rounds.size()),
                                  fmt::format("{}", automatic.converged)};
  std::ranges::copy(quantiles(automatic.rounds), std::back_inserter(row));
  row.push_back(duration_text(automatic.seconds));
  row.push_back(fmt::format("{}", anderson.converged));
  row.push_back(duration_text(anderson.seconds));
  return row;
}

/// Beside policy open, which takes the rounds of one client.
std::vector<std::string> row_of_sums(std::string_view name, const Tallies& tallies) {
  const Tally& secure = tallies.secure;
  std::vector<std::string> row = {std::string(name), fmt::format("{}", secure.rounds.size()),
                                  fmt::format("{}", secure.converged)};
  for (const auto& values : {tallies.automatic.rounds, secure.rounds, secure.sums}) {
    std::ranges::copy(quantiles(values), std::back_inserter(row));
  }
  row.push_back(duration_text(secure.seconds));
  return row;
}

void measure_families(const Settings& settings, Report& report) {
  const std::span<const HardShape> shapes = settings.quick ? kSmallShapes : kHardShapes;
  const auto seeds = static_cast<std::uint64_t>(settings.quick ? 1 : settings.rounds(1));
  std::string sizes;
  for (const HardShape shape : shapes) sizes += fmt::format("{} x {}, ", shape.n, shape.m);
  report.note(fmt::format("{}epsilon {} to {} of the largest cost, {} seeds, {} threads at most", sizes, kEpsilons[0],
                          *(std::end(kEpsilons) - 1), seeds, settings.threads));
  report.note(
      fmt::format("to an L1 error of {} in at most {} rounds; rounds and seconds include those of solves that "
                  "do not converge",
                  kTolerance, kMostRounds));
  Table table({"", "problems", "converged", "median rounds", "95 %", "most", "seconds", "anderson converged",
               "anderson seconds"});
  Table sums({"policy sums", "problems", "converged", "open: median rounds", "95 %", "most", "sums: median rounds",
              "95 %", "most", "median sums", "95 %", "most", "seconds"});
  Tallies all;
  for (const std::string_view family : hard_families()) {
    const Tallies tallies = tallies_of(family, shapes, seeds, settings.threads);
    table.add(row_of(family, tallies));
    sums.add(row_of_sums(family, tallies));
    report.value(fmt::format("{}: median rounds", family), median(tallies.automatic.rounds));
    report.value(fmt::format("{}: seconds", family), tallies.automatic.seconds);
    all.add(tallies);
  }
  table.add(row_of("all", all));
  report.print(table);
  sums.add(row_of_sums("all", all));
  report.note(
      fmt::format("the same by {} clients under policy sums, up to {} rounds; sums are of vectors over the columns, "
                  "set-up and end among them",
                  kClients, kMostRoundsOfSums));
  report.print(sums);
  const auto problems = static_cast<double>(all.automatic.rounds.size());
  const auto usual = std::ranges::count_if(all.automatic.rounds, [](double rounds) { return rounds <= kUsualRounds; });
  report.at_least(fmt::format("auto: share converged within {} rounds", kMostRounds),
                  static_cast<double>(all.automatic.converged) / problems, 1);
  report.at_least(fmt::format("sums: share converged within {} rounds", kMostRoundsOfSums),
                  static_cast<double>(all.secure.converged) / problems, 1);
  report.at_least(fmt::format("auto: share within {} rounds", kUsualRounds), static_cast<double>(usual) / problems,
                  kShareOfUsual);
}

// ---------------------------------------------------------------------------------------- beside the linear program

constexpr std::string_view kBesideEmd[] = {"clusters-2", "clusters-8", "clusters-64"};
constexpr double kEpsilonsBesideEmd[] = {1e-4, 1e-5};

/// One run of each: what takes seconds to minutes is not a matter of microseconds.
void solve_beside_emd(const Peer& pot, std::string_view family, std::size_t n, int threads, Table& table,
                      Report& report) {
  const HardProblem drawn = hard_problem(family, n, n, 1);
  const TemporaryFolder folder;
  write_npy(folder.path() / "C.npy", drawn.cost, std::array{n, n});
  write_npy(folder.path() / "a.npy", drawn.a, std::array{n});
  write_npy(folder.path() / "b.npy", drawn.b, std::array{n});
  const nlohmann::json program = pot.ask("emd " + folder.path().string());
  if (!program.at("warning").get<std::string>().empty()) {
    throw std::runtime_error("hard: POT emd: " + program.at("warning").get<std::string>());
  }
  const double emd_seconds = program.at("seconds");
  for (const double epsilon : kEpsilonsBesideEmd) {
    const Result result = solve(problem_of(drawn, epsilon), options_for("auto", threads));
    const double excess = result.cost.linear - program.at("cost").get<double>();
    // Uniform masses: the entropy of a plan is between log n and 2 log n.
    if (result.status == Status::converged &&
        !(excess >= -1e-7 && excess <= epsilon * std::log(static_cast<double>(n)) + 1e-7)) {
      throw std::runtime_error(
          fmt::format("hard: {}, n = {}: the plan costs {:.3g} more than POT's", family, n, excess));
    }
    table.add({fmt::format("{}, n = {}", family, n), fmt::format("{}", epsilon), fmt::format("{}", result.iterations),
               result.status == Status::converged ? duration_text(result.wall_seconds) : "not converged",
               duration_text(emd_seconds), fmt::format("{:.3f}", result.wall_seconds / emd_seconds),
               fmt::format("{:.2g}", excess)});
    report.value(fmt::format("{}, n = {}, epsilon {}: seconds / POT emd's", family, n, epsilon),
                 result.wall_seconds / emd_seconds);
  }
}

void measure_beside_emd(const Settings& settings, Report& report) {
  std::vector<std::size_t> sizes = {1000, 2000};
  if (settings.quick) sizes = {200};
  if (settings.n != 0) sizes = {settings.n};
  report.note("beside the linear program, which POT's emd solves exactly on one thread; uniform masses, once each");
  const auto pot = Peer::start("pot", "python3-pot", "10", 1, settings.threads, report);
  if (!pot) return;
  Table table({"", "epsilon", "rounds", "auto", "POT emd", "auto / emd", "cost above emd's"});
  for (const std::size_t n : sizes) {
    for (const std::string_view family : kBesideEmd) solve_beside_emd(*pot, family, n, settings.threads, table, report);
  }
  report.print(table);
}

}  // namespace

void measure_hard(const Settings& settings, Report& report) {
  measure_families(settings, report);
  measure_beside_emd(settings, report);
}

}  // namespace fedsinkhorn::bench
