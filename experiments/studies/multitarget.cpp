// One problem, many at once, many one after the other.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "fedsinkhorn/solve.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::multitarget {
namespace {

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Plain Sinkhorn for a fixed number of iterations on one machine with all its cores, points in the unit square, "
      "float64, random masses. One problem: median of the N. Seconds of the iterations, without reading and checking "
      "the problem. The N problems share the costs and the row masses.",
      "The first iteration is made in logarithms and builds the kernel, once per solve. 'Later iterations' leave it "
      "out, and are scaled to the same number of iterations: the kernel is there already.",
      "Difference of potentials: the largest between the potentials of the N problems solved at once and one after the "
      "other, where the largest cost is 1."};
  design.differences = {
      "The paper's figures are of a GPU, ours of a CPU. Our explanation, which is not measured here: one problem "
      "leaves most of a GPU idle, so that N of them fit in beside it; a CPU is busy with one already, and gains only "
      "by using every entry of the kernel that it has read for N problems."};
  const int repeats = setting.by_scale(1, 1, 3);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    design.cells.push_back({{"n", setting.by_scale(64, 5000, 5000)},
                            {"N", setting.by_scale(4, 500, 500)},
                            {"iterations", 15},
                            {"repeat", repeat}});
  }
  const auto seconds = [](const char* title, const char* key, const char* paper) {
    Figure figure{.title = title, .key = key, .format = "seconds"};
    if (*paper != '\0') figure.paper = {{Json::object(), paper}};
    return figure;
  };
  const std::vector<Grouping> size = {{"n", "n"}, {"N", "N"}};
  design.tables = {{.caption = "15 iterations, median of the repeats",
                    .rows = size,
                    .figures = {seconds("1 problem", "one", "0.32 s"),
                                seconds("N at once", "vectorised", "0.31 s"),
                                seconds("N one after the other", "sequential", "11.56 s"),
                                {.title = "difference of potentials", .key = "difference", .statistic = "most"}}},
                   {.caption = "The same for later iterations, without building the kernel",
                    .rows = size,
                    .figures = {seconds("1 problem", "one_later", ""), seconds("N at once", "vectorised_later", ""),
                                seconds("N one after the other", "sequential_later", "")}}};
  design.charts = {{.id = "times",
                    .title = "Time of 15 iterations",
                    .description = "A bar each for one problem, N problems at once and N one after the other.",
                    .kind = "bars",
                    .groups = {{"N", "N = {}"}},
                    .figures = {{.title = "1 problem", .key = "one", .format = "seconds"},
                                {.title = "N at once", .key = "vectorised", .format = "seconds"},
                                {.title = "N one after the other", .key = "sequential", .format = "seconds"}},
                    .y_axis = {{"title", "time"}, {"unit", "s"}, {"log", true}}}};
  return design;
}

struct Times {
  double all = 0;    ///< of all iterations
  double later = 0;  ///< scaled up from all but the first
};

Times times_of(const Result& result) {
  const TraceRow& first = result.trace.front();
  const TraceRow& last = result.trace.back();
  const double later = (last.seconds - first.seconds) / static_cast<double>(last.iteration - first.iteration);
  return {result.solve_seconds, later * static_cast<double>(result.iterations)};
}

std::vector<double> column_of(const std::vector<double>& matrix, std::size_t columns, std::size_t column) {
  std::vector<double> values;
  values.reserve(matrix.size() / columns);
  for (std::size_t k = column; k < matrix.size(); k += columns) values.push_back(matrix[k]);
  return values;
}

/// Of the potentials of one target. A constant may move from f to g without changing the plan: it does not count.
double difference_of(const std::vector<double>& f, const std::vector<double>& g, const Result& one) {
  double shift = 0;
  for (std::size_t i = 0; i < f.size(); ++i) shift += (f[i] - one.f[i]) / static_cast<double>(f.size());
  double most = 0;
  for (std::size_t i = 0; i < f.size(); ++i) most = std::max(most, std::abs(f[i] - one.f[i] - shift));
  for (std::size_t j = 0; j < g.size(); ++j) most = std::max(most, std::abs(g[j] - one.g[j] + shift));
  return most;
}

Json measure(const Json& parameters) {
  SyntheticSpec spec;
  spec.rows = parameters.at("n");
  spec.targets = parameters.at("N");
  spec.seed = 1;
  spec.random_marginals = true;
  const PointsProblem problem(spec, 0.05);
  Options options = paper_options("centralized", 1);
  options.threads = 0;
  options.tolerance = 0;
  options.max_iterations = parameters.at("iterations");

  const Result together = solve(problem.view(), options);
  std::vector<double> alone_all;
  std::vector<double> alone_later;
  double difference = 0;
  for (std::size_t target = 0; target < spec.targets; ++target) {
    const std::vector<double> b = column_of(problem.drawn().b, spec.targets, target);
    Problem single = problem.view();
    single.b = {b.data(), b.size(), 1};
    const Result alone = solve(single, options);
    const Times times = times_of(alone);
    alone_all.push_back(times.all);
    alone_later.push_back(times.later);
    difference = std::max(difference, difference_of(column_of(together.f, spec.targets, target),
                                                    column_of(together.g, spec.targets, target), alone));
  }
  const Times vectorised = times_of(together);
  return {{"one", median(alone_all)},
          {"vectorised", vectorised.all},
          {"sequential", std::accumulate(alone_all.begin(), alone_all.end(), 0.0)},
          {"one_later", median(alone_later)},
          {"vectorised_later", vectorised.later},
          {"sequential_later", std::accumulate(alone_later.begin(), alone_later.end(), 0.0)},
          {"difference", measured_number(difference)}};
}

}  // namespace

Study study() {
  return {"multitarget",
          "One problem, many at once, many one after the other",
          "Are many problems with the same costs solved as fast as one?",
          "section 5.3.2, table: n = 5,000, N = 500, 15 iterations",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::multitarget
