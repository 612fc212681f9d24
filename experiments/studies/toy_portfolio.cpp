// The paper's toy portfolio of three stocks in three offices.
#include <array>
#include <cmath>
#include <optional>

#include "fedsinkhorn/risk.hpp"
#include "fedsinkhorn/solve.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::toy_portfolio {
namespace {

constexpr std::size_t kStocks = 3;
/// As the paper prints them.
constexpr std::array kCosts = {0.164, 0.163, 0.214, 0.163, 0.161, 0.232, 0.214, 0.232, 0.163};
constexpr std::array kReturns = {0.30, 0.15, 5.15};    // shifted by 0.81; a after scaling
constexpr std::array kPredicted = {1.24, 0.01, 4.67};  // likewise; b
constexpr std::array kWeights = {0.4, 0.1, 0.5};
constexpr double kPaperEpsilon = 0.01;

std::vector<double> scaled(const std::array<double, kStocks>& values) {
  const double sum = values[0] + values[1] + values[2];
  return {values[0] / sum, values[1] / sum, values[2] / sum};
}

struct Toy {
  std::vector<double> a = scaled(kReturns);
  std::vector<double> b = scaled(kPredicted);

  [[nodiscard]] Problem view(double epsilon) const {
    Problem problem;
    problem.cost = CostMatrix{MatrixView<double>{kCosts.data(), kStocks, kStocks}};
    problem.a = a;
    problem.b = {b.data(), kStocks, 1};
    problem.epsilon = epsilon;
    return problem;
  }
};

/// What the paper prints of its plan, in its row of the table of plans.
std::vector<PaperFigure> printed_column(const std::array<const char*, kStocks>& entries) {
  std::vector<PaperFigure> figures;
  for (std::size_t row = 0; row < kStocks; ++row) {
    figures.push_back({{{"epsilon", kPaperEpsilon}, {"row", row + 1}}, entries[row]});
  }
  return figures;
}

std::vector<TableView> tables() {
  const Json convergence = {{"kind", "convergence"}};
  return {
      {.caption = "Three offices, one row each: to an L1 error of 1e-12",
       .rows = {{"topology", "topology"}},
       .figures = {{.title = "iterations", .key = "iterations", .format = "count"},
                   {.title = "time", .key = "seconds", .format = "seconds", .paper = {{Json::object(), "< 0.5 s"}}},
                   {.title = "expected loss", .key = "loss", .format = "number", .paper = {{Json::object(), "-0.48"}}},
                   {.title = "largest difference from the plan of one client", .key = "difference"}},
       .where = convergence},
      {.caption = "The plan, row by row",
       .rows = {{"epsilon", "epsilon"}, {"row", "row"}},
       .figures = {{.title = "column 1",
                    .key = "p1",
                    .format = "precise",
                    .paper = printed_column({"1.40e-1", "6.94e-2", "3.95e-8"})},
                   {.title = "column 2",
                    .key = "p2",
                    .format = "precise",
                    .paper = printed_column({"6.78e-4", "1.02e-3", "6.19e-19"})},
                   {.title = "column 3",
                    .key = "p3",
                    .format = "precise",
                    .paper = printed_column({"7.45e-38", "1.19e-46", "7.89e-1"})},
                   {.title = "sum of the row", .key = "sum", .format = "precise"},
                   {.title = "a", .key = "a", .format = "precise"}},
       .where = {{"kind", "plan"}}},
      {.caption = "Worst case with only the rows fixed (Blanchet and Murthy), epsilon 0.001",
       .rows = {{"radius", "radius"}},
       .figures = {{.title = "expected loss", .key = "loss", .format = "precise"},
                   {.title = "lambda", .key = "lambda", .format = "precise"}},
       .where = {{"kind", "worst case"}}}};
}

Design design(const Setting& /*setting*/) {
  Design design;
  design.conditions = {
      "The printed costs, a and b from the printed returns, losses minus the weights of the stocks. Plain Sinkhorn, "
      "three clients, epsilon 0.01 in the first table."};
  design.differences = {
      "With both marginals fixed the expected loss is the sum of b times the losses, whatever the plan is: the paper's "
      "-0.48 is that number. Its printed plan has the column sums b but other row sums than a, and its entries are "
      "those of epsilon = 0.001 after about thirty iterations: an early iterate. If only the rows are fixed, as in "
      "the problem the paper states, the loss depends on the radius (last table)."};
  for (const char* topology : {"all-to-all", "star", "async", "row-reduce"}) {
    design.cells.push_back({{"kind", "convergence"}, {"topology", topology}});
  }
  for (const double epsilon : {kPaperEpsilon, 0.001}) {
    for (std::size_t row = 1; row <= kStocks; ++row) {
      design.cells.push_back({{"kind", "plan"}, {"epsilon", epsilon}, {"row", row}});
    }
  }
  for (const double radius : {0.163, 0.17, 0.19, 0.21}) {
    design.cells.push_back({{"kind", "worst case"}, {"radius", radius}});
  }
  design.tables = tables();
  design.charts = {{.id = "convergence",
                    .title = "Marginal error by time",
                    .description = "A curve per topology, on a log scale.",
                    .kind = "curves",
                    .groups = {{"topology", ""}},
                    .figures = {{.title = "error", .key = "curve"}},
                    .x_axis = {{"title", "time"}, {"unit", "s"}},
                    .y_axis = {{"title", "L1 error"}, {"log", true}},
                    .where = {{"kind", "convergence"}}}};
  return design;
}

Result solved(const Toy& toy, double epsilon, const Options& options) { return solve(toy.view(epsilon), options); }

std::vector<double> plan_of(const Toy& toy, double epsilon, const Result& result) {
  std::vector<double> plan(kStocks * kStocks);
  const Problem problem = toy.view(epsilon);
  Plan(problem, result, 1).rows(0, kStocks, 0, plan);
  return plan;
}

Options tight_options(const std::string& topology, std::size_t clients) {
  Options options = paper_options(topology, clients);
  options.norm = Norm::l1;
  options.tolerance = 1e-12;
  return options;
}

/// Three offices in one process: the problem is too small to start others for it.
Json measure_convergence(const Toy& toy, const std::string& topology) {
  const Options options = tight_options(topology, kStocks);
  const Result result = solved(toy, kPaperEpsilon, options);
  const report::RunRecord run = record_of(result, options, kPaperEpsilon);
  const std::vector<double> plan = plan_of(toy, kPaperEpsilon, result);
  const std::vector<double> alone =
      plan_of(toy, kPaperEpsilon, solved(toy, kPaperEpsilon, tight_options("centralized", 1)));
  double loss = 0;
  double difference = 0;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    loss -= plan[k] * kWeights[k % kStocks];  // sum_ij P_ij l_j
    difference = std::max(difference, std::abs(plan[k] - alone[k]));
  }
  return {{"iterations", result.iterations},
          {"seconds", result.solve_seconds},
          {"loss", loss},
          {"difference", difference},
          {"curve", curve_of(run, &report::TracePoint::seconds, &report::TracePoint::error_b)}};
}

