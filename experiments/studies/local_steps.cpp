// Does it pay to iterate alone between exchanges?
#include <algorithm>
#include <cmath>

#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::local_steps {
namespace {

constexpr double kTolerance = 1e-8;
/// Of a largest cost of 1: small enough for some hundred iterations.
constexpr double kEpsilon = 0.01;
constexpr std::int64_t kMostIterations = 20'000;

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> all;
  for (int run = 0; run < setting.by_scale(1, 3, 5); ++run) {
    for (const char* topology : {"all-to-all", "async"}) {
      for (const int w : {1, 2, 5, 10, 20, 50, 100}) {
        all.push_back({{"topology", topology},
                       {"w", w},
                       {"run", run},
                       {"clients", 4},
                       {"n", setting.by_scale<std::size_t>(64, 1000, 10'000)},
                       {"transport", setting.transport}});
      }
    }
  }
  return all;
}

TableView costs() {
  return {.caption = "To an L2 error of 1e-8, medians of the runs",
          .rows = {{"topology", "topology"}, {"w", "w"}},
          .figures = {{.title = "converged", .key = "is_converged", .statistic = "mean", .format = "percent"},
                      {.title = "iterations", .key = "iterations", .format = "count"},
                      {.title = "waits for slices", .key = "waits", .format = "count"},
                      {.title = "time", .key = "seconds", .format = "seconds"},
                      {.title = "sent by all clients", .key = "bytes", .format = "bytes"}}};
}

ChartView errors(const char* id, const char* title, const char* topology, const char* key, const Json& x_axis) {
  return {.id = id,
          .title = title,
          .description = "A line per w, the most iterations from one exchange to the next; first run.",
          .kind = "curves",
          .groups = {{"w", "w = {}"}},
          .figures = {{.title = "error", .key = key}},
          .x_axis = x_axis,
          .y_axis = {{"title", "L2 error"}, {"log", true}},
          .where = {{"topology", topology}}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Plain Sinkhorn, four clients with one thread each, points in the unit square, epsilon 0.01, the same problem "
      "and start in all runs. A client makes up to w iterations with the slices it last received before it exchanges "
      "its own; w = 1 exchanges in every iteration. It exchanges earlier when a step changes its scalings by less than "
      "a tenth of the largest change since the last exchange. Until the L2 error of both marginals is 1e-8, or 20,000 "
      "iterations are made.",
      "Waits: how often the client that waited most has waited for slices of others. In all-to-all, u and v count as "
      "two. Asynchronous clients send without waiting, so that bytes say how much they exchange.",
      "Curves: the larger error of both marginals. Asynchronous clients know their errors only against slices that may "
      "be out of date: of every w iterations the largest is shown."};
  design.differences = {
      "The paper prints curves without numbers: w > 1 takes more iterations and more time in all of them. Its clients "
      "always make w iterations; ours stop earlier, once there is nothing left to gain. Threads of one process "
      "exchange slices faster than its cluster does."};
  design.cells = cells(setting);
  design.tables = {costs()};
  const Json iterations = {{"title", "iterations"}};
  const Json seconds = {{"title", "time"}, {"unit", "s"}};
  design.charts = {errors("sync", "All-to-all: error by iterations", "all-to-all", "by_iteration", iterations),
                   errors("async", "Asynchronous: error by iterations", "async", "by_iteration", iterations),
                   errors("sync-time", "All-to-all: error by time", "all-to-all", "by_seconds", seconds),
                   errors("async-time", "Asynchronous: error by time", "async", "by_seconds", seconds)};
  return design;
}

double bytes_sent(const report::RunRecord& run) {
  double sum = 0;
  for (const Json& value : of_clients(run, "bytes_sent")) sum += value.get<double>();
  return sum;
}

/// The larger error of both marginals, and the largest of any w iterations. After steps of its own a client fits the
/// slices it last received, which are out of date: it sees small errors that are none of the plan's.
report::RunRecord with_largest_errors(const report::RunRecord& run, double w) {
  report::RunRecord largest;
  double window = -1;
  for (report::TracePoint point : run.trace) {
    point.error_a = std::max(point.error_a, point.error_b);
    if (const double at = std::floor((point.iteration - 1) / w); at != window) {
      window = at;
      largest.trace.push_back(point);
    } else {
      point.error_a = std::max(point.error_a, largest.trace.back().error_a);
      largest.trace.back() = point;
    }
  }
  return largest;
}

Json measure(const Json& parameters) {
  Options options = paper_options(parameters.at("topology"), parameters.at("clients"));
  options.tolerance = kTolerance;
  options.max_iterations = kMostIterations;
  options.local_steps = parameters.at("w");
  const report::RunRecord run =
      record_of_solve(square_problem(parameters.at("n"), 1, kEpsilon), options, parameters.at("transport"));
  // Synchronous clients measure errors when they exchange slices, and no others.
  const double window = parameters.at("topology") == "async" ? parameters.at("w").get<double>() : 1;
  const report::RunRecord errors = with_largest_errors(run, window);
  using report::TracePoint;
  return {{"is_converged", is_converged(run)},
          {"iterations", report::number(run.summary, "iterations")},
          {"waits", report::number(run.summary, "exchanges")},
          {"seconds", report::number(run.summary, "solve_seconds")},
          {"bytes", bytes_sent(run)},
          {"by_iteration", curve_of(errors, &TracePoint::iteration, &TracePoint::error_a)},
          {"by_seconds", curve_of(errors, &TracePoint::seconds, &TracePoint::error_a)}};
}

}  // namespace

Study study() {
  return {"local-steps",
          "Iterations between exchanges",
          "Does it pay to iterate alone between exchanges?",
          "appendix on local steps, figures: w from 1 to 100",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::local_steps
