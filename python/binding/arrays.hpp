// NumPy arrays as the library's views, and numbers of the library as NumPy arrays.
#pragma once

#include <pybind11/numpy.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fedsinkhorn/matrix.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn::python {

namespace py = pybind11;

// The package prepares arrays before it calls these: float32 or float64, C order (costs also Fortran order), aligned
// (_arrays.py). Others throw InputError naming the argument. Views are valid as long as the array.

[[nodiscard]] CostMatrix costs_of(const py::array& array, const std::string& name);
[[nodiscard]] AnyMatrix matrix_of(const py::array& array, const std::string& name);
[[nodiscard]] MatrixView<double> float64_matrix_of(const py::array& array, const std::string& name);
/// One dimension counts as one column.
[[nodiscard]] MatrixView<double> columns_of_masses(const py::array& array, const std::string& name);
[[nodiscard]] std::span<const double> vector_of(const py::array& array, const std::string& name);

/// A read-only array of numbers that `owner` keeps alive.
[[nodiscard]] py::array view_of(const std::vector<double>& numbers, std::vector<py::ssize_t> shape,
                                const std::shared_ptr<const void>& owner);
/// An array that takes over the numbers.
[[nodiscard]] py::array array_of(std::vector<double> numbers, std::vector<py::ssize_t> shape);
/// A new array and its memory.
[[nodiscard]] py::array_t<double> new_matrix(std::size_t rows, std::size_t columns);
[[nodiscard]] std::span<double> memory_of(py::array_t<double>& array);

}  // namespace fedsinkhorn::python
