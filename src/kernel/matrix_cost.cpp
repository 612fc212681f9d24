#include "kernel/matrix_cost.hpp"

#include <algorithm>

namespace fedsinkhorn {
namespace {

template <class T>
class MatrixCost final : public CostSource {
 public:
  MatrixCost(const MatrixView<T>& matrix, const CostMatrix& cost, const CheckedProblem& problem)
      : matrix_(matrix), cost_(cost), problem_(problem), all_columns_(problem.m() == problem.columns) {}

  [[nodiscard]] std::size_t rows() const override { return problem_.n(); }
  [[nodiscard]] std::size_t columns() const override { return problem_.m(); }

  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    for (std::size_t k = 0; k < row_count; ++k) {
      const T* from = matrix_.row(problem_.active_rows[row + k]);
      double* to = out + k * stride;
      if (all_columns_) {
        std::copy(from + column, from + column + column_count, to);
      } else {
        const std::size_t* chosen = problem_.active_columns.data() + column;
        for (std::size_t j = 0; j < column_count; ++j) to[j] = static_cast<double>(from[chosen[j]]);
      }
    }
  }

  void rows_done(std::size_t row, std::size_t row_count) const override {
    if (!cost_.rows_done || row_count == 0) return;
    const std::size_t first = problem_.active_rows[row];
    cost_.rows_done(first, problem_.active_rows[row + row_count - 1] + 1 - first);
  }

 private:
  MatrixView<T> matrix_;
  const CostMatrix& cost_;
  const CheckedProblem& problem_;
  bool all_columns_;
};

}  // namespace

std::unique_ptr<CostSource> make_matrix_cost(const CostMatrix& cost, const CheckedProblem& problem) {
  return std::visit(
      [&]<class T>(const MatrixView<T>& matrix) -> std::unique_ptr<CostSource> {
        return std::make_unique<MatrixCost<T>>(matrix, cost, problem);
      },
      cost.matrix);
}

}  // namespace fedsinkhorn
