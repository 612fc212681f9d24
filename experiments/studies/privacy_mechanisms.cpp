// Both mechanisms of policy private on one problem at the same budgets: many records, a few public bins.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/solve.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::privacy_mechanisms {
namespace {

constexpr double kEpsilon = 0.05;
constexpr double kDelta = 1e-6;
constexpr int kComparedClients = 5;
/// Above it, the two mechanisms are compared but nothing else is varied.
constexpr double kLargestUsefulBudget = 10;

constexpr const char* kMarginal = "marginal";
constexpr const char* kScalingsOneRow = "scalings, one row";
constexpr const char* kScalingsAllRows = "scalings, all rows";
constexpr const char* kAuto = "auto";
constexpr const char* kBest = "best";

// ------------------------------------------------------------------------------------------------- cells

std::vector<Json> cells(const Setting& setting) {
  using Numbers = std::vector<double>;
  using Counts = std::vector<int>;
  const auto budgets = setting.by_scale<Numbers>({1, 1e3}, {0.1, 0.3, 1, 3, 10, 100, 1e3, 1e4, 1e5, 1e6},
                                                 {0.1, 0.3, 1, 3, 10, 100, 1e3, 1e4, 1e5, 1e6});
  const auto clips = setting.by_scale<Numbers>({8}, {4, 8, 12}, {4, 8, 12});
  const auto iterations = setting.by_scale<Counts>({10}, {10, 20}, {10, 20});
  std::vector<Json> cells;
  const auto add = [&](const char* mechanism, int clients, double budget, const Json& releases) {
    cells.push_back({{"mechanism", mechanism},
                     {"clients", clients},
                     {"epsilon_DP", budget},
                     {"releases", releases},
                     {"candidate_S", clips},
                     {"candidate_releases", iterations},
                     {"seeds", setting.by_scale(1, 3, 3)},
                     {"records", setting.by_scale(500, 20'000, 20'000)},
                     {"bins", setting.by_scale(10, 50, 50)}});
  };
  for (const double budget : budgets) {
    add(kMarginal, kComparedClients, budget, kAuto);
    add(kScalingsOneRow, kComparedClients, budget, kBest);
    add(kScalingsAllRows, kComparedClients, budget, kBest);
    if (budget > kLargestUsefulBudget) continue;
    for (const int clients : {1, 2, 20}) add(kMarginal, clients, budget, kAuto);
    for (const int releases : {5, 10, 20, 40}) add(kMarginal, kComparedClients, budget, releases);
  }
  // Tables have their columns in the order of the cells.
  std::ranges::stable_sort(cells, {}, [](const Json& cell) { return cell.at("clients").get<int>(); });
  return cells;
}

// ------------------------------------------------------------------------------------------------- views

std::vector<TableView> tables() {
  const Figure error{.title = "column error", .key = "column_error"};
  const Figure worst{.title = "worst seed", .key = "worst_column_error"};
  const Figure cost{.title = "cost error", .key = "cost_error", .format = "percent"};
  const Figure releases{.title = "releases", .key = "releases_made", .format = "count"};
  const Figure sigma{.title = "noise", .key = "sigma"};
  const auto of = [](Figure figure, const char* mechanism, const char* title) {
    figure.title = title;
    figure.where = {{"mechanism", mechanism}};
    return figure;
  };
  return {{.caption = "Mechanism marginal: column error by number of clients",
           .rows = {{"epsilon_DP", "epsilon_DP"}},
           .figures = {error, worst},
           .across = "clients",
           .where = {{"mechanism", kMarginal}, {"releases", kAuto}, {"is_varied", true}}},
          {.caption = "Mechanism marginal: releases, their noise and the error of the cost, five clients",
           .rows = {{"epsilon_DP", "epsilon_DP"}},
           .figures = {releases, sigma, cost},
           .where = {{"mechanism", kMarginal}, {"is_compared", true}}},
          {.caption = "Mechanism marginal: column error by number of releases, five clients",
           .rows = {{"epsilon_DP", "epsilon_DP"}},
           .figures = {error},
           .across = "releases",
           .where = {{"mechanism", kMarginal}, {"clients", kComparedClients}, {"is_varied", true}}},
          {.caption = "Both mechanisms at the same budget, five clients",
           .rows = {{"epsilon_DP", "epsilon_DP"}},
           .figures = {of(error, kMarginal, "marginal: column error"), of(cost, kMarginal, "marginal: cost error"),
                       of(error, kScalingsOneRow, "scalings, one row: column error"),
                       of(cost, kScalingsOneRow, "cost error"), of(sigma, kScalingsOneRow, "noise"),
                       of(error, kScalingsAllRows, "scalings, all rows: column error"),
                       of(cost, kScalingsAllRows, "cost error"), of(sigma, kScalingsAllRows, "noise")},
           .where = {{"is_compared", true}}},
          {.caption = "Mechanism scalings: the S and number of releases that turned out best, and the error of the "
                      "rows of its own plan",
           .rows = {{"mechanism", "mechanism"}, {"epsilon_DP", "epsilon_DP"}},
           .figures = {{.title = "S", .key = "clip"}, releases, {.title = "row error", .key = "row_error"}},
           .where = {{"releases", kBest}}}};
}

std::vector<ChartView> charts() {
  const auto lines = [](const char* id, const char* title, const Figure& figure, const char* y_title) {
    return ChartView{.id = id,
                     .title = title,
                     .description = "A line per mechanism by the budget epsilon_DP, median of the seeds.",
                     .kind = "lines",
                     .x = "epsilon_DP",
                     .groups = {{"mechanism", ""}},
                     .figures = {figure},
                     .x_axis = {{"title", "epsilon_DP"}, {"log", true}},
                     .y_axis = {{"title", y_title}, {"log", true}},
                     .where = {{"is_compared", true}}};
  };
  return {lines("column-error", "Error of the columns by budget", {.title = "column error", .key = "column_error"},
                "L1 error of the columns"),
          lines("cost-error", "Error of the cost by budget", {.title = "cost error", .key = "cost_error"},
                "relative error of the cost")};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Records of equal mass around two centres of the unit square, public bins with public masses, squared distances, "
      "epsilon_OT 0.05, delta 1e-6. Every record shares out its mass by the released g (a softmax over the bins), so "
      "rows are right. Column error: L1 distance of the plan's column masses from b, at most 2. Cost error: relative "
      "to the exact solution. Medians of the seeds.",
      "Marginal releases the columns' plan mass; the number of releases is chosen from the budget (auto). Scalings is "
      "the paper's mechanism; its S and number of releases are those with the least column error of several, chosen "
      "after the fact, which no private run could do. One row, all rows: how many rows of a slice one record is taken "
      "to move.",
      "Noise comes from seeds, so that runs can be repeated; that makes the runs themselves not private, but changes "
      "neither errors nor accounting."};
  design.differences = {
      "The paper has only scalings, and no errors at a given budget. The two guarantees are not the same: marginal "
      "protects records with their positions, scalings protects masses and takes the costs as public."};
  design.cells = cells(setting);
  for (Json& cell : design.cells) {
    cell["is_compared"] = cell.at("clients") == kComparedClients && cell.at("releases").is_string();
    cell["is_varied"] = cell.at("epsilon_DP") <= kLargestUsefulBudget;
  }
  design.tables = tables();
  design.charts = charts();
  return design;
}

