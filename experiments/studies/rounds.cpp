// In how many rounds do the methods get there, and do they get to the same plan?
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "core/random.hpp"
#include "fedsinkhorn/solve.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::rounds {
namespace {

constexpr std::int64_t kMostRounds = 20'000;
constexpr double kTolerance = 1e-9;
/// Plans are compared where their errors are small beside the difference that is allowed, 1e-9.
constexpr double kTightTolerance = 1e-11;
constexpr std::array kEpsilons = {1e-2, 1e-3, 2e-4};
constexpr const char* kPlain = "sinkhorn";
constexpr std::array kFaster = {"overrelaxed", "anderson", "newton", "auto"};

// ---------------------------------------------------------------------------------------------------- problems

/// What each stream of random numbers is for.
enum Stream : std::uint64_t { kX, kY, kA, kB, kCost };

struct Drawn {
  std::vector<double> cost, a, b;

  [[nodiscard]] Problem view(double epsilon) const {
    Problem problem;
    problem.cost = CostMatrix{MatrixView<double>{cost.data(), a.size(), b.size()}};
    problem.a = a;
    problem.b = {b.data(), b.size(), 1};
    problem.epsilon = epsilon;
    return problem;
  }
};

using Law = double (*)(Random& random);

std::vector<double> draw(std::size_t count, Law law, Random random) {
  std::vector<double> values(count);
  for (double& value : values) value = law(random);
  return values;
}

std::vector<double> masses(std::size_t count, Law law, Random random) {
  std::vector<double> values = draw(count, law, random);
  double sum = 0;
  for (const double value : values) sum += value;
  for (double& value : values) value /= sum;
  return values;
}

double uniform(Random& random) { return random.uniform(); }

/// |x_i - y_j|^2, the largest being 1.
std::vector<double> squared_distances(std::size_t dimension, const std::vector<double>& x,
                                      const std::vector<double>& y) {
  std::vector<double> cost;
  cost.reserve(x.size() / dimension * (y.size() / dimension));
  for (std::size_t i = 0; i < x.size(); i += dimension) {
    for (std::size_t j = 0; j < y.size(); j += dimension) {
      double sum = 0;
      for (std::size_t k = 0; k < dimension; ++k) sum += (x[i + k] - y[j + k]) * (x[i + k] - y[j + k]);
      cost.push_back(sum);
    }
  }
  const double largest = *std::max_element(cost.begin(), cost.end());
  for (double& value : cost) value /= largest;
  return cost;
}

Drawn with_masses(std::vector<double> cost, std::uint64_t seed, std::size_t n) {
  const auto even = [](Random&) { return 1.0; };
  const auto uneven = [](Random& random) { return random.uniform() + 0.1; };
  return {std::move(cost), masses(n, even, Random(seed, kA)), masses(n, uneven, Random(seed, kB))};
}

std::vector<double> uniform_cost(std::size_t dimension, std::uint64_t seed, std::size_t n) {
  return squared_distances(dimension, draw(dimension * n, uniform, Random(seed, kX)),
                           draw(dimension * n, uniform, Random(seed, kY)));
}

Drawn uniform2(std::uint64_t seed, std::size_t n) { return with_masses(uniform_cost(2, seed, n), seed, n); }

Drawn gauss8(std::uint64_t seed, std::size_t n) {
  const auto narrow = [](Random& random) { return 0.5 * random.normal() + 1; };
  const auto wide = [](Random& random) { return random.normal(); };
  return with_masses(squared_distances(8, draw(8 * n, wide, Random(seed, kX)), draw(8 * n, narrow, Random(seed, kY))),
                     seed, n);
}

/// Four clusters on the diagonal.
std::vector<double> clustered(std::size_t n, Random random) {
  std::vector<double> points;
  for (std::size_t i = 0; i < n; ++i) {
    const auto centre = static_cast<double>(random.below(4));
    for (int k = 0; k < 2; ++k) points.push_back(centre + 0.05 * random.normal());
  }
  return points;
}

Drawn clusters2(std::uint64_t seed, std::size_t n) {
  return with_masses(squared_distances(2, clustered(n, Random(seed, kX)), clustered(n, Random(seed, kY))), seed, n);
}

Drawn illmarg(std::uint64_t seed, std::size_t n) {
  const auto eight_decades = [](Random& random) { return std::pow(10.0, random.uniform(-8, 0)); };
  return {uniform_cost(2, seed, n), masses(n, eight_decades, Random(seed, kA)),
          masses(n, eight_decades, Random(seed, kB))};
}

Drawn random_cost(std::uint64_t seed, std::size_t n) {
  return with_masses(draw(n * n, uniform, Random(seed, kCost)), seed, n);
}

Drawn line1(std::uint64_t seed, std::size_t n) { return with_masses(uniform_cost(1, seed, n), seed, n); }

struct Family {
  std::string_view name;
  Drawn (*drawn)(std::uint64_t seed, std::size_t n);
};
constexpr std::array kFamilies = {Family{"uniform2", uniform2},       Family{"gauss8", gauss8},
                                  Family{"clusters2", clusters2},     Family{"illmarg", illmarg},
                                  Family{"random_cost", random_cost}, Family{"line1", line1}};

Drawn drawn_of(const Json& parameters, std::uint64_t seed) {
  const std::string name = parameters.at("family");
  return std::ranges::find(kFamilies, name, &Family::name)->drawn(seed, parameters.at("n"));
}

// ---------------------------------------------------------------------------------------------------- design

/// part rounds: a method on some problems. part plans: all methods, and the plans they end with.
std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> all;
  for (const Family& family : kFamilies) {
    for (const double epsilon : kEpsilons) {
      if (setting.scale == Scale::smoke && epsilon != kEpsilons.front()) continue;
      const Json cell = {{"family", family.name},
                         {"epsilon", epsilon},
                         {"seeds", setting.by_scale(1, 5, 5)},
                         {"n", setting.by_scale<std::size_t>(40, 400, 400)}};
      const auto add = [&](const Json& others) {
        all.push_back(cell);
        all.back().update(others);
      };
      add({{"part", "rounds"}, {"method", kPlain}});
      for (const char* method : kFaster) add({{"part", "rounds"}, {"method", method}});
      add({{"part", "plans"}});
    }
  }
  return all;
}

