// The same iterations on the same problem in PyTorch and POT.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/stopwatch.hpp"
#include "dense_kernel.hpp"
#include "fedsinkhorn/solve.hpp"
#include "instance.hpp"
#include "peer.hpp"
#include "plain_options.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kPeerEpsilon = 0.05;

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

/// POT's loop; the whole call that it was part of is added to `whole`.
Contender pot_contender(const Peer& pot, int iterations, std::vector<double>& whole) {
  return {"POT sinkhorn, its loop", [&pot, iterations, &whole] {
            const nlohmann::json answer = pot.ask(fmt::format("time {}", iterations));
            whole.push_back(answer.at("whole").get<double>());
            return answer.at("seconds").get<double>();
          }};
}

/// What a user waits for: kernel built, iterations, result evaluated.
Contender whole_solve(const Instance& instance, int iterations, int threads) {
  return {"whole solve()", [&instance, iterations, threads] {
            Options options = plain_options(iterations, threads);
            return solve(instance.problem(), options).wall_seconds / iterations;
          }};
}

/// Several iterations at a time, as the peers do it.
Contender ours(const std::string& name, Iteration& iteration, int iterations) {
  return {name, [&iteration, iterations] {
            const Timer timer;
            for (int k = 0; k < iterations; ++k) iteration.fused();
            return timer.seconds() / iterations;
          }};
}

const std::vector<double>& find(const std::vector<Timing>& timings, const std::string& name) {
  for (const Timing& timing : timings) {
    if (timing.name == name) return timing.seconds;
  }
  throw std::logic_error("peers: nothing was timed as " + name);
}

}  // namespace

void measure_peers(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  const int iterations = settings.quick ? 2 : 5;
  const std::string points = fmt::format("{}", n);
  const auto torch =
      Peer::start("torch", "python3-torch libopenblas0-pthread", points, kPeerEpsilon, settings.threads, report);
  const auto pot =
      Peer::start("pot", "python3-pot libopenblas0-pthread", points, kPeerEpsilon, settings.threads, report);

  const Instance instance(formula_points(n), kPeerEpsilon, settings.threads);
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
  if (torch) {
    contenders.push_back(torch->contender("PyTorch, two products", fmt::format("time float64 {}", iterations)));
    contenders.push_back(torch->contender("PyTorch, float32", fmt::format("time float32 {}", iterations)));
  }
  std::vector<double> pot_whole;
  const int whole_iterations = settings.quick ? 21 : 51;  // one more than a multiple of ten: see pot_peer.py
  if (pot) {
    contenders.push_back(pot_contender(*pot, whole_iterations, pot_whole));
    contenders.push_back(whole_solve(instance, whole_iterations, settings.threads));
  }
  const RoundRobin rounds{settings.rounds(7), 1, 0.05};
  std::vector<Timing> timings = round_robin(rounds, contenders);
  if (pot) {
    pot_whole.erase(pot_whole.begin(), pot_whole.begin() + rounds.warmups);
    timings.push_back({"POT sinkhorn, whole call", pot_whole});
  }
  report.timings(timings);

  report.note(fmt::format("n = {}, {} threads, {} rounds of {} iterations; whole calls: {}", n, settings.threads,
                          rounds.rounds, iterations, whole_iterations));
  Table table({"", "an iteration", "least", "p90", "x fused float64 (middle 80 %)", "x fused mixed"});
  for (const Timing& timing : timings) {
    table.add({timing.name, duration_text(median(timing.seconds)), duration_text(quantile(timing.seconds, 0)),
               duration_text(quantile(timing.seconds, 0.9)), ratio_text(ratios(timing.seconds, timings[0].seconds)),
               ratio_text(ratios(timing.seconds, timings[1].seconds))});
  }
  report.print(table);
  const auto times_faster = [&](const char* peer, const char* mine) {
    return median(ratios(find(timings, peer), find(timings, mine)));
  };
  if (torch) {
    report.at_least("fused float64, times faster than PyTorch float64",
                    times_faster("PyTorch, two products", "fused, float64"), 1.75);
    report.at_least("fused mixed, times faster than PyTorch float64",
                    times_faster("PyTorch, two products", "fused, mixed"), 3.3);
    report.value("fused mixed, times faster than PyTorch float32", times_faster("PyTorch, float32", "fused, mixed"));
  }
  if (pot) {
    report.at_least("fused float64, times faster than POT's loop",
                    times_faster("POT sinkhorn, its loop", "fused, float64"), 6);
    report.at_least("whole solve(), times faster than POT's", times_faster("POT sinkhorn, whole call", "whole solve()"),
                    6);
  }
}

}  // namespace fedsinkhorn::bench
