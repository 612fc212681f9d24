// The paper's sweep: how far from the marginals do clipped and noised scalings stay, and at which epsilon_DP?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "fedsinkhorn/solve.hpp"
#include "privacy/gaussian_accounting.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::privacy_sweep {
namespace {

constexpr double kDelta = 1e-5;
constexpr double kEpsilon = 0.01;
constexpr double kSmallEpsilon = 0.0002;
constexpr double kLeastSigma = 1e-10;
/// Iterations at the end whose mean error is the noise floor.
constexpr std::size_t kLast = 100;
constexpr const char* kNoClip = "none";

// ------------------------------------------------------------------------------------------------- cells

struct Sweep {
  std::vector<Json> clips;
  std::vector<double> sigmas;
};

Sweep whole_sweep(const Setting& setting) {
  if (setting.scale == Scale::smoke) return {{4, 16, kNoClip}, {kLeastSigma, 0.1, 1}};
  return {{1, 4, 8, 12, 16, 20, kNoClip}, {kLeastSigma, 1e-5, 1e-3, 1e-2, 1e-1, 0.5, 1.0}};
}

/// For other topologies and numbers of clients: all of it is the paper's, but the floors hardly differ.
Sweep compared_sweep(const Setting& setting) {
  if (setting.scale == Scale::paper) return whole_sweep(setting);
  return setting.by_scale<Sweep>({{16}, {0.1}}, {{4, 8, 16, kNoClip}, {1e-3, 1e-1, 1.0}}, {});
}

bool contains(const Sweep& sweep, const Json& clip, double sigma) {
  return std::ranges::find(sweep.clips, clip) != sweep.clips.end() &&
         std::ranges::find(sweep.sigmas, sigma) != sweep.sigmas.end();
}

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> cells;
  const Sweep compared = compared_sweep(setting);
  const auto add = [&](const char* topology, int clients, const Json& clip, double sigma, int seed, double epsilon) {
    cells.push_back({{"topology", topology},
                     {"clients", clients},
                     {"S", clip},
                     {"sigma", sigma},
                     {"seed", seed},
                     {"epsilon_OT", epsilon},
                     {"is_clipped", clip != kNoClip},
                     {"is_compared", contains(compared, clip, sigma) && seed == 1 && epsilon == kEpsilon},
                     {"n", setting.by_scale(24, 200, 5000)},
                     {"releases", setting.by_scale(120, 1000, 1000)}});
  };
  // Rows of tables are in the order of the cells: what is compared stands together.
  const auto add_others = [&](const Json& clip) {
    for (const double sigma : compared.sigmas) {
      if (!contains(compared, clip, sigma)) continue;
      for (const int clients : {4, 8}) add("all-to-all", clients, clip, sigma, 1, kEpsilon);
      for (const int clients : {2, 4, 8}) add("star", clients, clip, sigma, 1, kEpsilon);
    }
  };
  const Sweep sweep = whole_sweep(setting);
  const int seeds = setting.by_scale(1, 3, 1);
  for (int seed = 1; seed <= seeds; ++seed) {
    for (const Json& clip : sweep.clips) {
      for (const double sigma : sweep.sigmas) add("all-to-all", 2, clip, sigma, seed, kEpsilon);
      if (seed == 1) add_others(clip);
    }
    for (const double sigma : sweep.sigmas) add("all-to-all", 2, kNoClip, sigma, seed, kSmallEpsilon);
  }
  return cells;
}

// ------------------------------------------------------------------------------------------------- views

/// Two clients, all-to-all: the whole sweep.
Json two_clients() { return {{"topology", "all-to-all"}, {"clients", 2}}; }

Json with(Json where, const Json& more) {
  where.update(more);
  return where;
}

Figure noise_floor() { return {.title = "noise floor", .key = "floor"}; }
Figure papers_epsilon() { return {.title = "epsilon_DP", .key = "epsilon_paper_one_row"}; }

