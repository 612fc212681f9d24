// How old may a slice be before a client should rather wait for a newer one?
#include "fedsinkhorn/solve.hpp"
#include "simulated_study.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::async_staleness {
namespace {

/// Enough for every limit: what is compared is the time to the tolerance.
constexpr std::int64_t kMostIterations = 100'000;

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> all;
  for (const std::size_t clients : {2, 4, 8, 16}) {
    if (clients > setting.by_scale<std::size_t>(2, 8, 16)) continue;
    for (const DelayLaw& law : delay_laws()) {
      for (const int staleness : {1, 2, 3, 4, 6, 8, 16, 64}) {
        const Json cell = {{"clients", clients},
                           {"delays", law.name},
                           {"staleness", staleness},
                           {"n", setting.by_scale<std::size_t>(32, 256, 256)}};
        add_seed_blocks(cell, setting.by_scale<std::size_t>(1, 5, 10), all);
      }
    }
  }
  return all;
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {problem_sentence(), laws_sentence(),
                       "Time to an L1 error of 1e-12 relative to all-to-all on the same network. A client about to use "
                       "a slice that is older than the limit waits for a newer one; ages are in its own iterations."};
  design.cells = cells(setting);
  const std::vector<Grouping> rows = {{"clients", "clients"}, {"delays", "delays"}};
  const Figure ratio{.title = "virtual time / all-to-all", .key = "time_ratio"};
  design.tables = {{.caption = "Virtual time / all-to-all by the limit on staleness, medians",
                    .rows = rows,
                    .figures = {ratio},
                    .across = "staleness"},
                   {.caption = "Iterations by the limit on staleness, medians",
                    .rows = rows,
                    .figures = {{.title = "iterations", .key = "iterations", .format = "count"}},
                    .across = "staleness"},
                   {.caption = "Runs that converged, all limits together", .rows = rows, .figures = outcome_figures()}};
  design.charts = {{.id = "straggler",
                    .title = "Virtual time / all-to-all by the limit on staleness, one client 10 x slower",
                    .description = "A line per number of clients: median of the seeds; below 1 they beat all-to-all.",
                    .kind = "lines",
                    .x = "staleness",
                    .groups = {{"clients", "{} clients"}},
                    .figures = {ratio},
                    .x_axis = {{"title", "limit on staleness (iterations)"}, {"log", true}},
                    .y_axis = {{"title", "virtual time / all-to-all"}},
                    .where = {{"delays", "one 10 x slower"}}}};
  return design;
}

Json measure(const Json& parameters) {
  Json measured;
  for (const std::uint64_t seed : seeds_of(parameters)) {
    const StudyProblem problem(seed, parameters.at("n"));
    Options options = simulated_options(delay_law(parameters.at("delays").get<std::string>()), problem.size(),
                                        parameters.at("clients"), seed);
    options.max_staleness = parameters.at("staleness");
    options.max_iterations = kMostIterations;
    const Result result = solve(problem.view(), options);
    add_outcome(result, measured);
    options.topology = "all-to-all";
    measured["time_ratio"].push_back(result.solve_seconds / solve(problem.view(), options).solve_seconds);
  }
  return measured;
}

}  // namespace

Study study() {
  return {"async-staleness",
          "Limits on the staleness of slices",
          "How old may a slice be before a client should rather wait for a newer one?",
          "",
          false,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::async_staleness
