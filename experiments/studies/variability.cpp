// How much do asynchronous runs of one problem differ?
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::variability {
namespace {

constexpr double kTolerance = 1e-10;
constexpr std::int64_t kMostIterations = 8000;

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> all;
  const auto add = [&](double eta, int run) {
    all.push_back({{"eta", eta},
                   {"run", run},
                   {"clients", 4},
                   {"n", setting.by_scale<std::size_t>(64, 1000, 10'000)},
                   {"transport", setting.transport}});
  };
  for (int run = 1; run <= setting.by_scale(3, 15, 15); ++run) add(1, run);
  for (const double eta : {0.25, 0.1}) {
    for (int run = 1; run <= 2; ++run) add(eta, run);
  }
  return all;
}

TableView spread() {
  const auto iterations = [](const char* title, const char* statistic) {
    return Figure{.title = title, .key = "iterations", .statistic = statistic, .format = "count"};
  };
  const auto seconds = [](const char* title, const char* statistic) {
    return Figure{.title = title, .key = "seconds", .statistic = statistic, .format = "seconds"};
  };
  return {.caption = "Runs to an L2 error of 1e-10",
          .rows = {{"eta", "eta"}},
          .figures = {{.title = "runs", .key = "is_run", .statistic = "sum", .format = "count"},
                      {.title = "converged", .key = "is_converged", .statistic = "mean", .format = "percent"},
                      iterations("iterations, least", "least"),
                      iterations("median", "median"),
                      iterations("most", "most"),
                      iterations("std", "deviation"),
                      seconds("time, least", "least"),
                      seconds("time, median", "median"),
                      seconds("time, most", "most"),
                      seconds("time, std", "deviation")}};
}

ChartView trajectories(const char* id, const char* title, const Json& where) {
  return {.id = id,
          .title = title,
          .description = "A line per run: L2 error of the rows over the iterations of one client.",
          .kind = "curves",
          .groups = {{"run", "run {}"}},
          .figures = {{.title = "error", .key = "errors"}},
          .x_axis = {{"title", "iterations"}},
          .y_axis = {{"title", "L2 error of the rows"}, {"log", true}},
          .where = where};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Four asynchronous clients, one thread each, points in the unit square. The problem and the start are the same "
      "in all runs; only the order in which messages arrive differs. Arithmetic damping by eta (1: none), until the L2 "
      "error of both marginals is 1e-10 or 8,000 iterations are made. Errors are those that the first client knows "
      "of."};
  design.differences = {
      "The paper prints curves without numbers, and neither eta nor the number of clients of its 15 runs. Its clients "
      "compute with whatever has arrived; ours wait for answers that are about to arrive, which brings clients of "
      "similar speed into step. With more clients than cores, the system decides which of them runs when."};
  design.cells = cells(setting);
  design.tables = {spread()};
  design.charts = {trajectories("runs", "Runs without damping, same problem and start", {{"eta", 1.0}}),
                   trajectories("quarter", "Two runs, eta = 0.25", {{"eta", 0.25}}),
                   trajectories("tenth", "Two runs, eta = 0.1", {{"eta", 0.1}})};
  return design;
}

Json measure(const Json& parameters) {
  Options options = paper_options("async", parameters.at("clients"));
  options.tolerance = kTolerance;
  options.max_iterations = kMostIterations;
  options.damping = parameters.at("eta");
  options.damping_kind = DampingKind::arithmetic;
  const report::RunRecord run =
      record_of_solve(square_problem(parameters.at("n"), 1), options, parameters.at("transport"));
  return {{"is_run", 1},
          {"is_converged", is_converged(run)},
          {"iterations", report::number(run.summary, "iterations")},
          {"seconds", report::number(run.summary, "solve_seconds")},
          {"errors", curve_of(run, &report::TracePoint::iteration, &report::TracePoint::error_a)}};
}

}  // namespace

Study study() {
  return {"variability",
          "Asynchronous runs of one problem",
          "How much do asynchronous runs of one problem from one start differ?",
          "section 5.4.1 and appendix, figures of trajectories: n = 10,000, 15 runs",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::variability
