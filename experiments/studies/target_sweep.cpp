// Computing and communication by the number of targets, in float32.
#include <cstddef>
#include <string>
#include <vector>

#include "core/memory.hpp"
#include "fedsinkhorn/solve.hpp"
#include "iteration_times.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::target_sweep {
namespace {

std::vector<Json> cells(const Setting& setting) {
  const auto numbers_of_targets = setting.by_scale<std::vector<std::size_t>>(
      {1, 8}, {1, 10, 50, 100, 500, 1000}, {1, 1000, 5000, 10'000, 50'000, 75'000, 100'000});
  std::vector<Json> cells;
  const auto add = [&](const char* topology, const char* passes, std::size_t clients, std::size_t targets) {
    cells.push_back({{"topology", topology},
                     {"passes", passes},
                     {"clients", clients},
                     {"is_federated", clients > 1},
                     {"N", targets},
                     {"n", setting.by_scale(64, 1000, 1000)},
                     {"iterations", setting.by_scale(3, 10, 10)},
                     {"transport", setting.transport}});
  };
  for (const std::size_t targets : numbers_of_targets) {
    add("centralized", "two", 1, targets);
    add("centralized", "fused", 1, targets);
    for (const std::size_t clients : {2, 4, 8}) add("all-to-all", "two", clients, targets);
    for (const std::size_t clients : {2, 4, 8}) add("row-reduce", "fused", clients, targets);
  }
  return cells;
}

TableView table_of(const char* caption, const Figure& figure) {
  return {.caption = caption,
          .rows = {{"topology", "topology"}, {"passes", "passes"}, {"clients", "clients"}},
          .figures = {figure},
          .across = "N"};
}

ChartView chart_of(const char* id, const char* title, const Figure& figure) {
  return {.id = id,
          .title = title,
          .description = "A line per topology and number of clients, by the number of targets N.",
          .kind = "lines",
          .x = "N",
          .groups = {{"topology", ""}, {"passes", "{} passes"}, {"clients", "c = {}"}},
          .figures = {figure},
          .x_axis = {{"title", "N"}, {"log", true}},
          .y_axis = {{"title", "time per iteration"}, {"unit", "s"}, {"log", true}}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Plain Sinkhorn in float32 for a fixed number of iterations on N targets at once, points in the unit square, one "
      "thread per client. Times are means of the clients.",
      how_clients_are_timed(setting.transport),
      "Two passes per iteration, one for each product, are what the paper and all-to-all make; row-reduce makes one "
      "fused pass. A single machine can do either.",
      "The paper does not state n; ours is 1,000 at the paper's N.",
      "Settings whose memory is not available are not run; the table of memory says which. Clients on threads share "
      "the memory of one machine."};
  design.differences = {
      "The paper prints no numbers. Its centralized run slows sharply beyond N of about 75,000, near the limits of a "
      "single GPU; on a CPU the limit is the memory of the machine. Its clients have a GPU each; ours share the cores "
      "of one machine, and clients beyond the number of cores add no computing power."};
  const Figure computing{.title = "computing", .key = "compute", .statistic = "mean", .format = "seconds"};
  const Figure communication{
      .title = "communication", .key = "communication", .statistic = "mean", .format = "seconds"};
  design.cells = cells(setting);
  design.tables = {table_of("Computing per iteration and client", computing),
                   table_of("Communication per iteration and client", communication),
                   table_of("Memory needed by all clients together, without the inputs",
                            {.title = "memory", .key = "memory", .format = "text"})};
  design.charts = {chart_of("computing", "Computing per iteration, mean of the clients", computing),
                   chart_of("communication", "Communication per iteration, mean of the clients", communication)};
  design.charts.back().where = {{"is_federated", true}};
  return design;
}

Json not_run(std::uint64_t needed) { return {{"memory", human_bytes(needed) + ": not available, not run"}}; }

Json measure(const Json& parameters) {
  SyntheticSpec spec;
  spec.rows = parameters.at("n");
  spec.targets = parameters.at("N");
  spec.seed = 1;
  spec.random_marginals = true;
  const std::uint64_t masses = sizeof(double) * spec.rows * spec.targets;
  if (masses > available_memory()) return not_run(masses);
  const PointsProblem problem(spec, 0.05);
  Options options = paper_options(parameters.at("topology"), parameters.at("clients"));
  options.passes = parameters.at("passes") == "two" ? Passes::two : Passes::fused;
  options.precision = Precision::float32;
  options.tolerance = 0;
  options.max_iterations = parameters.at("iterations");
  const std::uint64_t needed = predicted_bytes(problem.view(), options);
  if (needed > available_memory()) return not_run(needed);
  const TimedRun timed = timed_run(problem, options, parameters.at("transport"));
  return {{"compute", timed.compute}, {"communication", timed.communication}, {"memory", human_bytes(needed)}};
}

}  // namespace

Study study() {
  return {"target-sweep",
          "Computing and communication by the number of targets",
          "When do many targets make federation worthwhile?",
          "section 5.3.3, figure: N up to 100,000, float32",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::target_sweep
