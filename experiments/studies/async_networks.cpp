// Does every asynchronous run converge, whatever the network does?
#include <algorithm>

#include "fedsinkhorn/solve.hpp"
#include "simulated_study.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::async_networks {
namespace {

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> all;
  for (const std::size_t clients : {2, 4, 8, 16}) {
    if (clients > setting.by_scale<std::size_t>(4, 16, 16)) continue;
    for (const DelayLaw& law : delay_laws()) {
      const Json cell = {
          {"clients", clients}, {"delays", law.name}, {"n", setting.by_scale<std::size_t>(64, 256, 256)}};
      add_seed_blocks(cell, setting.by_scale<std::size_t>(2, 20, 200), all);
    }
  }
  return all;
}

TableView outcomes() {
  TableView table{.caption = "Asynchronous runs by number of clients and network",
                  .rows = {{"clients", "clients"}, {"delays", "delays"}},
                  .figures = outcome_figures()};
  table.figures.insert(
      table.figures.end(),
      {{.title = "iterations, median", .key = "iterations", .format = "count"},
       {.title = "iterations, most", .key = "iterations", .statistic = "most", .format = "count"},
       {.title = "oldest slice used", .key = "oldest", .statistic = "most", .format = "count"},
       {.title = "virtual time / all-to-all, median [p25, p75]", .key = "time_ratio", .statistic = "quartiles"}});
  return table;
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      problem_sentence(), laws_sentence(),
      "Asynchronous clients without damping, to an L1 error of 1e-12, at most 3,000 iterations of any client. "
      "All-to-all runs on the same network. Ages of slices are in iterations; none older than 16 is used."};
  design.cells = cells(setting);
  design.tables = {outcomes()};
  design.charts = {{.id = "time",
                    .title = "Virtual time of asynchronous clients relative to all-to-all",
                    .description = "A line per network, median of the seeds; below 1 asynchronous clients are faster.",
                    .kind = "lines",
                    .x = "clients",
                    .groups = {{"delays", ""}},
                    .figures = {{.title = "virtual time / all-to-all", .key = "time_ratio"}},
                    .x_axis = {{"title", "clients"}},
                    .y_axis = {{"title", "virtual time / all-to-all"}}}};
  return design;
}

/// In iterations of its user.
std::size_t oldest_slice(const Result& result) {
  std::size_t ages = 1;
  for (const DelayRow& row : result.delays) ages = std::max(ages, row.uses.size());
  return ages - 1;
}

Json measure(const Json& parameters) {
  Json measured;
  for (const std::uint64_t seed : seeds_of(parameters)) {
    const StudyProblem problem(seed, parameters.at("n"));
    Options options = simulated_options(delay_law(parameters.at("delays").get<std::string>()), problem.size(),
                                        parameters.at("clients"), seed);
    const Result result = solve(problem.view(), options);
    add_outcome(result, measured);
    measured["oldest"].push_back(oldest_slice(result));
    options.topology = "all-to-all";
    measured["time_ratio"].push_back(result.solve_seconds / solve(problem.view(), options).solve_seconds);
  }
  return measured;
}

}  // namespace

Study study() {
  return {"async-networks",
          "Asynchronous clients on bad networks",
          "Does every asynchronous run converge, whatever the network does?",
          "",
          false,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::async_networks
