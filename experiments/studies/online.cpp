// The kernel computed on the fly against the stored one.
#include <cmath>

#include "core/memory.hpp"
#include "fedsinkhorn/solve.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::online {
namespace {

constexpr double kEpsilon = 0.05;

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Normal clouds of points, one client, all cores, float64, plain Sinkhorn for a fixed number of iterations. Both "
      "kernels take turns within a cell. Memory is what the library predicts before it allocates, without the inputs."};
  design.differences = {"The paper stores its kernels."};
  const std::vector<std::size_t> sizes =
      setting.by_scale<std::vector<std::size_t>>({100}, {1000, 2000, 4000}, {5000, 10'000, 20'000});
  for (int run = 0; run < setting.by_scale(1, 3, 5); ++run) {
    for (const std::size_t n : sizes) {
      for (const std::size_t dimension : {2, 3, 64}) {
        design.cells.push_back(
            {{"n", n}, {"dimension", dimension}, {"run", run}, {"iterations", setting.by_scale(4, 12, 20)}});
      }
    }
  }
  design.tables = {{.caption = "Time per iteration and memory, medians of the runs",
                    .rows = {{"n", "n"}, {"dimension", "dimension"}},
                    .figures = {{.title = "stored", .key = "dense_seconds", .format = "seconds"},
                                {.title = "on the fly", .key = "online_seconds", .format = "seconds"},
                                {.title = "on the fly / stored", .key = "ratio", .statistic = "quartiles"},
                                {.title = "memory, stored", .key = "dense_bytes", .format = "bytes"},
                                {.title = "memory, on the fly", .key = "online_bytes", .format = "bytes"},
                                {.title = "largest difference of g", .key = "difference", .statistic = "most"}}}};
  design.charts = {{.id = "time",
                    .title = "Time per iteration on the fly, relative to a stored kernel",
                    .description = "A line per dimension; above 1 the stored kernel is faster.",
                    .kind = "lines",
                    .x = "n",
                    .groups = {{"dimension", "{} dimensions"}},
                    .figures = {{.title = "ratio", .key = "ratio"}},
                    .x_axis = {{"title", "n"}},
                    .y_axis = {{"title", "time, on the fly / stored"}}}};
  return design;
}

struct Timed {
  double seconds = 0;
  std::vector<double> g;
};

Timed timed(const PointsProblem& problem, Options options, KernelKind kernel) {
  options.kernel = kernel;
  const Result result = solve(problem.view(), options);
  return {seconds_per_iteration(record_of(result, options, kEpsilon)), result.g};
}

Json measure(const Json& parameters) {
  SyntheticSpec spec;
  spec.kind = CloudKind::gaussian;
  spec.rows = parameters.at("n");
  spec.dimension = parameters.at("dimension");
  const PointsProblem problem(spec, kEpsilon);
  Options options = paper_options("centralized", 1);
  options.threads = 0;
  options.tolerance = 0;
  options.max_iterations = parameters.at("iterations");
  const Timed dense = timed(problem, options, KernelKind::dense);
  const Timed computed = timed(problem, options, KernelKind::online);
  double difference = 0;
  for (std::size_t j = 0; j < dense.g.size(); ++j)
    difference = std::max(difference, std::abs(dense.g[j] - computed.g[j]));
  const std::uint64_t dense_bytes = predicted_bytes(problem.view(), options);
  options.kernel = KernelKind::online;
  return {{"dense_seconds", dense.seconds},
          {"online_seconds", computed.seconds},
          {"ratio", computed.seconds / dense.seconds},
          {"dense_bytes", dense_bytes},
          {"online_bytes", predicted_bytes(problem.view(), options)},
          {"difference", difference}};
}

}  // namespace

Study study() {
  return {"online",
          "Kernel on the fly against a stored one",
          "What does it cost to compute the kernel whenever it is needed, and what memory does it save?",
          "",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::online
