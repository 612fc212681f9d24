#include "solved.hpp"

#include <pybind11/stl.h>

#include <optional>
#include <utility>

#include "arrays.hpp"
#include "core/names.hpp"
#include "cost/cost_input.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/gradients.hpp"
#include "gil.hpp"
#include "io/summary.hpp"
#include "options.hpp"

namespace fedsinkhorn::python {
namespace {

py::tuple errors_of(const MarginalErrors& errors) { return py::make_tuple(errors.a, errors.b); }

/// In the order of the fields of Costs (result.py).
py::tuple costs_of(const Costs& costs) {
  return py::make_tuple(costs.linear, costs.entropy, costs.objective, costs.dual, costs.shannon_entropy,
                        costs.kl_objective);
}

std::vector<double> numbers_of(const py::dict& state, const char* name) {
  return state[name].cast<std::vector<double>>();
}

/// What others have pickled may be anything.
void check_restored(const Result& result) {
  const bool fits = result.targets > 0 && result.f.size() % result.targets == 0 &&
                    result.g.size() == result.columns * result.targets &&
                    (result.f_rest.empty() || result.f_rest.size() == result.f.size()) &&
                    (result.g_rest.empty() || result.g_rest.size() == result.g.size()) &&
                    result.first_row <= result.rows &&
                    result.f.size() / result.targets <= result.rows - result.first_row;
  if (!fits) throw InputError("state", "does not belong to a result");
}

/// Client 0 knows f of all rows, but has the costs of its own, which come first.
std::shared_ptr<const Result> rows_with_costs(const Problem& problem, const std::shared_ptr<const Result>& result) {
  if (!problem.parts.rows || result->targets == 0 || result->this_client != 0) return result;
  const std::size_t size = make_cost_input(problem.cost)->shape().rows * result->targets;
  if (size >= result->f.size()) return result;
  Result own = *result;
  own.f.resize(size);
  if (!own.f_rest.empty()) own.f_rest.resize(size);
  return std::make_shared<const Result>(std::move(own));
}

}  // namespace

Solved::Solved(GivenProblem given, Options options, Result result)
    : given_(std::move(given)),
      options_(std::move(options)),
      result_(std::make_shared<const Result>(std::move(result))),
      of_plan_(rows_with_costs(given_.problem, result_)) {
  // What they refer to ends with the solve.
  options_.interrupt = nullptr;
  options_.on_check = nullptr;
}

std::unique_ptr<Solved> Solved::restore(const py::dict& inputs, const py::dict& state) {
  Result result;
  result.rows = state["rows"].cast<std::size_t>();
  result.columns = state["columns"].cast<std::size_t>();
  result.targets = state["targets"].cast<std::size_t>();
  result.first_row = state["first_row"].cast<std::size_t>();
  result.mass = state["mass"].cast<double>();
  result.is_normalized = state["is_normalized"].cast<bool>();
  result.f = numbers_of(state, "f");
  result.g = numbers_of(state, "g");
  result.f_rest = numbers_of(state, "f_rest");
  result.g_rest = numbers_of(state, "g_rest");
  check_restored(result);
  Options options;  // of which a plan needs no more
  options.threads = state["threads"].cast<int>();
  return std::make_unique<Solved>(GivenProblem(inputs), options, std::move(result));
}

py::object Solved::potential(const std::vector<double>& values) const {
  ArrayShape shape = {values.size() / result_->targets};
  if (given_.several_targets) shape.push_back(result_->targets);
  return view_of(values, shape, result_);
}
py::object Solved::f() const { return potential(result_->f); }
py::object Solved::g() const { return potential(result_->g); }

py::dict Solved::facts() const {
  const Result& result = *result_;
  py::list targets;
  for (const TargetResult& one : result.per_target) {
    targets.append(
        py::make_tuple(std::string(name_of(one.status)), one.iterations, errors_of(one.error), costs_of(one.cost)));
  }
  py::dict facts;
  facts["status"] = std::string(name_of(result.status));
  facts["iterations"] = result.iterations;
  facts["errors"] = errors_of(result.error);
  facts["cost"] = costs_of(result.cost);
  facts["per_target"] = targets;
  facts["epsilon"] = given_.problem.epsilon;
  facts["rows"] = result.rows;
  facts["columns"] = result.columns;
  facts["targets"] = result.targets;
  facts["first_row"] = result.first_row;
  facts["rows_of_plan"] = rows_of_plan();
  facts["several_targets"] = given_.several_targets;
  facts["tolerance"] = options_.tolerance;
  facts["norm"] = std::string(name_of(result.norm));
  facts["method"] = result.method;
  facts["backend"] = result.backend;
  facts["seconds"] = result.wall_seconds;
  facts["client"] = result.this_client;
  return facts;
}

py::dict Solved::trace() const {
  const std::vector<TraceRow>& rows = result_->trace;
  const auto column = [&](auto member) {
    using Value = std::remove_cvref_t<decltype(rows.front().*member)>;
    NewArray<Value> values = new_array<Value>({rows.size()});
    for (std::size_t i = 0; i < rows.size(); ++i) values.memory[i] = rows[i].*member;
    return std::move(values.array);
  };
  py::dict trace;
  trace["iteration"] = column(&TraceRow::iteration);
  trace["seconds"] = column(&TraceRow::seconds);
  trace["error_a"] = column(&TraceRow::error_a);
  trace["error_b"] = column(&TraceRow::error_b);
  trace["epsilon"] = column(&TraceRow::epsilon);
  trace["rejected"] = column(&TraceRow::rejected);
  trace["history"] = column(&TraceRow::history);
  trace["omega"] = column(&TraceRow::omega);
  trace["newton"] = column(&TraceRow::newton);
  return trace;
}

py::dict Solved::state() const {
  const Result& result = *result_;
  const auto copy = [](const std::vector<double>& numbers) { return array_of(numbers, {numbers.size()}); };
  py::dict state;
  state["rows"] = result.rows;
  state["columns"] = result.columns;
  state["targets"] = result.targets;
  state["first_row"] = result.first_row;
  state["mass"] = result.mass;
  state["is_normalized"] = result.is_normalized;
  state["threads"] = options_.threads;
  state["f"] = copy(result.f);
  state["g"] = copy(result.g);
  state["f_rest"] = copy(result.f_rest);
  state["g_rest"] = copy(result.g_rest);
  return state;
}

std::string Solved::summary() const { return summary_json(*result_, options_, given_.problem.epsilon); }

const Plan& Solved::plan() const {
  if (!plan_) plan_ = std::make_unique<Plan>(given_.problem, *of_plan_, options_.threads);
  return *plan_;
}

py::object Solved::rows(std::size_t first, std::size_t count, std::size_t target) const {
  const Plan& plan = this->plan();
  if (count > rows_of_plan()) throw InputError("plan", "does not have so many rows");
  NewArray<double> out = new_array<double>({count, result_->columns});
  {
    const WithoutGil no_gil;
    plan.rows(first, count, target, out.memory);
  }
  return std::move(out.array);
}

void Solved::write_rows(std::size_t first, std::size_t count, std::size_t target, const DeviceArray& out) const {
  const Plan& plan = this->plan();
  const WithoutGil no_gil;
  plan.rows(first, count, target, out.rows());
}

py::object Solved::device() const {
  const std::optional<int> device = plan().device();
  return device ? py::object(py::int_(*device)) : py::object(py::none());
}

py::object Solved::product(Product product, std::size_t out_rows, const py::object& values, std::size_t target) const {
  const MatrixView<double> view = float64_matrix_of(values, "values");
  const Plan& plan = this->plan();
  NewArray<double> out = new_array<double>({out_rows, view.columns});
  {
    const WithoutGil no_gil;
    (plan.*product)(view, target, out.memory);
  }
  return std::move(out.array);
}

py::object Solved::apply(const py::object& values, std::size_t target) const {
  return product(&Plan::apply, rows_of_plan(), values, target);
}
py::object Solved::apply_transposed(const py::object& values, std::size_t target) const {
  return product(&Plan::apply_transposed, result_->columns, values, target);
}
py::object Solved::barycentric(const py::object& values, std::size_t target) const {
  return product(&Plan::barycentric, rows_of_plan(), values, target);
}

std::unique_ptr<Solved> Solved::extend(const py::dict& inputs) const {
  GivenProblem given(inputs);
  given.several_targets = given_.several_targets;
  Result extended;
  {
    const WithoutGil no_gil;
    extended = extend_rows(given.problem, *result_, options_.threads);
  }
  return std::make_unique<Solved>(std::move(given), options_, std::move(extended));
}

py::tuple Solved::point_gradients(std::size_t target) const {
  PointGradients gradients;
  {
    const WithoutGil no_gil;
    gradients = fedsinkhorn::point_gradients(given_.problem, *of_plan_, target, options_.threads);
  }
  const auto matrix = [](std::span<const double> numbers, std::size_t rows) {
    return array_of(numbers, {rows, rows == 0 ? 0 : numbers.size() / rows});
  };
  return py::make_tuple(matrix(gradients.x, rows_of_plan()), matrix(gradients.y, result_->columns));
}

py::tuple Solved::mass_gradients(std::size_t target) const {
  MassGradients gradients;
  {
    const WithoutGil no_gil;
    gradients = fedsinkhorn::mass_gradients(given_.problem, *result_, target, options_.threads);
  }
  return py::make_tuple(array_of(gradients.a, {gradients.a.size()}), array_of(gradients.b, {gradients.b.size()}));
}

void bind_solved(py::module_& module) {
  py::class_<Progress>(module, "Progress", "What a callback of solve() is told after each check of the error.")
      .def_readonly("iteration", &Progress::iteration)
      .def_readonly("max_iterations", &Progress::max_iterations)
      .def_readonly("seconds", &Progress::seconds)
      .def_readonly("error_a", &Progress::error_a)
      .def_readonly("error_b", &Progress::error_b)
      .def_readonly("tolerance", &Progress::tolerance)
      .def_readonly("targets_left", &Progress::targets_left)
      .def_readonly("epsilon", &Progress::epsilon)
      .def_readonly("is_on_the_way", &Progress::is_on_the_way);
  py::class_<Solved>(module, "Solved")
      .def_static("restore", &Solved::restore)
      .def("f", &Solved::f)
      .def("g", &Solved::g)
      .def("facts", &Solved::facts)
      .def("trace", &Solved::trace)
      .def("state", &Solved::state)
      .def("summary", &Solved::summary)
      .def("rows", &Solved::rows)
      .def("write_rows", &Solved::write_rows)
      .def("device", &Solved::device)
      .def("apply", &Solved::apply)
      .def("apply_transposed", &Solved::apply_transposed)
      .def("barycentric", &Solved::barycentric)
      .def("extend", &Solved::extend)
      .def("point_gradients", &Solved::point_gradients)
      .def("mass_gradients", &Solved::mass_gradients);
}

}  // namespace fedsinkhorn::python