Json measure_plan(const Toy& toy, double epsilon, std::size_t row) {
  const std::vector<double> plan = plan_of(toy, epsilon, solved(toy, epsilon, tight_options("centralized", 1)));
  const double* p = plan.data() + (row - 1) * kStocks;
  return {{"p1", p[0]}, {"p2", p[1]}, {"p3", p[2]}, {"sum", p[0] + p[1] + p[2]}, {"a", toy.a[row - 1]}};
}

Json measure_worst_case(const Toy& toy, double radius) {
  const std::array losses = {-kWeights[0], -kWeights[1], -kWeights[2]};
  RiskProblem problem;
  problem.costs = MatrixView<double>{kCosts.data(), kStocks, kStocks};
  problem.scenario_losses = losses;
  problem.a = toy.a;
  problem.radius = radius;
  problem.epsilon = 0.001;
  const RiskResult result = worst_case(problem);
  return {{"loss", result.worst.loss}, {"lambda", result.worst.lambda}};
}

Json measure(const Json& parameters) {
  const Toy toy;
  const std::string kind = parameters.at("kind");
  if (kind == "convergence") return measure_convergence(toy, parameters.at("topology"));
  if (kind == "plan") return measure_plan(toy, parameters.at("epsilon"), parameters.at("row"));
  return measure_worst_case(toy, parameters.at("radius"));
}

}  // namespace

Study study() {
  return {"toy-portfolio",
          "The toy portfolio",
          "What does the paper's toy portfolio lose, and do all topologies agree?",
          "section 7 and its appendix: printed plan, convergence by topology",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::toy_portfolio
