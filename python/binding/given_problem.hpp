// A problem whose data are Python's.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn::python {

namespace py = pybind11;

/// Keeps the arrays alive that the problem refers to. To be destroyed with the GIL held.
struct GivenProblem {
  Problem problem;
  std::vector<py::object> arrays;
  bool several_targets = false;  ///< b has two dimensions, even if one column alone

  /// inputs: C, or X, Y and metric; a, b, initial_g (None or absent: not given); epsilon; parts: the names of those
  /// that are this client's part alone.
  explicit GivenProblem(const py::dict& inputs);

 private:
  [[nodiscard]] py::object find(const py::dict& inputs, const char* name);
  void set_costs(const py::dict& inputs);
  void set_parts(const py::dict& inputs);
};

}  // namespace fedsinkhorn::python
