#include "given_problem.hpp"

#include <pybind11/stl.h>

#include <string>

#include "arrays.hpp"
#include "core/names.hpp"
#include "cost/cost_input.hpp"
#include "device_arrays.hpp"
#include "fedsinkhorn/error.hpp"
#include "numbers.hpp"

namespace fedsinkhorn::python {
namespace {

/// To the library, an empty array is one that was not given.
void require_filled(bool is_empty, std::size_t lines, const char* name, const std::string& right) {
  if (is_empty && lines > 0) throw InputError(name, "is empty", "give " + right + ", or leave it out");
}

}  // namespace

GivenProblem::GivenProblem(const py::dict& inputs) {
  problem.names = {.cost = "C", .x = "X", .y = "Y", .initial_g = "initial_g"};
  set_costs(inputs);
  const CostShape shape = make_cost_input(problem.cost)->shape();
  if (const py::object a = find(inputs, "a")) {
    problem.a = vector_of(a, "a");
    require_filled(problem.a.empty(), shape.rows, "a", "masses, one for each row of the costs");
  }
  if (const py::object b = find(inputs, "b")) {
    problem.b = columns_of_masses(b, "b");
    require_filled(problem.b.empty(), shape.columns, "b", "masses, one for each column of the costs");
    several_targets = dimensions_of(b, "b") == 2;
  }
  if (const py::object g = find(inputs, "initial_g")) {
    problem.initial_g = columns_of_masses(g, "initial_g");
    require_filled(problem.initial_g.empty(), shape.columns, "initial_g", "one number for each column of the costs");
  }
  problem.epsilon = real_number(inputs["epsilon"], "epsilon");
  if (inputs.contains("mass_tolerance")) {
    problem.mass_tolerance = real_number(inputs["mass_tolerance"], "mass_tolerance");
    if (!(problem.mass_tolerance >= 0 && problem.mass_tolerance < 1)) {
      throw InputError("mass_tolerance", "is not between 0 and 1");
    }
  }
  set_parts(inputs);
}

/// The value, which is then kept alive; null if it was not given.
py::object GivenProblem::find(const py::dict& inputs, const char* name) {
  if (!inputs.contains(name)) return {};
  py::object value = inputs[name];
  if (value.is_none()) return {};
  arrays.push_back(value);
  return value;
}

void GivenProblem::set_costs(const py::dict& inputs) {
  if (const py::object costs = find(inputs, "C")) {
    if (py::isinstance<DeviceArray>(costs)) {
      problem.cost = costs.cast<const DeviceArray&>().matrix();
      return;
    }
    problem.cost = costs_of(costs, "C");
    return;
  }
  const py::object x = find(inputs, "X");
  const py::object y = find(inputs, "Y");
  if (!x || !y) throw InputError("C", "was not given", "give a matrix of costs, or points (X, Y)");
  const std::string metric = text_of(inputs["metric"], "metric");
  const auto found = choice_named<Metric>(metric);
  if (!found) throw InputError("metric", "unknown name '" + metric + "'", "choose " + alternatives<Metric>());
  problem.cost = PointClouds{matrix_of(x, "X"), matrix_of(y, "Y"), *found};
}

void GivenProblem::set_parts(const py::dict& inputs) {
  if (!inputs.contains("parts")) return;
  for (const py::handle part : inputs["parts"]) {
    const std::string name = text_of(part, "parts");
    if (name == "C" || name == "X") {
      problem.parts.rows = true;
    } else if (name == "Y") {
      problem.parts.columns = true;
    } else if (name == "a") {
      problem.parts.a = true;
    } else if (name == "b") {
      problem.parts.b = true;
    } else if (name == "initial_g") {
      problem.parts.initial_g = true;
    } else {
      throw InputError("parts", "unknown name '" + name + "'", "choose C, X, Y, a, b or initial_g");
    }
  }
}

}  // namespace fedsinkhorn::python
