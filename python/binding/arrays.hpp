// NumPy arrays as the library's views, and numbers of the library as NumPy arrays. All by Python's buffer protocol and
// by calls of NumPy: its C structures changed with NumPy 2, and pybind11/numpy.h before 2.12 then reads wrong numbers.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
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

[[nodiscard]] CostMatrix costs_of(const py::object& array, const std::string& name);
[[nodiscard]] AnyMatrix matrix_of(const py::object& array, const std::string& name);
[[nodiscard]] MatrixView<double> float64_matrix_of(const py::object& array, const std::string& name);
/// One dimension counts as one column.
[[nodiscard]] MatrixView<double> columns_of_masses(const py::object& array, const std::string& name);
[[nodiscard]] std::span<const double> vector_of(const py::object& array, const std::string& name);
[[nodiscard]] std::size_t dimensions_of(const py::object& array, const std::string& name);

using ArrayShape = std::vector<std::size_t>;

/// A new array, not initialised, and its memory.
template <class T>
struct NewArray {
  py::object array;
  std::span<T> memory;
};
/// T: double, float, std::int64_t or std::size_t.
template <class T>
[[nodiscard]] NewArray<T> new_array(const ArrayShape& shape);

/// A new array of these numbers.
[[nodiscard]] py::object array_of(std::span<const double> numbers, const ArrayShape& shape);
/// A read-only array of numbers that `owner` keeps alive.
[[nodiscard]] py::object view_of(std::span<const double> numbers, const ArrayShape& shape,
                                 std::shared_ptr<const void> owner);

void bind_arrays(py::module_& module);

}  // namespace fedsinkhorn::python
