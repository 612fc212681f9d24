// What it costs to let nothing but sums, or nothing but noised releases, leave a client.
#include <cmath>

#include "fedsinkhorn/solve.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::policies {
namespace {

constexpr double kEpsilon = 0.05;

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Row-reduce, clients as threads, records in the unit square onto fewer columns, uniform masses. Open and sums: "
      "default method, to an L1 error of 1e-9. Private: mechanism marginal, budget epsilon 1 and delta 1e-6, number of "
      "releases chosen. The three take turns; errors are of the plan on the exact costs.",
      "The noise of the private runs has a seed, so that they can be repeated; such runs are not private."};
  design.differences = {
      "The paper sends scalings in plain or with noise. Sums are exact: masks cancel, and only the rounding to fixed "
      "point is left."};
  for (int run = 0; run < setting.by_scale(1, 5, 10); ++run) {
    for (const std::size_t clients : {2, 4, 8}) {
      for (const char* policy : {"open", "sums", "private"}) {
        design.cells.push_back({{"clients", clients},
                                {"policy", policy},
                                {"run", run},
                                {"rows", setting.by_scale<std::size_t>(400, 20'000, 100'000)},
                                {"columns", setting.by_scale<std::size_t>(10, 50, 100)}});
      }
    }
  }
  design.tables = {{.caption = "Medians of the runs",
                    .rows = {{"clients", "clients"}, {"policy", "policy"}},
                    .figures = {{.title = "iterations", .key = "iterations", .format = "count"},
                                {.title = "time", .key = "seconds", .format = "seconds"},
                                {.title = "time per iteration", .key = "seconds_per_iteration", .format = "seconds"},
                                {.title = "sent by a client, most", .key = "bytes", .format = "bytes"},
                                {.title = "L1 error of the columns", .key = "error"},
                                {.title = "cost, relative error", .key = "cost_error"}}}};
  design.charts = {{.id = "time",
                    .title = "Time per iteration by policy",
                    .description = "A bar per number of clients and policy.",
                    .kind = "bars",
                    .groups = {{"clients", "{} clients"}, {"policy", ""}},
                    .figures = {{.title = "time per iteration", .key = "seconds_per_iteration", .format = "seconds"}},
                    .y_axis = {{"title", "time per iteration"}, {"unit", "s"}}}};
  return design;
}

Options options_of(const std::string& policy, std::size_t clients, std::size_t seed) {
  Options options;
  options.backend = "cpu";
  options.topology = "row-reduce";
  options.clients = clients;
  options.threads = 1;
  options.policy = policy;
  if (policy == "private") {
    options.budget = {1, 1e-6};
    options.noise_seed = seed;
  }
  return options;
}

/// Of the plan whose rows are right, as its owner computes it from g: L1 error of the columns, and its cost.
struct Evaluated {
  double error = 0;
  double cost = 0;
};

Evaluated evaluated(const SyntheticProblem& drawn, const std::vector<double>& g) {
  const std::size_t d = drawn.spec.dimension;
  std::vector<double> columns(g.size());
  std::vector<double> row(g.size());
  Evaluated result;
  for (std::size_t i = 0; i < drawn.a.size(); ++i) {
    double sum = 0;
    std::vector<double> costs(g.size());
    for (std::size_t j = 0; j < g.size(); ++j) {
      for (std::size_t k = 0; k < d; ++k) costs[j] += std::pow(drawn.x[i * d + k] - drawn.y[j * d + k], 2);
      sum += row[j] = std::exp((g[j] - costs[j]) / kEpsilon);
    }
    for (std::size_t j = 0; j < g.size(); ++j) {
      const double mass = drawn.a[i] * row[j] / sum;  // P_ij = a_i softmax_j((g_j - C_ij) / epsilon)
      columns[j] += mass;
      result.cost += mass * costs[j];
    }
  }
  for (std::size_t j = 0; j < g.size(); ++j) result.error += std::abs(columns[j] - drawn.b[j]);
  return result;
}

Json measure(const Json& parameters) {
  SyntheticSpec spec;
  spec.rows = parameters.at("rows");
  spec.columns = parameters.at("columns");
  spec.seed = 1;
  const PointsProblem problem(spec, kEpsilon);
  const std::size_t clients = parameters.at("clients");
  const Options options = options_of(parameters.at("policy"), clients, parameters.at("run").get<std::size_t>() + 1);
  const Result result = solve(problem.view(), options);
  const report::RunRecord run = record_of(result, options, kEpsilon);
  const Result exact = solve(problem.view(), options_of("open", 1, 0));
  const Evaluated ours = evaluated(problem.drawn(), result.g);
  const Evaluated best = evaluated(problem.drawn(), exact.g);
  return {{"iterations", result.iterations},
          {"seconds", result.solve_seconds},
          {"seconds_per_iteration", result.solve_seconds / static_cast<double>(result.iterations)},
          {"bytes", largest_of_clients(run, "bytes_sent")},
          {"error", ours.error},
          {"cost_error", std::abs(ours.cost - best.cost) / best.cost}};
}

}  // namespace

Study study() {
  return {"policies",
          "Open, sums and private",
          "What does it cost that nothing but sums, or nothing but noised sums, leaves a client?",
          "",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::policies
