// Costs between embeddings: total time and share of communication by topology.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "iteration_times.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::embedding {
namespace {

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> cells;
  const int runs = setting.by_scale(1, 3, 10);
  for (int run = 0; run < runs; ++run) {
    for (const char* topology : {"all-to-all", "star", "grid", "row-reduce"}) {
      for (const std::size_t clients : {2, 4, 8}) {
        cells.push_back({{"topology", topology},
                         {"clients", clients},
                         {"run", run},
                         {"n", setting.by_scale(64, 10'000, 10'000)},
                         {"dimension", setting.by_scale(8, 64, 64)},
                         {"iterations", setting.by_scale(5, 50, 50)},
                         {"transport", setting.transport}});
      }
    }
  }
  return cells;
}

/// As printed: median [p25, p75] of 10 runs.
struct Printed {
  const char* topology;
  std::size_t clients;
  const char* total;
  const char* fraction;
};
constexpr std::array<Printed, 9> kPrinted = {{
    {"all-to-all", 2, "1.171 [1.085, 1.195] s", "0.939 [0.930, 0.943]"},
    {"all-to-all", 4, "2.582 [2.476, 2.674] s", "0.970 [0.969, 0.971]"},
    {"all-to-all", 8, "6.673 [6.538, 6.728] s", "0.987 [0.987, 0.987]"},
    {"star", 2, "5.538 [5.443, 5.719] s", "0.617 [0.606, 0.639]"},
    {"star", 4, "6.022 [5.928, 6.177] s", "0.830 [0.827, 0.833]"},
    {"star", 8, "9.122 [9.085, 9.203] s", "0.936 [0.935, 0.937]"},
    {"grid", 2, "0.680 [0.676, 0.684] s", "0.920 [0.915, 0.921]"},
    {"grid", 4, "0.410 [0.408, 0.412] s", "0.859 [0.856, 0.860]"},
    {"grid", 8, "0.307 [0.306, 0.310] s", "0.811 [0.810, 0.814]"},
}};

std::vector<PaperFigure> printed(const char* Printed::*text) {
  std::vector<PaperFigure> figures;
  figures.reserve(kPrinted.size());
  for (const Printed& one : kPrinted) {
    figures.push_back({{{"topology", one.topology}, {"clients", one.clients}}, one.*text});
  }
  return figures;
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Squared distances between embeddings, which both sides share; plain Sinkhorn for a fixed number of iterations, "
      "one thread per client. Total time: of the iterations, with building the kernel. Median [p25, p75] of the runs.",
      how_clients_are_timed(setting.transport) +
          " The fraction is the largest of the clients': in a star, that of one that waits while the server computes. "
          "The least is then the server's.",
      "grid is the paper's 2D baseline, row-reduce is ours: it holds the same rows as all-to-all and reads the kernel "
      "once per iteration instead of twice."};
  design.differences = {
      "The paper does not state its number of iterations, so compare ratios, not seconds. Its clients had a GPU each, "
      "for which computing is short and staging through host memory long; ours share cores, and exchanges are copies "
      "within one memory.",
      "Waiting counts as communication here. The paper does not say whether it does there, nor which client's fraction "
      "it prints; its star with two clients shows less than a client that only waits would."};
  design.cells = cells(setting);
  const Figure total{.title = "total time",
                     .key = "seconds",
                     .statistic = "quartiles",
                     .format = "seconds",
                     .paper = printed(&Printed::total)};
  const Figure fraction{.title = "communication fraction",
                        .key = "fraction",
                        .statistic = "quartiles",
                        .paper = printed(&Printed::fraction)};
  design.tables = {
      {.caption = "Total time and communication fraction",
       .rows = {{"topology", "topology"}, {"clients", "clients"}},
       .figures = {total,
                   fraction,
                   {.title = "least fraction of a client", .key = "least_fraction", .statistic = "quartiles"}}}};
  const auto lines = [](const char* id, const char* title, const Figure& figure, const Json& y_axis) {
    return ChartView{.id = id,
                     .title = title,
                     .description = "A line per topology by the number of clients, median of the runs.",
                     .kind = "lines",
                     .x = "clients",
                     .groups = {{"topology", ""}},
                     .figures = {figure},
                     .x_axis = {{"title", "clients"}},
                     .y_axis = y_axis};
  };
  design.charts = {
      lines("total", "Total time by topology", total, {{"title", "total time"}, {"unit", "s"}}),
      lines("fraction", "Communication fraction by topology", fraction, {{"title", "communication fraction"}})};
  return design;
}

Json measure(const Json& parameters) {
  SyntheticSpec spec;
  spec.kind = CloudKind::embedding;
  spec.rows = parameters.at("n");
  spec.dimension = parameters.at("dimension");
  spec.same_points = true;
  spec.random_marginals = true;
  spec.seed = 1;
  Options options = paper_options(parameters.at("topology"), parameters.at("clients"));
  options.tolerance = 0;
  options.max_iterations = parameters.at("iterations");
  const TimedRun timed = timed_run({spec, 0.05}, options, parameters.at("transport"));
  double fraction = 0;
  double least_fraction = 1;
  for (std::size_t k = 0; k < timed.compute.size(); ++k) {
    const double computing = timed.compute[k];
    const double communication = timed.communication[k];
    const double of_client = communication / (computing + communication);
    fraction = std::max(fraction, of_client);
    least_fraction = std::min(least_fraction, of_client);
  }
  return {{"seconds", report::number(timed.run.summary, "solve_seconds")},
          {"fraction", measured_number(fraction)},
          {"least_fraction", measured_number(least_fraction)}};
}

}  // namespace

Study study() {
  return {"embedding",
          "Costs between embeddings",
          "Which topology is fastest on a dense kernel from embeddings, and how much of that is communication?",
          "section 5.6 and its appendix, timing table: n = 10,000, 10 runs",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::embedding