std::vector<TableView> tables() {
  const Json clipped = with(two_clients(), {{"is_clipped", true}});
  return {{.caption = "Noise floor, two clients, all-to-all",
           .rows = {{"epsilon_OT", "epsilon_OT"}, {"S", "S"}},
           .figures = {noise_floor()},
           .across = "sigma",
           .where = two_clients()},
          {.caption = "Least S that the scalings of the run without clip and with the least noise fit into",
           .rows = {{"n", "n"}},
           .figures = {{.title = "S", .key = "least_clip"}},
           .where = with(two_clients(), {{"S", kNoClip}, {"sigma", kLeastSigma}, {"epsilon_OT", kEpsilon}})},
          {.caption = "epsilon_DP by the paper's rule, one record moves one row",
           .rows = {{"S", "S"}},
           .figures = {papers_epsilon()},
           .across = "sigma",
           .where = clipped},
          {.caption = "epsilon_DP by three rules, sigma = 1: one record moves one row, or all rows of a slice",
           .rows = {{"S", "S"}},
           .figures = {{.title = "one row, exact", .key = "epsilon_exact_one_row"},
                       {.title = "one row, RDP", .key = "epsilon_rdp_one_row"},
                       {.title = "one row, RDP by the paper's rule", .key = "epsilon_paper_one_row"},
                       {.title = "rows of a slice", .key = "slice_rows", .format = "count"},
                       {.title = "all rows, exact", .key = "epsilon_exact_all_rows"},
                       {.title = "all rows, RDP", .key = "epsilon_rdp_all_rows"},
                       {.title = "all rows, RDP by the paper's rule", .key = "epsilon_paper_all_rows"}},
           .where = with(clipped, {{"sigma", 1.0}})},
          {.caption = "Noise floor by topology and number of clients, first seed",
           .rows = {{"S", "S"}, {"topology", "topology"}, {"clients", "clients"}},
           .figures = {{.title = "noise floor", .key = "floor_exact", .format = "text"}},
           .across = "sigma",
           .where = {{"is_compared", true}}}};
}

ChartView lines_by_sigma(const char* id, const char* title, const Figure& figure, const char* y_title,
                         const Json& where) {
  return {.id = id,
          .title = title,
          .description = "A line per clipping radius S, by the noise sigma; median of the seeds.",
          .kind = "lines",
          .x = "sigma",
          .groups = {{"S", "S = {}"}},
          .figures = {figure},
          .x_axis = {{"title", "sigma"}, {"log", true}},
          .y_axis = {{"title", y_title}, {"log", true}},
          .where = with(with(two_clients(), {{"epsilon_OT", kEpsilon}}), where)};
}

ChartView traces_at(double sigma) {
  return {.id = fmt::format("traces-{:g}", sigma),
          .title = fmt::format("Error by iteration, sigma = {:g}", sigma),
          .description = "A curve per clipping radius S: two clients, all-to-all, first seed.",
          .kind = "curves",
          .groups = {{"S", "S = {}"}},
          .figures = {{.title = "error", .key = "trace"}},
          .x_axis = {{"title", "iteration"}},
          .y_axis = {{"title", "L2 error of the row sums"}, {"log", true}},
          .where = with(two_clients(), {{"epsilon_OT", kEpsilon}, {"sigma", sigma}, {"seed", 1}})};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Mechanism scalings: every iteration releases u and v, row-wise clipped to S in logarithms, with Gaussian noise "
      "sigma. Squared distances of points in the unit square, largest cost 1, random masses, epsilon_OT 0.01; 0.0002 "
      "is added to show iterations that have not converged. Errors are L2 of the row sums with the noised scalings. "
      "The noise floor is their mean over the last 100 iterations; median of the seeds. delta is 1e-5.",
      "Noise comes from seeds, so that runs can be repeated. That makes the runs themselves not private, but changes "
      "neither errors nor accounting.",
      "epsilon_DP: exact, by composition of Gaussians; RDP, with the tighter conversion; RDP by the paper's rule. If "
      "one record can move k rows of a slice, the sensitivity is 2 S sqrt(k), where the paper has 2 S."};
  design.differences = {
      "The paper prints no numbers; it says that for S up to 4 the floor hardly depends on sigma, that from 8 on the "
      "bias of clipping is small, that topologies agree, that epsilon_DP is far above 1, and that without clip the "
      "floor is flat up to sigma = 1e-3. Without clip ours is the noise just added to u, proportional to sigma; a flat "
      "floor needs another error above it, such as that of an iteration that has not converged (epsilon_OT 0.0002).",
      "Scalings grow with n, so that the same S clips more of them in a larger problem."};
  design.cells = cells(setting);
  design.tables = tables();
  design.charts = {lines_by_sigma("floors", "Noise floor by sigma", noise_floor(), "noise floor, L2", Json::object()),
                   lines_by_sigma("epsilons", "epsilon_DP by sigma, paper's rule, one row", papers_epsilon(),
                                  "epsilon_DP at delta = 1e-5", {{"is_clipped", true}}),
                   traces_at(kLeastSigma), traces_at(0.1)};
  return design;
}

// ------------------------------------------------------------------------------------------------- a cell

std::vector<double> costs_of(const SyntheticProblem& drawn) {
  std::vector<double> costs;
  costs.reserve(drawn.spec.rows * drawn.spec.columns);
  for_each_cost_block(drawn, [&](std::size_t, std::span<const double> values) {
    costs.insert(costs.end(), values.begin(), values.end());
  });
  return costs;
}