/// By family and epsilon: median and most rounds of each method.
TableView rounds_table() {
  TableView table{.caption = "Rounds to an L1 error of 1e-9, median of the seeds and most",
                  .rows = {{"family", "problem"}, {"epsilon", "epsilon"}},
                  .where = {{"part", "rounds"}}};
  const auto add = [&](const std::string& method) {
    const Json where = {{"method", method}};
    table.figures.push_back({.title = method, .key = "rounds", .format = "count", .where = where});
    table.figures.push_back(
        {.title = method + ", most", .key = "rounds", .statistic = "most", .format = "count", .where = where});
  };
  add(kPlain);
  for (const char* method : kFaster) add(method);
  return table;
}

TableView plans_table() {
  TableView table{.caption =
                      "Against plain Sinkhorn, both to an L1 error of 1e-11: largest difference of an entry of the "
                      "plan, and how many times fewer rounds (median)",
                  .rows = {{"family", "problem"}, {"epsilon", "epsilon"}},
                  .where = {{"part", "plans"}}};
  table.figures.push_back({.title = "seeds compared", .key = "is_compared", .statistic = "sum", .format = "count"});
  for (const std::string method : kFaster) {
    table.figures.push_back({.title = method + ": difference", .key = "difference_" + method, .statistic = "most"});
    table.figures.push_back({.title = method + ": times fewer", .key = "times_fewer_" + method});
  }
  return table;
}

