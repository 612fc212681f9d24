// How old may a slice be before a client should rather wait for a newer one?
#include <fmt/format.h>

#include "experiments.hpp"

namespace fedsinkhorn::experiments {

void async_staleness(std::size_t seeds) {
  if (seeds == 0) seeds = 10;
  fmt::print("Virtual time to 1e-12 over that of all-to-all on the same network / iterations, medians of {} seeds.\n\n",
             seeds);
  fmt::print("| clients | delays |");
  constexpr std::array limits = {1, 2, 3, 4, 6, 8, 16, 64};
  for (const int limit : limits) fmt::print(" {} |", limit);
  fmt::print("\n|---|---|");
  for (std::size_t k = 0; k < limits.size(); ++k) fmt::print("---|");
  fmt::print("\n");
  for (const std::size_t clients : {2, 4, 8, 16}) {
    for (const DelayLaw& law : delay_laws()) {
      std::vector<double> synchronous(seeds);
      for_all(seeds, [&](std::size_t seed) {
        const StudyProblem problem(seed);
        Options options = study_options(law, problem.size(), clients, seed);
        options.topology = "all-to-all";
        synchronous[seed] = solve(problem.view(), options).solve_seconds;
      });
      fmt::print("| {} | {} |", clients, law.name);
      for (const int limit : limits) {
        std::vector<double> times(seeds);
        std::vector<double> iterations(seeds);
        for_all(seeds, [&](std::size_t seed) {
          const StudyProblem problem(seed);
          Options options = study_options(law, problem.size(), clients, seed);
          options.max_staleness = limit;
          options.max_iterations = 100'000;
          const Result result = solve(problem.view(), options);
          times[seed] = result.solve_seconds / synchronous[seed];
          iterations[seed] = static_cast<double>(result.iterations);
        });
        fmt::print(" {:.2f} / {} |", median(times), median(iterations));
        std::fflush(stdout);
      }
      fmt::print("\n");
    }
  }
}

}  // namespace fedsinkhorn::experiments
