// Times of every client on CPUs, and error against elapsed time.
#include <cstddef>
#include <string>
#include <vector>

#include "iteration_times.hpp"
#include "report/number_text.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::cpu_nodes {
namespace {

std::vector<std::size_t> sizes(const Setting& setting) {
  return setting.by_scale<std::vector<std::size_t>>({64, 96}, {5000, 10'000}, {10'000, 25'000});
}

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> cells;
  const int repeats = setting.by_scale(1, 3, 3);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const std::size_t n : sizes(setting)) {
      for (const std::size_t clients : {1, 2, 4, 8}) {
        cells.push_back({{"n", n},
                         {"clients", clients},
                         {"repeat", repeat},
                         {"iterations", setting.by_scale(5, 60, 250)},
                         {"transport", setting.transport}});
      }
    }
  }
  return cells;
}

ChartView dots(const char* what, const char* key) {
  return {.id = key,
          .title = std::string(what) + " of every client",
          .description = "A point per client and repeat, by the number of clients; a colour per n.",
          .kind = "dots",
          .x = "clients",
          .groups = {{"n", "n = {}"}},
          .figures = {{.title = what, .key = key, .format = "seconds"}},
          .x_axis = {{"title", "clients"}},
          .y_axis = {{"title", "time per iteration"}, {"unit", "s"}}};
}

ChartView convergence(std::size_t n) {
  const std::string size = report::count_text(n);
  return {.id = "error-" + std::to_string(n),
          .title = "Error against elapsed time, n = " + size,
          .description = "A curve per number of clients, first repeat: L2 error of the row sums by time.",
          .kind = "curves",
          .groups = {{"clients", "c = {}"}},
          .figures = {{.title = "error", .key = "error_by_time"}},
          .x_axis = {{"title", "elapsed time"}, {"unit", "s"}},
          .y_axis = {{"title", "L2 error of the row sums"}, {"log", true}},
          .where = {{"n", n}, {"repeat", 0}}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Synchronous all-to-all for a fixed number of iterations, points in the unit square, one thread per client. One "
      "client has no exchanges; it makes the same two products per iteration as the others, not our faster fused pass.",
      how_clients_are_timed(setting.transport),
      "Whole run and elapsed time: all iterations, with building kernels in the first two."};
  design.differences = {
      "The paper prints no numbers; its figures show computing per client falling as clients are added, and faster "
      "runs. Each of its clients had cores of its own. Ours share those of one machine: a client computes less, but "
      "with more clients than cores it also waits for a core, which counts as whatever it was doing."};
  design.cells = cells(setting);
  const auto figure = [](const char* title, const char* key, const char* statistic) {
    return Figure{.title = title, .key = key, .statistic = statistic, .format = "seconds"};
  };
  design.tables = {
      {.caption = "Seconds per iteration and client, over all clients and repeats",
       .rows = {{"n", "n"}, {"clients", "clients"}},
       .figures = {
           figure("computing, least", "compute", "least"), figure("computing, median", "compute", "median"),
           figure("computing, most", "compute", "most"), figure("communication, least", "communication", "least"),
           figure("communication, median", "communication", "median"),
           figure("communication, most", "communication", "most"), figure("whole run, median", "seconds", "median")}}};
  design.charts = {dots("computing", "compute"), dots("communication", "communication")};
  for (const std::size_t n : sizes(setting)) design.charts.push_back(convergence(n));
  return design;
}

/// Seconds since the iterations began.
Json error_by_time(const report::RunRecord& run) {
  Json points = curve_of(run, &report::TracePoint::seconds, &report::TracePoint::error_a);
  for (Json& point : points) point[0] = point[0].get<double>() + run.trace.front().seconds;
  return points;
}

Json measure(const Json& parameters) {
  const std::size_t clients = parameters.at("clients");
  Options options = paper_options(clients == 1 ? "centralized" : "all-to-all", clients);
  options.tolerance = 0;
  options.max_iterations = parameters.at("iterations");
  options.passes = Passes::two;
  const TimedRun timed = timed_run(square_problem(parameters.at("n"), 1), options, parameters.at("transport"));
  return {{"compute", timed.compute},
          {"communication", timed.communication},
          {"seconds", report::number(timed.run.summary, "solve_seconds")},
          {"error_by_time", error_by_time(timed.run)}};
}

}  // namespace

Study study() {
  return {"cpu-nodes",
          "Times of every client on CPUs",
          "Do CPU clients compute less, and finish earlier, as there are more of them?",
          "section 5.5, figure, and its appendix: n = 10,000 and 25,000, T = 250",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::cpu_nodes
