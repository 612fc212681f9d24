// Worst-case risk for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace fedsinkhorn::python {

void bind_risks(pybind11::module_& module);

}  // namespace fedsinkhorn::python