Options options_of(const Json& parameters) {
  Options options = paper_options(parameters.at("topology"), parameters.at("clients"));
  options.method = "auto";
  options.policy = "private";
  options.mechanism = "scalings";
  options.noise = parameters.at("sigma");
  options.noise_seed = parameters.at("seed");
  options.delta = kDelta;
  options.releases = parameters.at("releases");
  if (parameters.at("S") == kNoClip) {
    options.clip_kind = ClipKind::none;
  } else {
    options.clip = parameters.at("S");
    options.rows_moved = "paper";
  }
  return options;
}

/// Every iteration at first, then every twentieth.
Json trace_of(const Result& result) {
  Json points = Json::array();
  for (const TraceRow& row : result.trace) {
    if (row.iteration > 20 && row.iteration % 20 != 0) continue;
    points.push_back({row.iteration, measured_number(std::stod(fmt::format("{:.4g}", row.error_a)))});
  }
  return points;
}

double floor_of(const Result& result) {
  std::vector<double> errors;
  for (const TraceRow& row : result.trace) errors.push_back(row.error_a);
  const std::size_t last = std::min(kLast, errors.size());
  return std::accumulate(errors.end() - static_cast<std::ptrdiff_t>(last), errors.end(), 0.0) /
         static_cast<double>(last);
}

/// u may be multiplied by a constant if v is divided by it: the one that makes the largest |log| least.
double least_clip_of(const Result& result, double epsilon) {
  const auto [f_least, f_most] = std::ranges::minmax(result.f);
  const auto [g_least, g_most] = std::ranges::minmax(result.g);
  // Both |f + t| and |g - t| stay below S: -S <= f_least + t, f_most + t <= S, and likewise for g.
  return std::max({f_most - f_least, g_most - g_least, f_most + g_most, -f_least - g_least}) / (2 * epsilon);
}

std::size_t slice_rows_of(const Result& result) {
  std::size_t most = 0;
  for (const ClientReport& client : result.clients) {
    most = std::max({most, client.last_row - client.first_row, client.last_column - client.first_column});
  }
  return most;
}

void add_epsilons(const PrivacyReport& report, std::size_t slice_rows, Json& measured) {
  measured["epsilon_exact_one_row"] = measured_number(report.epsilon_exact);
  measured["epsilon_rdp_one_row"] = measured_number(report.epsilon_rdp);
  measured["epsilon_paper_one_row"] = measured_number(report.epsilon_rdp_paper);
  // The noise is the same; only what it is measured against changes.
  const double mu = report.mu * std::sqrt(static_cast<double>(slice_rows));
  measured["epsilon_exact_all_rows"] = measured_number(exact_epsilon(mu, kDelta));
  measured["epsilon_rdp_all_rows"] = measured_number(renyi_epsilon(mu, kDelta, Conversion::tight).epsilon);
  measured["epsilon_paper_all_rows"] = measured_number(renyi_epsilon(mu, kDelta, Conversion::papers).epsilon);
  measured["slice_rows"] = slice_rows;
}

Json measure(const Json& parameters) {
  const double epsilon = parameters.at("epsilon_OT");
  const std::size_t seed = parameters.at("seed");
  const PointsProblem points = square_problem(parameters.at("n"), seed, epsilon);
  // A matrix has exactly 1 as its largest cost. For points a bound counts, which forbids the small epsilon.
  const std::vector<double> costs = costs_of(points.drawn());
  Problem problem = points.view();
  problem.cost = CostMatrix{MatrixView<double>{costs.data(), points.drawn().spec.rows, points.drawn().spec.columns}};
  const Result result = solve(problem, options_of(parameters));
  const double floor = floor_of(result);
  // As text with the digits that a comparison of topologies needs.
  Json measured = {{"floor", measured_number(floor)},
                   {"floor_exact", fmt::format("{:.6g}", floor)},
                   {"least_clip", measured_number(least_clip_of(result, epsilon))}};
  if (parameters.at("is_clipped")) add_epsilons(result.privacy, slice_rows_of(result), measured);
  const bool is_drawn = parameters.at("clients") == 2 && parameters.at("topology") == "all-to-all" && seed == 1;
  if (is_drawn) measured["trace"] = trace_of(result);
  return measured;
}

}  // namespace

Study study() {
  return {"privacy-sweep",
          "Clipped and noised scalings: error and privacy",
          "How large is the error that clip and noise leave, and which epsilon_DP do they give?",
          "section 6 and its appendix: n = 5,000, T = 1,000, c = 2, 4, 8",
          false,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::privacy_sweep
