// A solved problem: the result, and its plan on demand.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "device_arrays.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"
#include "fedsinkhorn/solve.hpp"
#include "given_problem.hpp"

namespace fedsinkhorn::python {

namespace py = pybind11;

class Solved {
 public:
  Solved(GivenProblem given, Options options, Result result);

  /// From what state() gave, for pickle.
  static std::unique_ptr<Solved> restore(const py::dict& inputs, const py::dict& state);

  [[nodiscard]] const Result& result() const { return *result_; }
  [[nodiscard]] const Problem& problem() const { return given_.problem; }

  [[nodiscard]] py::object f() const;
  [[nodiscard]] py::object g() const;
  [[nodiscard]] py::dict facts() const;  ///< status, costs, errors, by target and together
  [[nodiscard]] py::dict trace() const;
  [[nodiscard]] py::dict state() const;       ///< what the plan is computed from
  [[nodiscard]] std::string summary() const;  ///< summary.json of the command line
  [[nodiscard]] py::object device() const;    ///< the number of the device that computes the plan, or None

  [[nodiscard]] py::object rows(std::size_t first, std::size_t count, std::size_t target) const;
  /// The same into the memory of the plan's device.
  void write_rows(std::size_t first, std::size_t count, std::size_t target, const DeviceArray& out) const;
  [[nodiscard]] py::object apply(const py::object& values, std::size_t target) const;
  [[nodiscard]] py::object apply_transposed(const py::object& values, std::size_t target) const;
  [[nodiscard]] py::object barycentric(const py::object& values, std::size_t target) const;
  /// The plan of other rows under the same g; inputs: C, or X and metric.
  [[nodiscard]] std::unique_ptr<Solved> extend(const py::dict& inputs) const;
  [[nodiscard]] py::tuple point_gradients(std::size_t target) const;
  [[nodiscard]] py::tuple mass_gradients(std::size_t target) const;

 private:
  using Product = void (Plan::*)(MatrixView<double>, std::size_t, std::span<double>) const;
  [[nodiscard]] std::size_t rows_of_plan() const { return of_plan_->f.size() / of_plan_->targets; }
  [[nodiscard]] py::object potential(const std::vector<double>& values) const;
  [[nodiscard]] py::object product(Product product, std::size_t out_rows, const py::object& values,
                                   std::size_t target) const;
  [[nodiscard]] const Plan& plan() const;

  GivenProblem given_;
  Options options_;
  std::shared_ptr<const Result> result_;
  std::shared_ptr<const Result> of_plan_;  // the same; of several processes' rows, those whose costs are here
  mutable std::unique_ptr<Plan> plan_;     // made when it is first asked for, with the GIL held
};

void bind_solved(py::module_& module);

}  // namespace fedsinkhorn::python
