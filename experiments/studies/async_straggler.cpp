// From which straggler on does it pay not to wait?
#include "fedsinkhorn/solve.hpp"
#include "simulated_study.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::async_straggler {
namespace {

constexpr double kTolerance = 1e-9;
/// Enough for every straggler: what is compared is the time to the tolerance.
constexpr std::int64_t kMostIterations = 100'000;

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> all;
  for (const std::size_t clients : {2, 4, 8, 16}) {
    if (clients > setting.by_scale<std::size_t>(2, 16, 16)) continue;
    for (const double latency : {0.01, 0.1, 1.0}) {
      for (int slower = 1; slower <= 10; ++slower) {
        const Json cell = {{"clients", clients},
                           {"latency", latency},
                           {"slower", slower},
                           {"n", setting.by_scale<std::size_t>(32, 256, 256)}};
        add_seed_blocks(cell, setting.by_scale<std::size_t>(1, 3, 10), all);
      }
    }
  }
  return all;
}

ChartView crossover() {
  return {.id = "crossover",
          .title = "Asynchronous clients relative to all-to-all, latency of 0.1 iterations",
          .description = "A line per number of clients; below 1 asynchronous clients are faster.",
          .kind = "lines",
          .x = "slower",
          .groups = {{"clients", "{} clients"}},
          .figures = {{.title = "virtual time / all-to-all", .key = "time_ratio"}},
          .x_axis = {{"title", "slow-down of the straggler"}},
          .y_axis = {{"title", "virtual time / all-to-all"}},
          .where = {{"latency", 0.1}}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      problem_sentence(),
      "Time to an L1 error of 1e-9, asynchronous clients over all-to-all on the same network. Client 1 is slower by a "
      "factor. Every piece of work takes up to 10 % more or less, every message up to 50 %: clients are never quite in "
      "step. Latency is in iterations of a client that is not slowed down."};
  design.cells = cells(setting);
  const std::vector<Grouping> rows = {{"clients", "clients"}, {"latency", "latency (iterations)"}};
  design.tables = {
      {.caption = "Virtual time / all-to-all by the slow-down of one client, medians; below 1 asynchronous clients win",
       .rows = rows,
       .figures = {{.title = "virtual time / all-to-all", .key = "time_ratio"}},
       .across = "slower"},
      {.caption = "Share of the seeds for which asynchronous clients are faster",
       .rows = rows,
       .figures = {{.title = "faster", .key = "is_faster", .statistic = "mean", .format = "percent"}},
       .across = "slower"}};
  design.charts = {crossover()};
  return design;
}

Options options_of(const Json& parameters, std::size_t n, std::uint64_t seed) {
  const std::size_t clients = parameters.at("clients");
  Options options = simulated_options(delay_laws().front(), n, clients, seed);
  options.tolerance = kTolerance;
  options.max_iterations = kMostIterations;
  const double latency = parameters.at("latency").get<double>() * iteration_seconds(n, clients);
  options.scenario.latency = UniformLaw{0.5 * latency, 1.5 * latency};
  options.scenario.compute_factor = UniformLaw{0.9, 1.1};
  ClientScenario slow;
  slow.client = 1;
  slow.slower = parameters.at("slower");
  options.scenario.clients = {slow};
  return options;
}

Json measure(const Json& parameters) {
  Json measured;
  for (const std::uint64_t seed : seeds_of(parameters)) {
    const StudyProblem problem(seed, parameters.at("n"));
    Options options = options_of(parameters, problem.size(), seed);
    const double ahead = solve(problem.view(), options).solve_seconds;
    options.topology = "all-to-all";
    const double in_step = solve(problem.view(), options).solve_seconds;
    measured["time_ratio"].push_back(ahead / in_step);
    measured["is_faster"].push_back(ahead < in_step ? 1 : 0);
  }
  return measured;
}

}  // namespace

Study study() {
  return {"async-straggler",
          "One slow client",
          "From which straggler on are asynchronous clients faster than all-to-all?",
          "",
          false,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::async_straggler