// ------------------------------------------------------------------------------------------------- problem

/// What each stream of random numbers is for.
enum Stream : std::uint64_t { kX, kY, kB };

/// Records around two centres of the unit square, bins all over it.
class Records {
 public:
  Records(std::size_t records, std::size_t bins, std::uint64_t seed) : x_(2 * records), y_(2 * bins), b_(bins) {
    Random of_x(seed, kX);
    for (std::size_t i = 0; i < records; ++i) {
      const double centre = of_x.uniform() < 0.5 ? 0.3 : 0.7;
      for (std::size_t k = 0; k < 2; ++k) x_[2 * i + k] = std::clamp(centre + 0.12 * of_x.normal(), 0.0, 1.0);
    }
    Random of_y(seed, kY);
    for (double& y : y_) y = of_y.uniform();
    Random of_b(seed, kB);
    double sum = 0;
    for (double& b : b_) sum += b = 0.1 + of_b.uniform();
    for (double& b : b_) b /= sum;
  }

  [[nodiscard]] std::size_t size() const { return x_.size() / 2; }
  [[nodiscard]] const std::vector<double>& b() const { return b_; }
  [[nodiscard]] Problem view() const {
    Problem problem;
    problem.cost = PointClouds{MatrixView<double>{x_.data(), size(), 2}, MatrixView<double>{y_.data(), b_.size(), 2}};
    problem.b = {b_.data(), b_.size(), 1};
    problem.epsilon = kEpsilon;
    return problem;
  }
  [[nodiscard]] double cost(std::size_t i, std::size_t j) const {
    const double dx = x_[2 * i] - y_[2 * j];
    const double dy = x_[2 * i + 1] - y_[2 * j + 1];
    return dx * dx + dy * dy;
  }

 private:
  std::vector<double> x_, y_, b_;
};

struct Quality {
  double cost = 0;
  double column_error = 0;
};

/// Of the plan that g alone gives: every record shares out its mass as a softmax over the bins, so rows are right.
Quality quality_of(const Records& records, const std::vector<double>& g) {
  Quality quality;
  std::vector<double> mass(g.size());
  std::vector<double> row(g.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < g.size(); ++j) {
      row[j] = (g[j] - records.cost(i, j)) / kEpsilon;
      largest = std::max(largest, row[j]);
    }
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x - largest);
    for (std::size_t j = 0; j < g.size(); ++j) {
      const double p = row[j] / (sum * static_cast<double>(records.size()));
      mass[j] += p;
      quality.cost += p * records.cost(i, j);
    }
  }
  for (std::size_t j = 0; j < g.size(); ++j) quality.column_error += std::abs(mass[j] - records.b()[j]);
  return quality;
}

