// The same iterations by clients that are processes of one thread each: ours, and the paper's stack re-created
// (peers/paper_stack.py). Every timing is a job of its own under mpirun, and the jobs take turns. Ours check the error
// every iteration, the paper's never do.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "federated_run.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr int kCheckedIterations = 7;

struct Potentials {
  std::vector<double> f, g;
};

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

/// f and g are each determined up to a constant, their sum is not.
void require_same(const std::string& what, const Potentials& x, const Potentials& y, double tolerance) {
  const double of_f = mean(x.f) - mean(y.f);
  const double of_g = mean(x.g) - mean(y.g);
  double worst = std::abs(of_f + of_g);
  bool finite = std::isfinite(worst) && x.f.size() == y.f.size() && x.g.size() == y.g.size();
  for (std::size_t i = 0; finite && i < x.f.size(); ++i) worst = std::max(worst, std::abs(x.f[i] - y.f[i] - of_f));
  for (std::size_t j = 0; finite && j < x.g.size(); ++j) worst = std::max(worst, std::abs(x.g[j] - y.g[j] - of_g));
  if (!finite || worst > tolerance) {
    throw std::runtime_error(fmt::format("federated, {}: potentials differ by {}", what, worst));
  }
}

/// Of an iteration, in the client that computes most.
struct Shares {
  double compute = 0;
  double communication = 0;
};

/// The program counts a whole solve. Around the rounds, while kernels are built and the result is evaluated, clients
/// are taken to wait for each other as much as in a brief run, which does little else.
Shares shares(const FederatedRun& run, int iterations, const FederatedRun& brief) {
  const auto more = [](const ClientFigures& x, const ClientFigures& y) {
    return x.compute_seconds < y.compute_seconds;
  };
  const auto busiest = std::max_element(run.clients.begin(), run.clients.end(), more);
  const ClientFigures& around = brief.clients[static_cast<std::size_t>(busiest - run.clients.begin())];
  const double rounds = run.seconds * (iterations - 2);
  const double rest = std::max(0.0, busiest->compute_seconds + busiest->communication_seconds - rounds);
  const double waiting = around.communication_seconds / (around.compute_seconds + around.communication_seconds);
  const double communication = std::clamp(busiest->communication_seconds - waiting * rest, 0.0, rounds);
  return {run.seconds - communication / (iterations - 2), communication / (iterations - 2)};
}

/// Someone who takes part: timed round by round, with the shares of each round.
struct Participant {
  std::string name;
  std::vector<double> seconds;
  std::vector<double> compute;
  std::vector<double> communication;

  void add(double iteration, const Shares& parts) {
    seconds.push_back(iteration);
    compute.push_back(parts.compute);
    communication.push_back(parts.communication);
  }
};

struct Ours {
  const char* name;
  const char* topology;
  const char* precision;
  double tolerance;  // to which it agrees with one client
  const char* paper;
  double goal;  // times faster than the paper's
  bool paper_grid = false;
};

constexpr const char* kRowReduce = "row-reduce";
constexpr double kProcessesAgainstThreads = 1.1;  // times as long as the other, whichever is slower

// A float32 kernel is off by 6e-8, and so are the logarithms of its sums; times epsilon.
constexpr Ours kOurs[] = {
    {"all-to-all", "all-to-all", "float64", 1e-9, "all-to-all", 1.0},
    {"star", "star", "float64", 1e-9, "star", 1.0},
    // Two clients of ours have one column of blocks, which one pass does; the paper's have one row, which takes two.
    {"grid", "grid", "float64", 1e-9, "grid", 1.0},
    {"grid, the paper's shape", "grid", "float64", 1e-9, "grid", 1.0, true},
    {kRowReduce, "row-reduce", "float64", 1e-9, "all-to-all", 1.7},
    {"row-reduce, mixed", "row-reduce", "mixed", 1e-7, "all-to-all", 0},
};
constexpr const char* kPaper[] = {"all-to-all", "star", "grid"};

}  // namespace

