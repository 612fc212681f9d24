// Iterations and errors by epsilon, in float64 and in 50 decimal digits.
#include <cmath>

#include "fedsinkhorn/solve.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::epsilon_digits {
namespace {

constexpr std::uint64_t kSeed = 3;

std::vector<TableView> tables() {
  return {{.caption = "Plain Sinkhorn until the L2 error is 1e-12",
           .rows = {{"epsilon", "epsilon"}},
           .figures = {{.title = "iterations, 50 digits", .key = "iterations_50", .format = "count"},
                       {.title = "iterations, float64", .key = "iterations_64", .format = "count"},
                       {.title = "cost, 50 digits", .key = "cost", .format = "precise"},
                       {.title = "largest difference of f, relative", .key = "difference"},
                       {.title = "error reached, float64", .key = "error_64"}}}};
}

std::vector<ChartView> charts() {
  return {{.id = "curves",
           .title = "Marginal error by iteration in 50 digits",
           .description = "A curve per epsilon on a log scale: the smaller epsilon, the slower.",
           .kind = "curves",
           .groups = {{"epsilon", "epsilon"}},
           .figures = {{.title = "error", .key = "curve"}},
           .x_axis = {{"title", "iteration"}},
           .y_axis = {{"title", "L2 error"}, {"log", true}}},
          {.id = "iterations",
           .title = "Iterations by epsilon",
           .description = "A line per precision; they lie on each other where float64 suffices.",
           .kind = "lines",
           .x = "epsilon",
           .figures = {{.title = "50 digits", .key = "iterations_50", .format = "count"},
                       {.title = "float64", .key = "iterations_64", .format = "count"}},
           .x_axis = {{"title", "epsilon over the largest cost"}, {"log", true}},
           .y_axis = {{"title", "iterations"}, {"log", true}}}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Points in the unit square, random masses, largest cost 1. Plain Sinkhorn in MPFR's 50 decimal digits and in "
      "float64 from the same start; both stop at an L2 error of 1e-12, or at the limit of iterations."};
  design.differences = {
      "The paper uses 50 digits to rule out rounding, and prints no figures of that study. Ours compares both "
      "precisions: where stabilised float64 needs about as many iterations as 50 digits, rounding is not what makes "
      "plain Sinkhorn slow."};
  const std::vector<double> epsilons = setting.scale == Scale::smoke
                                           ? std::vector<double>{0.1, 0.02}
                                           : std::vector<double>{0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002};
  for (const double epsilon : epsilons) {
    design.cells.push_back({{"epsilon", epsilon},
                            {"n", setting.by_scale<std::size_t>(8, 24, 64)},
                            {"most_iterations", setting.by_scale(300, 20'000, 100'000)}});
  }
  design.tables = tables();
  design.charts = charts();
  return design;
}

double largest_difference(const std::vector<double>& one, const std::vector<double>& other) {
  double largest = 0;
  double scale = 0;
  // f may be moved by a constant if g is moved back.
  const double offset = one.front() - other.front();
  for (std::size_t i = 0; i < one.size(); ++i) {
    largest = std::max(largest, std::abs(one[i] - other[i] - offset));
    scale = std::max(scale, std::abs(one[i]));
  }
  return largest / scale;
}

Json iterations_of(const Result& result) {
  return result.status == Status::converged ? Json(result.iterations) : Json(report::kInfinite);
}

Json measure(const Json& parameters) {
  const PointsProblem problem = square_problem(parameters.at("n"), kSeed, parameters.at("epsilon"));
  Options options = paper_options("centralized", 1);
  options.tolerance = 1e-12;
  options.max_iterations = parameters.at("most_iterations");
  const Result quick = solve(problem.view(), options);
  options.precision = Precision::digits50;
  const Result precise = solve(problem.view(), options);
  const report::RunRecord run = record_of(precise, options, problem.epsilon());
  return {{"iterations_50", iterations_of(precise)},
          {"iterations_64", iterations_of(quick)},
          {"cost", precise.cost.linear},
          {"difference", largest_difference(precise.f, quick.f)},
          {"error_64", std::max(quick.error.a, quick.error.b)},
          {"curve", curve_of(run, &report::TracePoint::iteration, &report::TracePoint::error_b)}};
}

}  // namespace

Study study() {
  return {"epsilon-digits",
          "Small epsilon in 50 digits",
          "Is it rounding that makes plain Sinkhorn slow at small epsilon?",
          "appendix on numeric precision: 50 decimal digits",
          false,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::epsilon_digits
