// Computing and communication by the number of clients.
#include "iteration_times.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::breakdown {
namespace {

Json cell(const Setting& setting, const char* topology, std::size_t clients) {
  return {{"topology", topology},
          {"clients", clients},
          {"n", setting.by_scale<std::size_t>(64, 10'000, 10'000)},
          {"iterations", setting.by_scale(5, 250, 250)},
          {"transport", setting.transport}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Plain Sinkhorn for a fixed number of iterations, points in the unit square, one thread per client.",
      how_clients_are_timed(setting.transport)};
  design.differences = {
      "The paper prints no numbers; in its figure communication grows with the number of clients until it dominates. "
      "Its kernel products ran on GPUs, and every exchange was staged through host memory. Ours run on cores that "
      "clients share as soon as there are more of them than cores. Seconds are by the clock: computing then includes "
      "other clients' turns on the core."};
  design.cells.push_back(cell(setting, "centralized", 1));
  for (const char* topology : {"all-to-all", "async"}) {
    for (const std::size_t clients : {2, 4, 8}) design.cells.push_back(cell(setting, topology, clients));
  }
  const Figure computing{.title = "computing", .key = "compute", .statistic = "mean", .format = "seconds"};
  const Figure communication{
      .title = "communication", .key = "communication", .statistic = "mean", .format = "seconds"};
  design.tables = {
      {.caption = "Seconds per iteration and client",
       .rows = {{"topology", "topology"}, {"clients", "clients"}},
       .figures = {computing,
                   {.title = "computing, most", .key = "compute", .statistic = "most", .format = "seconds"},
                   communication,
                   {.title = "communication, most", .key = "communication", .statistic = "most", .format = "seconds"},
                   {.title = "whole iteration", .key = "seconds_per_iteration", .format = "seconds"}}}};
  design.charts = {
      {.id = "parts",
       .title = "Seconds per iteration, mean of the clients",
       .description = "A bar per topology and number of clients, split into computing and communication.",
       .kind = "bars",
       .groups = {{"topology", ""}, {"clients", ""}},
       .figures = {computing, communication},
       .y_axis = {{"title", "time per iteration"}, {"unit", "s"}},
       .stacked = true},
      {.id = "clients",
       .title = "Communication of every client",
       .description = "A point per client; those of one run lie above each other.",
       .kind = "dots",
       .x = "clients",
       .groups = {{"topology", ""}},
       .figures = {{.title = "communication", .key = "communication", .statistic = "mean", .format = "seconds"}},
       .x_axis = {{"title", "clients"}},
       .y_axis = {{"title", "communication per iteration"}, {"unit", "s"}}}};
  return design;
}

Json measure(const Json& parameters) {
  Options options = paper_options(parameters.at("topology"), parameters.at("clients"));
  options.tolerance = 0;
  options.max_iterations = parameters.at("iterations");
  const TimedRun timed = timed_run(square_problem(parameters.at("n"), 1), options, parameters.at("transport"));
  return {{"compute", timed.compute},
          {"communication", timed.communication},
          {"seconds_per_iteration", measured_number(seconds_per_iteration(timed.run))}};
}

}  // namespace

Study study() {
  return {"breakdown",
          "Computing and communication by the number of clients",
          "How does the time of an iteration divide into computing and communication?",
          "sections 5.3.1 and 5.4.3, figures: n = 10,000, T = 250",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::breakdown