void measure_federated(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  const int clients = settings.clients;
  const int iterations = settings.quick ? kCheckedIterations + 3 : 40;
  const RoundRobin rounds{settings.quick && settings.repetitions == 0 ? 1 : settings.rounds(3), 0, 0};
  // Python takes seconds to start: too long for a smoke test.
  const auto paper = settings.quick ? std::nullopt : PaperStack::find(report);
  if (!has_mpirun()) report.note("no mpirun: clients are threads of one process");
  const ProblemOnDisk problem(n);

  const FederatedRun one = run_ours(problem, {"centralized", "float64", 1, kCheckedIterations});
  std::vector<FederatedRun> brief;
  for (const Ours& ours : kOurs) {
    brief.push_back(run_ours(problem, {ours.topology, ours.precision, clients, kCheckedIterations, ours.paper_grid}));
    require_same(ours.name, {brief.back().f, brief.back().g}, {one.f, one.g}, ours.tolerance);
  }
  std::vector<Participant> participants;
  participants.reserve(std::size(kOurs) + std::size(kPaper) + 1);  // the contenders below point to them
  std::vector<Contender> contenders;
  for (const char* topology : kPaper) {
    if (!paper) break;
    const PaperStack::Run run = paper->run(problem, topology, clients, kCheckedIterations);
    require_same(fmt::format("the paper's {}", topology), {run.f, run.g}, {one.f, one.g}, 1e-9);
    Participant& participant = participants.emplace_back();
    participant.name = fmt::format("paper's {}", topology);
    contenders.push_back({participant.name, [&, topology] {
                            const PaperStack::Run timed = paper->run(problem, topology, clients, iterations);
                            participant.add(timed.seconds, {timed.compute, timed.communication});
                            return timed.seconds;
                          }});
  }
  for (std::size_t k = 0; k < std::size(kOurs); ++k) {
    Participant& participant = participants.emplace_back();
    participant.name = kOurs[k].name;
    contenders.push_back({participant.name, [&, k] {
                            const Ours& ours = kOurs[k];
                            const FederatedRun timed = run_ours(
                                problem, {ours.topology, ours.precision, clients, iterations, ours.paper_grid});
                            participant.add(timed.seconds, shares(timed, iterations, brief[k]));
                            return timed.seconds;
                          }});
  }
  // The same cores as threads of one process, who send nothing.
  const FederatedRun one_threaded =
      run_ours(problem, {"centralized", "float64", 1, kCheckedIterations, false, clients});
  require_same("one process of several threads", {one_threaded.f, one_threaded.g}, {one.f, one.g}, 0);
  Participant& threads = participants.emplace_back();
  threads.name = fmt::format("one process of {} threads", clients);
  contenders.push_back(
      {threads.name, [&] {
         const FederatedRun timed = run_ours(problem, {"centralized", "float64", 1, iterations, false, clients});
         threads.add(timed.seconds, {timed.seconds, 0});
         return timed.seconds;
       }});
  report.timings(round_robin(rounds, contenders));

  report.note(fmt::format("n = {}, {} clients of 1 thread, {} rounds of {} iterations; shares: of the busiest client",
                          n, clients, rounds.rounds, iterations));
  const auto seconds_of = [&](const std::string& name) -> const std::vector<double>& {
    return std::ranges::find(participants, name, &Participant::name)->seconds;
  };
  Table table(
      {"", "an iteration", "least", "p90", "computing", "communicating", "faster than the paper's (middle 80 %)"});
  for (const Participant& participant : participants) {
    const auto* ours =
        std::find_if(std::begin(kOurs), std::end(kOurs), [&](const Ours& o) { return participant.name == o.name; });
    std::string faster;
    if (paper && ours != std::end(kOurs)) {
      const std::vector<double> ratio = ratios(seconds_of(fmt::format("paper's {}", ours->paper)), participant.seconds);
      faster = fmt::format("{} {}", ours->paper, ratio_text(ratio));
      const std::string what = fmt::format("{}, times faster than the paper's {}", ours->name, ours->paper);
      if (ours->goal > 0) report.at_least(what, median(ratio), ours->goal);
      if (ours->goal == 0) report.value(what, median(ratio));
    }
    const double compute = median(participant.compute);
    const double communication = median(participant.communication);
    const double share = communication / std::max(compute + communication, 1e-12);
    table.add({participant.name, duration_text(median(participant.seconds)),
               duration_text(quantile(participant.seconds, 0)), duration_text(quantile(participant.seconds, 0.9)),
               duration_text(compute), fmt::format("{} ({:.0f} %)", duration_text(communication), 100 * share),
               faster});
    report.value(participant.name + ", communicating, share", share);
  }
  report.print(table);
  const double against_threads = median(ratios(seconds_of(kRowReduce), threads.seconds));
  report.note(fmt::format("row-reduce, {} processes of 1 thread: {:.3f} x one process of {} threads", clients,
                          against_threads, clients));
  report.at_most(fmt::format("row-reduce, {} x 1 thread / 1 x {} threads, or the reverse", clients, clients),
                 std::max(against_threads, 1 / against_threads), kProcessesAgainstThreads);
}

}  // namespace fedsinkhorn::bench