/// L1 error of the rows of the plan that f and g give together.
double row_error_of(const Records& records, const Result& result) {
  const double mass = 1 / static_cast<double>(records.size());
  double error = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < result.g.size(); ++j) {
      sum += std::exp((result.f[i] + result.g[j] - records.cost(i, j)) / kEpsilon);
    }
    error += std::abs(sum - mass);
  }
  return error;
}

// ------------------------------------------------------------------------------------------------- a cell

/// Of one setting; medians over the seeds.
struct Outcome {
  double clip = 0;
  double releases = 0;
  double sigma = 0;
  double column_error = 0;
  double worst_column_error = 0;
  double cost_error = 0;
  double row_error = 0;
};

/// The problem of a seed and the cost of its exact solution.
struct SeededProblem {
  Records records;
  double exact_cost;
  std::size_t seed;
};

std::vector<SeededProblem> problems_of(const Json& parameters) {
  std::vector<SeededProblem> problems;
  Options exact;
  exact.backend = "cpu";
  exact.threads = 1;
  for (std::size_t seed = 1; seed <= parameters.at("seeds").get<std::size_t>(); ++seed) {
    Records records(parameters.at("records"), parameters.at("bins"), seed);
    const double cost = quality_of(records, solve(records.view(), exact).g).cost;
    problems.push_back({std::move(records), cost, seed});
  }
  return problems;
}

Options options_of(const Json& parameters, double clip, std::size_t releases) {
  Options options;
  options.policy = "private";
  options.backend = "cpu";
  options.clients = parameters.at("clients");
  options.threads = 1;
  options.tolerance = 0;  // all releases are made
  options.budget = {parameters.at("epsilon_DP").get<double>(), kDelta};
  options.releases = releases;
  if (parameters.at("mechanism") == kMarginal) {
    options.mechanism = "marginal";
    options.topology = "row-reduce";
    return options;
  }
  options.mechanism = "scalings";
  options.topology = "all-to-all";
  options.clip = clip;
  options.rows_moved = parameters.at("mechanism") == kScalingsOneRow ? "paper" : "all";
  return options;
}

Outcome outcome_of(const std::vector<SeededProblem>& problems, Options options) {
  std::vector<double> column_errors;
  std::vector<double> cost_errors;
  std::vector<double> row_errors;
  Outcome outcome;
  for (const SeededProblem& one : problems) {
    options.noise_seed = one.seed;
    const Result result = solve(one.records.view(), options);
    const Quality quality = quality_of(one.records, result.g);
    column_errors.push_back(quality.column_error);
    cost_errors.push_back(std::abs(quality.cost / one.exact_cost - 1));
    row_errors.push_back(row_error_of(one.records, result));
    outcome.sigma = result.privacy.sigma;
    outcome.releases = static_cast<double>(result.iterations);
  }
  outcome.clip = options.clip;
  outcome.column_error = median(column_errors);
  outcome.worst_column_error = *std::ranges::max_element(column_errors);
  outcome.cost_error = median(cost_errors);
  outcome.row_error = median(row_errors);
  return outcome;
}

/// Mechanism scalings: of all candidates, the one with the least column error.
Outcome best_outcome(const std::vector<SeededProblem>& problems, const Json& parameters) {
  Outcome best;
  best.column_error = std::numeric_limits<double>::infinity();
  for (const double clip : parameters.at("candidate_S").get<std::vector<double>>()) {
    for (const std::size_t releases : parameters.at("candidate_releases").get<std::vector<std::size_t>>()) {
      const Outcome outcome = outcome_of(problems, options_of(parameters, clip, releases));
      if (outcome.column_error < best.column_error) best = outcome;
    }
  }
  return best;
}

Json measure(const Json& parameters) {
  const std::vector<SeededProblem> problems = problems_of(parameters);
  const Json& asked = parameters.at("releases");
  const Outcome outcome =
      asked == kBest ? best_outcome(problems, parameters)
                     : outcome_of(problems, options_of(parameters, 0, asked == kAuto ? 0 : asked.get<std::size_t>()));
  return {{"clip", outcome.clip},
          {"releases_made", outcome.releases},
          {"sigma", measured_number(outcome.sigma)},
          {"column_error", measured_number(outcome.column_error)},
          {"worst_column_error", measured_number(outcome.worst_column_error)},
          {"cost_error", measured_number(outcome.cost_error)},
          {"row_error", measured_number(outcome.row_error)}};
}

}  // namespace

Study study() {
  return {"privacy-mechanisms",
          "Two private mechanisms at the same budget",
          "How large is the error of the plan at a given epsilon_DP?",
          "",
          false,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::privacy_mechanisms
