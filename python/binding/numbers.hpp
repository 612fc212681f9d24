// Numbers, words and paths from Python, checked.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::python {

namespace py = pybind11;

// All throw InputError naming the argument if the value is of another kind.

/// Anything with __float__ or __index__, but neither a truth value nor a string. May be NaN or infinite.
[[nodiscard]] double real_number(py::handle value, const std::string& name);
/// A whole number up to `most` in absolute value, perhaps written as a float (1e6).
[[nodiscard]] std::int64_t whole_number(py::handle value, const std::string& name, std::int64_t most);
[[nodiscard]] bool truth(py::handle value, const std::string& name);
[[nodiscard]] std::string text_of(py::handle value, const std::string& name);
/// A string or an object with __fspath__.
[[nodiscard]] std::string path_of(py::handle value, const std::string& name);

/// Calls read(path) for a file that the argument names. What it refuses is the argument's fault.
template <class Read>
auto from_file(py::handle value, const std::string& name, const Read& read) {
  try {
    return read(path_of(value, name));
  } catch (const InputError& error) {
    if (error.marked().starts_with(name + ": ")) throw;
    throw InputError(name, error.marked());
  }
}

[[nodiscard]] bool is_number(py::handle value);
/// Whether it is True or False, or one of NumPy's.
[[nodiscard]] bool is_truth(py::handle value);
/// "list", "numpy.ndarray"
[[nodiscard]] std::string type_name(py::handle value);

}  // namespace fedsinkhorn::python
