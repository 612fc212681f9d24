// The same iterations on the same problem in PyTorch and POT. Each lives in a child process that does as many
// iterations as it is told to and says how long they took, so that all of them take turns in one run.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "child_process.hpp"
#include "core/stopwatch.hpp"
#include "dense_kernel.hpp"
#include "instance.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kEpsilon = 0.05;
constexpr const char* kPython = "/usr/bin/python3";  // Debian's, which sees Debian's packages

/// A script of peers/, or nothing when it cannot run here.
class Peer {
 public:
  static std::optional<Peer> start(const std::string& name, const std::string& packages, std::size_t n, int threads,
                                   Report& report) {
    const std::string missing = fmt::format("{}: not installed: apt-get install {}", name, packages);
    if (!std::filesystem::exists(kPython)) {
      report.note(missing);
      return std::nullopt;
    }
    // The number of threads must be known before the libraries are loaded.
    Peer peer(std::vector<std::string>{"/usr/bin/env", fmt::format("OMP_NUM_THREADS={}", threads),
                                       fmt::format("OPENBLAS_NUM_THREADS={}", threads), kPython, "-B",
                                       fmt::format("{}/{}_peer.py", FEDSINKHORN_PEERS, name), fmt::format("{}", n),
                                       fmt::format("{}", kEpsilon), fmt::format("{}", threads)});
    const nlohmann::json hello = nlohmann::json::parse(peer.child_->read_line());
    if (hello.contains("missing")) {
      report.note(missing);
      return std::nullopt;
    }
    report.note(hello.at("version").get<std::string>());
    return peer;
  }

  [[nodiscard]] nlohmann::json ask(const std::string& question) const {
    return nlohmann::json::parse(child_->ask(question));
  }
  [[nodiscard]] Contender contender(const std::string& name, const std::string& question) const {
    return {name, [this, question] { return ask(question).at("seconds").get<double>(); }};
  }

 private:
  explicit Peer(const std::vector<std::string>& command) : child_(std::make_unique<ChildProcess>(command)) {}
  std::unique_ptr<ChildProcess> child_;
};

/// u and v as POT gets them: u = 1/n; then v = b / (K' u), u = a / (K v), again and again.
struct Scalings {
  std::vector<double> u;
  std::vector<double> v;
};

Scalings our_scalings(const Instance& instance, Kernel& kernel, int iterations) {
  Iteration iteration(instance, kernel);
  const std::vector<double> u(instance.n(), 1.0 / static_cast<double>(instance.n()));
  std::vector<double> r(instance.m());
  kernel.apply_transposed(1, u.data(), r.data());
  for (std::size_t j = 0; j < r.size(); ++j) iteration.v()[j] = instance.checked().b[j] / r[j];
  Scalings scalings;
  for (int k = 0; k < iterations; ++k) {
    scalings.v = iteration.v();
    iteration.fused();
  }
  scalings.u = iteration.u();
  return scalings;
}

/// Several iterations at a time, as the peers do it.
Contender ours(const std::string& name, Iteration& iteration, int iterations) {
  return {name, [&iteration, iterations] {
            const Timer timer;
            for (int k = 0; k < iterations; ++k) iteration.fused();
            return timer.seconds() / iterations;
          }};
}

}  // namespace

void measure_peers(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  const int iterations = settings.quick ? 2 : 5;
  const auto torch = Peer::start("torch", "python3-torch libopenblas0-pthread", n, settings.threads, report);
  const auto pot = Peer::start("pot", "python3-pot libopenblas0-pthread", n, settings.threads, report);

  const Instance instance(formula_points(n), kEpsilon, settings.threads);
  DenseKernel float64(instance, Precision::float64, settings.threads);
  DenseKernel mixed(instance, Precision::mixed, settings.threads);
  constexpr int checked_iterations = 7;
  const Scalings scalings = our_scalings(instance, float64.kernel(), checked_iterations);
  require_close("peers, mixed u", our_scalings(instance, mixed.kernel(), checked_iterations).u, scalings.u, 1e-5);
  for (const auto* peer : {&torch, &pot}) {
    if (!*peer) continue;
    const nlohmann::json answer = (*peer)->ask(fmt::format("check {}", checked_iterations));
    require_close("peers, u", scalings.u, answer.at("u").get<std::vector<double>>(), 1e-9);
    require_close("peers, v", scalings.v, answer.at("v").get<std::vector<double>>(), 1e-9);
  }

  Iteration iteration64(instance, float64.kernel());
  Iteration iteration_mixed(instance, mixed.kernel());
  std::vector<Contender> contenders = {ours("fused, float64", iteration64, iterations),
                                       ours("fused, mixed", iteration_mixed, iterations)};
  const auto add = [&](const std::optional<Peer>& peer, const std::string& name, const std::string& question) {
    if (!peer) return std::size_t{0};
    contenders.push_back(peer->contender(name, question));
    return contenders.size() - 1;
  };
  const std::size_t torch64 = add(torch, "PyTorch, two products", fmt::format("time float64 {}", iterations));
  const std::size_t torch32 = add(torch, "PyTorch, float32", fmt::format("time float32 {}", iterations));
  const std::size_t pot64 = add(pot, "POT sinkhorn", "time 21");
  const RoundRobin rounds{settings.rounds(9), 1, 0.05};
  const std::vector<Timing> timings = round_robin(rounds, contenders);
  report.timings(timings);

  report.note(
      fmt::format("n = {}, {} threads, {} rounds of {} iterations", n, settings.threads, rounds.rounds, iterations));
  Table table({"", "an iteration", "least", "p90", "x fused float64 (middle 80 %)", "x fused mixed"});
  for (const Timing& timing : timings) {
    table.add({timing.name, duration_text(median(timing.seconds)), duration_text(quantile(timing.seconds, 0)),
               duration_text(quantile(timing.seconds, 0.9)), ratio_text(ratios(timing.seconds, timings[0].seconds)),
               ratio_text(ratios(timing.seconds, timings[1].seconds))});
  }
  report.print(table);
  const auto times_faster = [&](std::size_t peer, std::size_t mine) {
    return median(ratios(timings[peer].seconds, timings[mine].seconds));
  };
  if (torch64 != 0) {
    report.at_least("fused float64, times faster than PyTorch float64", times_faster(torch64, 0), 1.7);
    report.at_least("fused mixed, times faster than PyTorch float64", times_faster(torch64, 1), 2.8);
    report.value("fused mixed, times faster than PyTorch float32", times_faster(torch32, 1));
  }
  if (pot64 != 0) report.at_least("fused float64, times faster than POT", times_faster(pot64, 0), 6);
}

}  // namespace fedsinkhorn::bench
