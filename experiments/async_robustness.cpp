// Does every asynchronous run converge, whatever the network does?
#include <fmt/format.h>

#include <algorithm>

#include "experiments.hpp"

namespace fedsinkhorn::experiments {

void async_robustness(std::size_t seeds) {
  if (seeds == 0) seeds = 200;
  fmt::print("n = 256, epsilon 0.05, L1 tolerance 1e-12, at most 3,000 iterations of any client, {} seeds a line.\n\n",
             seeds);
  fmt::print(
      "| clients | delays | converged | timed out | diverged | iterations, median | most | used at age, most | "
      "virtual time / all-to-all |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const std::size_t clients : {2, 4, 8, 16}) {
    for (const DelayLaw& law : delay_laws()) {
      std::vector<Result> runs(seeds);
      std::vector<double> ratios(seeds);
      for_all(seeds, [&](std::size_t seed) {
        const StudyProblem problem(seed);
        Options options = study_options(law, problem.size(), clients, seed);
        runs[seed] = solve(problem.view(), options);
        options.topology = "all-to-all";
        ratios[seed] = runs[seed].solve_seconds / solve(problem.view(), options).solve_seconds;
      });
      const auto share = [&](Status status) {
        const auto count = std::count_if(runs.begin(), runs.end(), [&](const Result& r) { return r.status == status; });
        return 100.0 * static_cast<double>(count) / static_cast<double>(seeds);
      };
      std::vector<double> iterations;
      std::size_t oldest = 0;
      for (const Result& run : runs) {
        iterations.push_back(static_cast<double>(run.iterations));
        for (const DelayRow& row : run.delays) oldest = std::max(oldest, row.uses.size());
      }
      fmt::print("| {} | {} | {:.4g} % | {:.4g} % | {:.4g} % | {} | {} | {} | {:.2f} |\n", clients, law.name,
                 share(Status::converged), share(Status::iteration_limit), share(Status::diverged), median(iterations),
                 *std::max_element(iterations.begin(), iterations.end()), oldest - std::min<std::size_t>(oldest, 1),
                 median(ratios));
      std::fflush(stdout);
    }
  }
}

}  // namespace fedsinkhorn::experiments
