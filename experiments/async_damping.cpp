// Does damping help?
#include <fmt/format.h>

#include "core/names.hpp"
#include "experiments.hpp"

namespace fedsinkhorn::experiments {

void async_damping(std::size_t seeds) {
  if (seeds == 0) seeds = 25;
  const std::size_t laws = delay_laws().size();
  fmt::print("As above, {} seeds of each of the {} laws of delay in a line.\n\n", seeds, laws);
  fmt::print(
      "| clients | eta | kind | converged | timed out | diverged | iterations, median | most |\n"
      "|---|---|---|---|---|---|---|---|\n");
  struct Case {
    double eta;
    DampingKind kind;
  };
  for (const std::size_t clients : {2, 4, 8, 16}) {
    for (const Case& which :
         {Case{1, DampingKind::geometric}, Case{0.5, DampingKind::arithmetic}, Case{0.5, DampingKind::geometric},
          Case{0.25, DampingKind::arithmetic}, Case{0.25, DampingKind::geometric}, Case{0.1, DampingKind::arithmetic},
          Case{0.1, DampingKind::geometric}}) {
      std::vector<Result> runs(seeds * laws);
      for_all(runs.size(), [&](std::size_t k) {
        const StudyProblem problem(k / laws);
        Options options = study_options(delay_laws()[k % laws], problem.size(), clients, k / laws);
        options.damping = which.eta;
        options.damping_kind = which.kind;
        runs[k] = solve(problem.view(), options);
      });
      double converged = 0;
      double diverged = 0;
      double most = 0;
      std::vector<double> iterations;
      for (const Result& run : runs) {
        converged += run.status == Status::converged ? 1 : 0;
        diverged += run.status == Status::diverged ? 1 : 0;
        iterations.push_back(static_cast<double>(run.iterations));
        most = std::max(most, iterations.back());
      }
      const auto all = static_cast<double>(runs.size());
      fmt::print("| {} | {} | {} | {:.4g} % | {:.4g} % | {:.4g} % | {} | {} |\n", clients, which.eta,
                 which.eta == 1 ? "none" : name_of(which.kind), 100 * converged / all,
                 100 * (all - converged - diverged) / all, 100 * diverged / all, median(iterations), most);
      std::fflush(stdout);
    }
  }
}

}  // namespace fedsinkhorn::experiments
