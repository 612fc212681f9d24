// Predictions for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace fedsinkhorn::python {

void bind_cost_models(pybind11::module_& module);

}  // namespace fedsinkhorn::python
