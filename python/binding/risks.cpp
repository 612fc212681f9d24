#include "risks.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/risk.hpp"
#include "io/risk_summary.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "stopping.hpp"

namespace fedsinkhorn::python {
namespace {

/// Keeps the arrays alive that the problem refers to.
struct GivenRisk {
  RiskProblem problem;
  std::vector<py::object> arrays;

  /// Null if it was not given.
  [[nodiscard]] py::object find(const py::dict& inputs, const char* name) {
    py::object value = inputs[name];
    if (value.is_none()) return {};
    arrays.push_back(value);
    return value;
  }
};

void set_costs(const py::dict& inputs, GivenRisk& given) {
  RiskProblem& problem = given.problem;
  if (const py::object costs = given.find(inputs, "costs")) {
    problem.costs = matrix_of(costs, "costs");
    return;
  }
  if (const py::object returns = given.find(inputs, "returns")) problem.returns = matrix_of(returns, "returns");
  if (const py::object scenarios = given.find(inputs, "scenarios")) {
    problem.scenarios = matrix_of(scenarios, "scenarios");
  }
  if (const py::object covariance = given.find(inputs, "covariance")) {
    problem.covariance = float64_matrix_of(covariance, "covariance");
  }
  const std::string cost = text_of(inputs["cost"], "cost");
  const auto found = choice_named<RiskCost>(cost);
  if (!found) throw InputError("cost", "unknown name '" + cost + "'", "choose " + alternatives<RiskCost>());
  problem.cost = *found;
}

GivenRisk risk_from(const py::dict& inputs) {
  GivenRisk given;
  RiskProblem& problem = given.problem;
  problem.names.scenario_losses = "scenario_losses";
  problem.names.return_losses = "return_losses";
  problem.names.stress_marginal = "stress_marginal";
  set_costs(inputs, given);
  const bool is_part = truth(inputs["is_part"], "is_part");
  const auto numbers = [&](const char* name) {
    const py::object array = given.find(inputs, name);
    if (!array) return std::span<const double>{};
    const std::span<const double> values = vector_of(array, name);
    // A process may have no days of its own.
    if (values.empty() && !is_part) throw InputError(name, "is empty", "give numbers, or leave it out");
    return values;
  };
  problem.weights = numbers("weights");
  problem.scenario_losses = numbers("scenario_losses");
  problem.return_losses = numbers("return_losses");
  problem.a = numbers("a");
  problem.are_gains = truth(inputs["are_gains"], "are_gains");
  problem.may_stay = truth(inputs["may_stay"], "may_stay");
  problem.is_part = is_part;
  problem.radius = real_number(inputs["radius"], "radius");
  problem.epsilon = real_number(inputs["epsilon"], "epsilon");
  problem.cvar_level = real_number(inputs["cvar_level"], "cvar_level");
  return given;
}

py::dict risk_result(const RiskResult& result, const RiskProblem& problem, const Options& options) {
  const bool has_weights = !problem.weights.empty();
  const auto copy = [](const std::vector<double>& numbers) { return array_of(numbers, {numbers.size()}); };
  py::dict answer;
  answer["summary"] =
      risk_summary_json(result, {.epsilon = problem.epsilon,
                                 .cvar_level = problem.cvar_level,
                                 .tolerance = options.tolerance,
                                 .cost = result.dimension == 0 ? "given" : std::string(name_of(problem.cost)),
                                 .loss = has_weights ? "weights" : "given"});
  answer["scenario_weights"] = copy(result.scenario_weights);
  answer["scenario_losses"] = copy(result.scenario_losses);
  std::vector<double> after;
  for (const DayMove& move : result.moves) after.push_back(move.loss_after);
  answer["losses_after"] = copy(after);
  return answer;
}

/// Arguments, checked as far as one client can by itself.
struct PreparedRisk {
  GivenRisk given;
  RiskOptions options;
  std::optional<StressMarginal> marginal;
};

PreparedRisk prepared_risk(const py::dict& inputs, const py::dict& options) {
  PreparedRisk risk{risk_from(inputs), {}, {}};
  risk.options.options = options_from(options);
  if (const py::object radii = risk.given.find(inputs, "radii")) {
    const std::span<const double> numbers = vector_of(radii, "radii");
    for (const double radius : numbers) {
      if (!(radius >= 0 && std::isfinite(radius))) {
        throw InputError("radii", fmt::format("{} is no radius", radius), "give numbers of 0 or more");
      }
    }
    risk.options.radii.assign(numbers.begin(), numbers.end());
  }
  if (const py::object stress = risk.given.find(inputs, "stress_marginal")) {
    risk.marginal = StressMarginal{.b = vector_of(stress, "stress_marginal")};
  }
  return risk;
}

py::dict risk_of(const PreparedRisk& prepared, bool is_interruptible, bool with_mpi) {
  const RiskProblem& problem = prepared.given.problem;
  RiskOptions options = prepared.options;
  Follower follower(py::none{});
  follower.follow(options.options);
  std::optional<RiskResult> result;
  follower.run(is_interruptible, [&] {
    if (with_mpi) {
      MpiSession session(options.options.timeout, options.options.interrupt);
      result = prepared.marginal ? stressed_plan(problem, *prepared.marginal, options, session)
                                 : worst_case(problem, options, session);
    } else {
      result = prepared.marginal ? stressed_plan(problem, *prepared.marginal, options) : worst_case(problem, options);
    }
  });
  py::dict answer = risk_result(*result, problem, options.options);
  follower.finish(answer);
  return answer;
}

}  // namespace

void bind_risks(py::module_& module) {
  py::class_<PreparedRisk>(module, "PreparedRisk").def(py::init(&prepared_risk));
  module.def("risk", &risk_of);
}

}  // namespace fedsinkhorn::python
