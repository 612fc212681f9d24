// Does damping help asynchronous clients?
#include <array>
#include <string>

#include "fedsinkhorn/solve.hpp"
#include "simulated_study.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::async_damping {
namespace {

struct Damping {
  double eta;
  const char* kind;
};
constexpr std::array kDampings = {Damping{1, "none"},          Damping{0.5, "arithmetic"}, Damping{0.5, "geometric"},
                                  Damping{0.25, "arithmetic"}, Damping{0.25, "geometric"}, Damping{0.1, "arithmetic"},
                                  Damping{0.1, "geometric"}};

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> all;
  for (const std::size_t clients : {2, 4, 8, 16}) {
    if (clients > setting.by_scale<std::size_t>(2, 8, 16)) continue;
    for (const Damping& damping : kDampings) {
      for (const DelayLaw& law : delay_laws()) {
        const Json cell = {{"clients", clients},
                           {"eta", damping.eta},
                           {"damping", damping.kind},
                           {"delays", law.name},
                           {"n", setting.by_scale<std::size_t>(32, 256, 256)}};
        add_seed_blocks(cell, setting.by_scale<std::size_t>(1, 4, 25), all);
      }
    }
  }
  return all;
}

TableView outcomes() {
  TableView table{.caption = "Asynchronous runs by damping, all networks together",
                  .rows = {{"clients", "clients"}, {"eta", "eta"}, {"damping", "damping"}},
                  .figures = outcome_figures()};
  table.figures.insert(table.figures.end(),
                       {{.title = "iterations, median", .key = "iterations", .format = "count"},
                        {.title = "iterations, most", .key = "iterations", .statistic = "most", .format = "count"}});
  return table;
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {problem_sentence(), laws_sentence(),
                       "To an L1 error of 1e-12, at most 3,000 iterations of any client. Damping by eta: arithmetic, "
                       "(1 - eta) old + eta new; geometric, old^(1 - eta) new^eta. eta = 1 is no damping."};
  design.cells = cells(setting);
  design.tables = {outcomes()};
  design.charts = {
      {.id = "iterations",
       .title = "Iterations by eta",
       .description = "A line per number of clients: median over seeds, networks and both kinds of damping.",
       .kind = "lines",
       .x = "eta",
       .groups = {{"clients", "{} clients"}},
       .figures = {{.title = "iterations, median", .key = "iterations", .format = "count"}},
       .x_axis = {{"title", "eta"}, {"log", true}},
       .y_axis = {{"title", "iterations"}, {"log", true}}}};
  return design;
}

Json measure(const Json& parameters) {
  Json measured;
  for (const std::uint64_t seed : seeds_of(parameters)) {
    const StudyProblem problem(seed, parameters.at("n"));
    Options options = simulated_options(delay_law(parameters.at("delays").get<std::string>()), problem.size(),
                                        parameters.at("clients"), seed);
    options.damping = parameters.at("eta");
    options.damping_kind = parameters.at("damping") == "arithmetic" ? DampingKind::arithmetic : DampingKind::geometric;
    add_outcome(solve(problem.view(), options), measured);
  }
  return measured;
}

}  // namespace

Study study() {
  return {"async-damping",
          "Damping of asynchronous clients on bad networks",
          "Does damping help asynchronous clients to converge?",
          "",
          false,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::async_damping