TableView methods_table() {
  return {.caption = "All problems together",
          .rows = {{"method", "method"}},
          .figures = {{.title = "converged", .key = "is_converged", .statistic = "mean", .format = "percent"},
                      {.title = "rounds, most", .key = "rounds", .statistic = "most", .format = "count"},
                      {.title = "rejected rounds", .key = "rejected", .statistic = "sum", .format = "count"},
                      {.title = "largest error of those that converged", .key = "error", .statistic = "most"}},
          .where = {{"part", "rounds"}}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "One client, the largest cost 1, at most 20,000 rounds; rejected rounds count. Infinite: not converged within "
      "them. Rounds are not times: a step of Newton's method, also of auto where it uses that, factors a matrix.",
      "uniform2: points in the unit square. gauss8: a normal cloud and a narrower, shifted one, in 8 dimensions. "
      "clusters2: four clusters on a diagonal. illmarg: as uniform2, masses spread over eight decades. random_cost: "
      "random costs. line1: points on a line.",
      "Plans are compared where plain Sinkhorn reaches 1e-11 within the limit."};
  design.cells = cells(setting);
  design.tables = {rounds_table(), methods_table(), plans_table()};
  design.charts = {{.id = "rounds",
                    .title = "Rounds by epsilon, points in the unit square",
                    .description = "A line per method: median of the seeds.",
                    .kind = "lines",
                    .x = "epsilon",
                    .groups = {{"method", ""}},
                    .figures = {{.title = "rounds", .key = "rounds", .format = "count"}},
                    .x_axis = {{"title", "epsilon / largest cost"}, {"log", true}},
                    .y_axis = {{"title", "rounds"}, {"log", true}},
                    .where = {{"part", "rounds"}, {"family", "uniform2"}}}};
  return design;
}

// ---------------------------------------------------------------------------------------------------- runs

Result solve_by(const std::string& method, double tolerance, const Problem& problem) {
  Options options;
  options.backend = "cpu";
  options.method = method;
  options.tolerance = tolerance;
  options.max_iterations = kMostRounds;
  options.threads = 1;
  return solve(problem, options);
}

bool has_converged(const Result& result) { return result.status == Status::converged; }

double largest_difference(const Problem& problem, const Result& one, const Result& other) {
  const Plan p(problem, one, 1);
  const Plan q(problem, other, 1);
  std::vector<double> row_p(one.columns);
  std::vector<double> row_q(one.columns);
  double largest = 0;
  for (std::size_t i = 0; i < one.rows; ++i) {
    p.rows(i, 1, 0, row_p);
    q.rows(i, 1, 0, row_q);
    for (std::size_t j = 0; j < one.columns; ++j) {
      const double difference = std::abs(row_p[j] - row_q[j]);
      if (!(difference <= largest)) largest = difference;  // NaN stays
    }
  }
  return largest;
}

void add_rounds(const Problem& problem, const std::string& method, Json& measured) {
  const Result result = solve_by(method, kTolerance, problem);
  const bool converged = has_converged(result);
  measured["is_converged"].push_back(converged ? 1 : 0);
  measured["rounds"].push_back(converged ? Json(result.iterations) : Json(report::kInfinite));
  measured["rejected"].push_back(result.rejected);
  if (converged) measured["error"].push_back(std::max(result.error.a, result.error.b));
}

/// A plan that misses the tight tolerance is compared all the same.
void add_comparison(const Problem& problem, Json& measured) {
  const Result plain = solve_by(kPlain, kTightTolerance, problem);
  measured["is_compared"].push_back(has_converged(plain) ? 1 : 0);
  if (!has_converged(plain)) return;
  for (const std::string method : kFaster) {
    const Result faster = solve_by(method, kTightTolerance, problem);
    measured["difference_" + method].push_back(measured_number(largest_difference(problem, plain, faster)));
    measured["times_fewer_" + method].push_back(
        has_converged(faster) ? static_cast<double>(plain.iterations) / static_cast<double>(faster.iterations) : 0);
  }
}

Json measure(const Json& parameters) {
  Json measured;
  const std::uint64_t seeds = parameters.at("seeds");
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Drawn drawn = drawn_of(parameters, seed);
    const Problem problem = drawn.view(parameters.at("epsilon"));
    if (parameters.at("part") == "plans") {
      add_comparison(problem, measured);
    } else {
      add_rounds(problem, parameters.at("method"), measured);
    }
  }
  return measured;
}

}  // namespace

Study study() {
  return {"rounds",
          "Rounds by method",
          "In how many rounds do the methods converge, and do they end with the same plan?",
          "",
          false,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::rounds
