// From which straggler on does it pay not to wait?
#include <fmt/format.h>

#include "experiments.hpp"

namespace fedsinkhorn::experiments {

void async_straggler(std::size_t seeds) {
  if (seeds == 0) seeds = 10;
  fmt::print(
      "Virtual time to an L1 error of 1e-9, async over all-to-all, one client slower by a factor; n = 256, "
      "epsilon 0.05, medians of {} seeds. Below 1 async wins.\n\n",
      seeds);
  fmt::print("| clients | latency (iterations) |");
  for (int factor = 1; factor <= 10; ++factor) fmt::print(" {} x |", factor);
  fmt::print("\n|---|---|");
  for (int factor = 1; factor <= 10; ++factor) fmt::print("---|");
  fmt::print("\n");
  for (const std::size_t clients : {2, 4, 8, 16}) {
    for (const double latency : {0.01, 0.1, 1.0}) {
      fmt::print("| {} | {} |", clients, latency);
      for (int factor = 1; factor <= 10; ++factor) {
        std::vector<double> ratios(seeds);
        for_all(seeds, [&](std::size_t seed) {
          const StudyProblem problem(seed);
          const double iteration = iteration_seconds(problem.size(), clients);
          Options options = study_options(delay_laws().front(), problem.size(), clients, seed);
          options.tolerance = 1e-9;
          options.max_iterations = 100'000;
          // Clients are never quite in step.
          options.scenario.latency = UniformLaw{0.5 * latency * iteration, 1.5 * latency * iteration};
          options.scenario.compute_factor = UniformLaw{0.9, 1.1};
          ClientScenario slow;
          slow.client = 1;
          slow.slower = factor;
          options.scenario.clients = {slow};
          const double ahead = solve(problem.view(), options).solve_seconds;
          options.topology = "all-to-all";
          ratios[seed] = ahead / solve(problem.view(), options).solve_seconds;
        });
        fmt::print(" {:.2f} |", median(ratios));
        std::fflush(stdout);
      }
      fmt::print("\n");
    }
  }
}

}  // namespace fedsinkhorn::experiments
