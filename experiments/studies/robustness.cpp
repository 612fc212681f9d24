// How many runs on random problems converge, by topology, number of clients and step size?
#include <array>
#include <string>
#include <utility>

#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::robustness {
namespace {

constexpr std::int64_t kMostIterations = 3000;

struct Scheme {
  const char* topology;
  double eta;
};
constexpr std::array kSchemes = {Scheme{"all-to-all", 1}, Scheme{"star", 1}, Scheme{"async", 0.5}, Scheme{"async", 1}};

struct Limit {
  const char* name;
  double tolerance;
};
constexpr std::array kLimits = {Limit{"loose", 1e-5}, Limit{"tight", 1e-12}};
constexpr std::array kSweptEtas = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5};

// ---------------------------------------------------------------------------------------------------- cells

Json cell(const Setting& setting, std::size_t clients, const Scheme& scheme, const Limit& limit, int run) {
  return {{"clients", clients},
          {"topology", scheme.topology},
          {"eta", scheme.eta},
          {"limit", limit.name},
          {"tolerance", limit.tolerance},
          {"run", run},
          {"transport", setting.transport}};
}

/// part table: all schemes. part etas: asynchronous clients by step size, with smaller problems.
std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> all;
  const auto add = [&](const Json& cell, const char* part, std::size_t n) {
    all.push_back(cell);
    all.back().update({{"part", part}, {"n", n}});
  };
  for (int run = 1; run <= setting.by_scale(1, 5, 30); ++run) {
    for (const std::size_t clients : {2, 4, 8}) {
      for (const Scheme& scheme : kSchemes) {
        for (const Limit& limit : kLimits) {
          add(cell(setting, clients, scheme, limit, run), "table", setting.by_scale<std::size_t>(48, 1000, 10'000));
        }
      }
    }
  }
  for (int run = 1; run <= setting.by_scale(1, 5, 30); ++run) {
    for (const std::size_t clients : {2, 4, 8}) {
      for (const double eta : kSweptEtas) {
        if (setting.scale == Scale::smoke && eta < 0.1) continue;
        add(cell(setting, clients, {"async", eta}, kLimits.front(), run), "etas",
            setting.by_scale<std::size_t>(48, 200, 10'000));
      }
    }
  }
  return all;
}

// ---------------------------------------------------------------------------------------------------- the paper

/// What the paper prints: "fast / slow".
struct Printed {
  std::size_t clients;
  const char* topology;
  const char* limit;
  const char* time;
  const char* converged;
  const char* timed_out;
  const char* diverged;
};
constexpr const char* kAll = "100.0 % / 100.0 %";
constexpr const char* kNone = "0.0 % / 0.0 %";
constexpr std::array kPrinted = {
    Printed{2, "all-to-all", "loose", "0.77 s / 1.01 s", "96.77 % / 100.0 %", "3.22 % / 0.0 %", kNone},
    Printed{2, "all-to-all", "tight", "1.10 s / 1.38 s", "97.87 % / 100.0 %", "2.13 % / 0.0 %", kNone},
    Printed{2, "star", "loose", "1.00 s / 0.66 s", "95.83 % / 100.0 %", "4.17 % / 0.0 %", kNone},
    Printed{2, "star", "tight", "1.01 s / 1.69 s", kAll, kNone, kNone},
    Printed{2, "async", "loose", "0.77 s / 1.01 s", "96.77 % / 100.0 %", "3.23 % / 0.0 %", kNone},
    Printed{2, "async", "tight", "1.10 s / 1.38 s", "97.87 % / 100.0 %", "2.13 % / 0.0 %", kNone},
    Printed{4, "all-to-all", "loose", "9.71 s / 3.36 s", "66.67 % / 100.0 %", "33.33 % / 0.0 %", kNone},
    Printed{4, "all-to-all", "tight", "4.58 s / 4.89 s", "80.00 % / 100.0 %", "20.00 % / 0.0 %", kNone},
    Printed{4, "star", "loose", "12.86 s / 15.51 s", "66.67 % / 100.0 %", "33.33 % / 0.0 %", kNone},
    Printed{4, "star", "tight", "16.79 s / 16.31 s", "66.67 % / 100.0 %", "33.33 % / 0.0 %", kNone},
    Printed{4, "async", "loose", "4.48 s / 11.21 s", "66.67 % / 100.0 %", "33.33 % / 0.0 %", kNone},
    Printed{4, "async", "tight", "6.20 s / 45.58 s", "66.67 % / 66.67 %", "33.33 % / 0.0 %", "0.0 % / 33.33 %"},
    Printed{8, "all-to-all", "loose", "1.19 s / 1.94 s", kAll, kNone, kNone},
    Printed{8, "all-to-all", "tight", "1.79 s / 1.36 s", kAll, kNone, kNone},
    Printed{8, "star", "loose", "0.48 s / 0.49 s", kAll, kNone, kNone},
    Printed{8, "star", "tight", "0.95 s / 0.95 s", kAll, kNone, kNone},
    Printed{8, "async", "loose", "2.97 s / 6.96 s", "80.0 % / 100.0 %", "20.0 % / 0.0 %", kNone},
    Printed{8, "async", "tight", "4.39 s / 16.75 s", "80.0 % / 80.0 %", "20.0 % / 0.0 %", "0.0 % / 20.0 %"}};

/// The paper's asynchronous clients are those with eta = 0.5.
std::vector<PaperFigure> printed(const char* Printed::*column) {
  std::vector<PaperFigure> figures;
  for (const Printed& row : kPrinted) {
    const double eta = std::string(row.topology) == "async" ? 0.5 : 1;
    figures.push_back(
        {{{"clients", row.clients}, {"topology", row.topology}, {"limit", row.limit}, {"eta", eta}}, row.*column});
  }
  return figures;
}

// ---------------------------------------------------------------------------------------------------- design

Figure share(const char* title, const char* key, std::vector<PaperFigure> paper = {}) {
  return {.title = title, .key = key, .statistic = "mean", .format = "percent", .paper = std::move(paper)};
}

std::vector<TableView> tables() {
  return {{.caption = "Random problems by number of clients, topology and limit; of the paper: fast / slow",
           .rows = {{"clients", "clients"}, {"topology", "topology"}, {"eta", "eta"}, {"limit", "limit"}},
           .figures = {{.title = "time to convergence",
                        .key = "seconds",
                        .statistic = "mean",
                        .format = "seconds",
                        .paper = printed(&Printed::time)},
                       share("converged", "is_converged", printed(&Printed::converged)),
                       share("timed out", "is_timed_out", printed(&Printed::timed_out)),
                       share("diverged", "is_diverged", printed(&Printed::diverged)),
                       {.title = "iterations, median", .key = "iterations", .format = "count"}},
           .where = {{"part", "table"}}},
          {.caption = "Asynchronous runs that converged, loose limit, by eta",
           .rows = {{"clients", "clients"}},
           .figures = {share("converged", "is_converged")},
           .across = "eta",
           .where = {{"part", "etas"}}}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Random problems: points in the unit square and masses drawn anew for every run, the same for all rows. Plain "
      "Sinkhorn, one thread per client, asynchronous clients with arithmetic damping by eta (1: none). Limits on the "
      "L2 error of both marginals: loose 1e-5, tight 1e-12. At most 3,000 iterations; a run that makes them has timed "
      "out. Time to convergence: mean of the runs that converged.",
      "Runs by eta use smaller problems than the table, except at scale paper."};
  design.differences = {
      "The paper has two columns, fast and slow, without saying what they are. Its caption speaks of time limits, "
      "which it does not give. We have no time limit, only that on iterations.",
      "It shows the best eta of asynchronous clients, 0.5, and does not run eta = 1. It does not say how many runs "
      "there were, nor which epsilon.",
      "Ours cannot diverge in exact arithmetic (docs/async.md): scalings are kept relative to absorbed potentials, and "
      "from time to time all clients synchronise.",
      "Damped by eta, a run makes about 1 / eta times as many iterations, until the limit on them is too low. Below "
      "that our clients still synchronise, at the latest when the error has not halved for 256 iterations. These "
      "rounds are not damped, and with the smallest eta they make most of the progress."};
  design.cells = cells(setting);
  design.tables = tables();
  design.charts = {{.id = "etas",
                    .title = "Asynchronous runs that converged within 3,000 iterations, loose limit",
                    .description = "A line per number of clients: share of the runs by the step size eta.",
                    .kind = "lines",
                    .x = "eta",
                    .groups = {{"clients", "{} clients"}},
                    .figures = {share("converged", "is_converged")},
                    .x_axis = {{"title", "eta"}, {"log", true}},
                    .y_axis = {{"title", "share of the runs that converged"}},
                    .where = {{"part", "etas"}}}};
  return design;
}

Json measure(const Json& parameters) {
  Options options = paper_options(parameters.at("topology"), parameters.at("clients"));
  options.tolerance = parameters.at("tolerance");
  options.max_iterations = kMostIterations;
  options.damping = parameters.at("eta");
  options.damping_kind = DampingKind::arithmetic;
  const report::RunRecord run =
      record_of_solve(square_problem(parameters.at("n"), parameters.at("run")), options, parameters.at("transport"));
  const std::string status = report::text(run.summary, "status");
  return {{"is_converged", is_converged(run)},
          {"is_timed_out", status == "iteration_limit" ? 1 : 0},
          {"is_diverged", status == "diverged" ? 1 : 0},
          {"seconds", is_converged(run) == 1 ? Json(report::number(run.summary, "solve_seconds")) : Json(nullptr)},
          {"iterations", report::number(run.summary, "iterations")}};
}

}  // namespace

Study study() {
  return {"robustness",
          "Runs that converge",
          "How many runs on random problems converge, by topology, number of clients and step size?",
          "appendix on robustness, table and figure: n = 10,000, 3000 iterations",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::robustness
