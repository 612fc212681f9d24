// Options by their names, from the option table of the library.
#pragma once

#include <pybind11/pybind11.h>

#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn::python {

namespace py = pybind11;

/// Throws InputError naming the argument for values of the wrong type or out of range. None stands for the default.
/// Names that are no options throw, too; the package has checked them.
[[nodiscard]] Options options_from(const py::dict& given);

/// For signatures, docstrings and stubs: one dictionary for each option, in the order of the table.
[[nodiscard]] py::list described_options();

}  // namespace fedsinkhorn::python
