#include "arrays.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::python {
namespace {

/// What the buffer protocol says of an array.
class ArrayBuffer {
 public:
  /// flags: PyBUF_...
  ArrayBuffer(const py::object& array, const std::string& name, int flags = PyBUF_FORMAT | PyBUF_STRIDES) {
    if (PyObject_GetBuffer(array.ptr(), &buffer_, flags) == 0) return;
    PyErr_Clear();
    throw InputError(name, "is no array");
  }
  ~ArrayBuffer() { PyBuffer_Release(&buffer_); }
  ArrayBuffer(const ArrayBuffer&) = delete;
  ArrayBuffer& operator=(const ArrayBuffer&) = delete;

  [[nodiscard]] std::size_t dimensions() const { return static_cast<std::size_t>(buffer_.ndim); }
  [[nodiscard]] std::size_t length(std::size_t axis) const { return static_cast<std::size_t>(buffer_.shape[axis]); }
  /// order: 'C' or 'F'
  [[nodiscard]] bool is_in_order(char order) const { return PyBuffer_IsContiguous(&buffer_, order) != 0; }
  [[nodiscard]] void* memory() const { return buffer_.buf; }

  template <class T>
  [[nodiscard]] bool holds() const {
    const std::string_view format = buffer_.format == nullptr ? "B" : buffer_.format;
    return format == py::format_descriptor<T>::format() && reinterpret_cast<std::uintptr_t>(memory()) % alignof(T) == 0;
  }

 private:
  Py_buffer buffer_{};
};

void require_dimensions(const ArrayBuffer& array, const std::string& name, std::size_t dimensions) {
  if (array.dimensions() == dimensions) return;
  throw InputError(name, "has " + std::to_string(array.dimensions()) + " dimensions",
                   "give " + std::to_string(dimensions));
}

void require_float64(const ArrayBuffer& array, const std::string& name, std::size_t dimensions) {
  require_dimensions(array, name, dimensions);
  if (!array.is_in_order('C')) throw InputError(name, "is not in C order");
  if (!array.holds<double>()) throw InputError(name, "does not have the type float64");
}

/// Of the numbers as they lie in memory.
AnyMatrix matrix_with(const ArrayBuffer& array, const std::string& name, std::size_t rows, std::size_t columns) {
  if (array.holds<float>()) return MatrixView<float>{static_cast<const float*>(array.memory()), rows, columns};
  if (array.holds<double>()) return MatrixView<double>{static_cast<const double*>(array.memory()), rows, columns};
  throw InputError(name, "does not have the type float32 or float64");
}

/// Numbers that somebody else keeps, as an object with the buffer protocol.
class KeptNumbers {
 public:
  KeptNumbers(std::span<const double> numbers, const ArrayShape& shape, std::shared_ptr<const void> owner)
      : data_(numbers.data()), shape_(shape.begin(), shape.end()), owner_(std::move(owner)) {}

  [[nodiscard]] py::buffer_info buffer() const {
    std::vector<py::ssize_t> strides(shape_.size());
    py::ssize_t stride = sizeof(double);
    for (std::size_t axis = shape_.size(); axis-- > 0; stride *= shape_[axis]) strides[axis] = stride;
    return {const_cast<double*>(data_), shape_, strides, true};  // read-only
  }

 private:
  const double* data_;
  std::vector<py::ssize_t> shape_;
  std::shared_ptr<const void> owner_;
};

py::module_ numpy() { return py::module_::import("numpy"); }

template <class T>
constexpr const char* kTypeName = nullptr;
template <>
constexpr const char* kTypeName<double> = "float64";
template <>
constexpr const char* kTypeName<float> = "float32";
template <>
constexpr const char* kTypeName<std::int64_t> = "int64";
template <>
constexpr const char* kTypeName<std::size_t> = "uint64";

}  // namespace

CostMatrix costs_of(const py::object& array, const std::string& name) {
  const ArrayBuffer buffer(array, name);
  require_dimensions(buffer, name, 2);
  // A single row or column is in both orders.
  if (buffer.is_in_order('C') || !buffer.is_in_order('F')) return {.matrix = matrix_of(array, name)};
  return {.matrix = matrix_with(buffer, name, buffer.length(1), buffer.length(0)), .by_columns = true};
}

AnyMatrix matrix_of(const py::object& array, const std::string& name) {
  const ArrayBuffer buffer(array, name);
  require_dimensions(buffer, name, 2);
  if (!buffer.is_in_order('C')) throw InputError(name, "is not in C order");
  return matrix_with(buffer, name, buffer.length(0), buffer.length(1));
}

MatrixView<double> float64_matrix_of(const py::object& array, const std::string& name) {
  const ArrayBuffer buffer(array, name);
  require_float64(buffer, name, 2);
  return {static_cast<const double*>(buffer.memory()), buffer.length(0), buffer.length(1)};
}

MatrixView<double> columns_of_masses(const py::object& array, const std::string& name) {
  if (dimensions_of(array, name) == 2) return float64_matrix_of(array, name);
  const std::span<const double> numbers = vector_of(array, name);
  return {numbers.data(), numbers.size(), 1};
}

std::span<const double> vector_of(const py::object& array, const std::string& name) {
  const ArrayBuffer buffer(array, name);
  require_float64(buffer, name, 1);
  return {static_cast<const double*>(buffer.memory()), buffer.length(0)};
}

std::size_t dimensions_of(const py::object& array, const std::string& name) {
  return ArrayBuffer(array, name).dimensions();
}

template <class T>
NewArray<T> new_array(const ArrayShape& shape) {
  py::tuple lengths(shape.size());
  std::size_t size = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    lengths[axis] = py::int_(shape[axis]);
    size *= shape[axis];
  }
  py::object array = numpy().attr("empty")(lengths, kTypeName<T>);
  const ArrayBuffer buffer(array, "numpy.empty", PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
  return {std::move(array), {static_cast<T*>(buffer.memory()), size}};
}
template NewArray<double> new_array(const ArrayShape& shape);
template NewArray<float> new_array(const ArrayShape& shape);
template NewArray<std::int64_t> new_array(const ArrayShape& shape);
template NewArray<std::size_t> new_array(const ArrayShape& shape);

py::object array_of(std::span<const double> numbers, const ArrayShape& shape) {
  NewArray<double> copy = new_array<double>(shape);
  std::ranges::copy(numbers, copy.memory.begin());
  return std::move(copy.array);
}

py::object view_of(std::span<const double> numbers, const ArrayShape& shape, std::shared_ptr<const void> owner) {
  return numpy().attr("asarray")(py::cast(KeptNumbers(numbers, shape, std::move(owner))));
}

void bind_arrays(py::module_& module) {
  py::class_<KeptNumbers>(module, "KeptNumbers", py::buffer_protocol()).def_buffer(&KeptNumbers::buffer);
}

}  // namespace fedsinkhorn::python
