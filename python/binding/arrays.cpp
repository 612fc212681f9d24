#include "arrays.hpp"

#include <utility>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::python {
namespace {

bool has_flags(const py::array& array, int flags) { return (array.flags() & flags) == flags; }

bool is_ready(const py::array& array) {
  return has_flags(array, py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_);
}

template <class Number>
bool holds(const py::array& array) {
  return py::isinstance<py::array_t<Number>>(array);
}

std::size_t length(const py::array& array, py::ssize_t axis) { return static_cast<std::size_t>(array.shape(axis)); }

void require_ready(const py::array& array, const std::string& name, py::ssize_t dimensions) {
  if (array.ndim() != dimensions) {
    throw InputError(name, "has " + std::to_string(array.ndim()) + " dimensions", "give " + std::to_string(dimensions));
  }
  if (!is_ready(array)) throw InputError(name, "is not in C order");
}

void require_float64(const py::array& array, const std::string& name) {
  if (!holds<double>(array)) throw InputError(name, "does not have the type float64");
}

const double* numbers_of(const py::array& array) { return static_cast<const double*>(array.data()); }

}  // namespace

CostMatrix costs_of(const py::array& array, const std::string& name) {
  // A single row or column is in both orders.
  const bool by_columns = !is_ready(array) && has_flags(array, py::detail::npy_api::NPY_ARRAY_F_CONTIGUOUS_);
  if (!by_columns) return {.matrix = matrix_of(array, name)};
  const py::array transposed = array.attr("T");
  return {.matrix = matrix_of(transposed, name), .by_columns = true};
}

AnyMatrix matrix_of(const py::array& array, const std::string& name) {
  require_ready(array, name, 2);
  if (holds<float>(array)) {
    return MatrixView<float>{static_cast<const float*>(array.data()), length(array, 0), length(array, 1)};
  }
  require_float64(array, name);
  return MatrixView<double>{numbers_of(array), length(array, 0), length(array, 1)};
}

MatrixView<double> float64_matrix_of(const py::array& array, const std::string& name) {
  require_ready(array, name, 2);
  require_float64(array, name);
  return {numbers_of(array), length(array, 0), length(array, 1)};
}

MatrixView<double> columns_of_masses(const py::array& array, const std::string& name) {
  if (array.ndim() == 2) return float64_matrix_of(array, name);
  const std::span<const double> numbers = vector_of(array, name);
  return {numbers.data(), numbers.size(), 1};
}

std::span<const double> vector_of(const py::array& array, const std::string& name) {
  require_ready(array, name, 1);
  require_float64(array, name);
  return {numbers_of(array), length(array, 0)};
}

py::array view_of(const std::vector<double>& numbers, std::vector<py::ssize_t> shape,
                  const std::shared_ptr<const void>& owner) {
  auto* kept = std::make_unique<std::shared_ptr<const void>>(owner).release();
  const py::capsule base(kept, [](void* memory) {
    std::unique_ptr<std::shared_ptr<const void>>(static_cast<std::shared_ptr<const void>*>(memory));
  });
  py::array array(py::dtype::of<double>(), std::move(shape), numbers.data(), base);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

py::array array_of(std::vector<double> numbers, std::vector<py::ssize_t> shape) {
  auto kept = std::make_unique<std::vector<double>>(std::move(numbers));
  const double* data = kept->data();
  const py::capsule base(kept.release(), [](void* memory) {
    std::unique_ptr<std::vector<double>>(static_cast<std::vector<double>*>(memory));
  });
  return py::array(py::dtype::of<double>(), std::move(shape), data, base);
}

py::array_t<double> new_matrix(std::size_t rows, std::size_t columns) {
  return py::array_t<double>({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(columns)});
}

std::span<double> memory_of(py::array_t<double>& array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}

}  // namespace fedsinkhorn::python
