// Non-owning views of matrices.
#pragma once

#include <cstddef>
#include <variant>

namespace fedsinkhorn {

/// A row-major matrix in memory owned by the caller, who keeps it alive while the view is used.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;

  [[nodiscard]] bool empty() const { return rows == 0 || columns == 0; }
  [[nodiscard]] const T* row(std::size_t i) const { return data + i * columns; }
  [[nodiscard]] T operator()(std::size_t i, std::size_t j) const { return data[i * columns + j]; }
};

/// Input may be float64 or float32. It is read in place and never converted as a whole.
using AnyMatrix = std::variant<MatrixView<double>, MatrixView<float>>;

[[nodiscard]] inline std::size_t rows_of(const AnyMatrix& matrix) {
  return std::visit([](const auto& view) { return view.rows; }, matrix);
}
[[nodiscard]] inline std::size_t columns_of(const AnyMatrix& matrix) {
  return std::visit([](const auto& view) { return view.columns; }, matrix);
}

}  // namespace fedsinkhorn
