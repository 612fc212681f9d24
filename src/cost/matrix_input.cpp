#include "cost/matrix_input.hpp"

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

namespace fedsinkhorn {
namespace {

using RowsDone = std::function<void(std::size_t, std::size_t)>;

template <class T>
class MatrixCost : public CostSource {
 public:
  MatrixCost(const MatrixView<T>& matrix, CostBlock block, const RowsDone& rows_done)
      : matrix_(matrix), block_(std::move(block)), rows_done_(rows_done) {}

  [[nodiscard]] std::size_t rows() const override { return block_.rows.size(); }
  [[nodiscard]] std::size_t columns() const override { return block_.columns.size(); }

 protected:
  /// A row of the matrix by its position among all rows.
  [[nodiscard]] const T* row(std::size_t position) const { return matrix_.row(position - block_.first_held); }
  [[nodiscard]] const CostBlock& block() const { return block_; }
  void let_go(std::size_t first, std::size_t last) const {
    if (rows_done_) rows_done_(first - block_.first_held, last - first);
  }

 private:
  MatrixView<T> matrix_;
  CostBlock block_;
  const RowsDone& rows_done_;  // of the input, which the block keeps alive
};

template <class T>
class Straight final : public MatrixCost<T> {
 public:
  Straight(const MatrixView<T>& matrix, const CostBlock& block, const RowsDone& rows_done)
      : MatrixCost<T>(matrix, block, rows_done),
        consecutive_columns_(block.columns.empty() ||
                             block.columns.back() - block.columns.front() + 1 == block.columns.size()) {}

  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    const std::size_t* chosen = this->block().columns.data() + column;
    for (std::size_t k = 0; k < row_count; ++k) {
      const T* from = this->row(this->block().rows[row + k]);
      double* to = out + k * stride;
      if (consecutive_columns_) {
        if (column_count > 0) std::copy(from + chosen[0], from + chosen[0] + column_count, to);
      } else {
        for (std::size_t j = 0; j < column_count; ++j) to[j] = static_cast<double>(from[chosen[j]]);
      }
    }
  }

  [[nodiscard]] const double* row_in_place(std::size_t row) const override {
    if constexpr (std::is_same_v<T, double>) {
      if (consecutive_columns_ && !this->block().columns.empty()) {
        return this->row(this->block().rows[row]) + this->block().columns.front();
      }
    }
    return nullptr;
  }

  void rows_done(std::size_t row, std::size_t row_count) const override {
    if (row_count == 0) return;
    const std::vector<std::size_t>& rows = this->block().rows;
    this->let_go(rows[row], rows[row + row_count - 1] + 1);
  }

 private:
  bool consecutive_columns_;
};

/// Reads C(i, j) as C(j, i), from the rows numbered like the block's columns. A strip of columns is a few hundred rows
/// of the matrix, and eight rows of the block are one cache line of each.
template <class T>
class Transposed final : public MatrixCost<T> {
 public:
  using MatrixCost<T>::MatrixCost;

  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    const std::size_t* chosen = this->block().rows.data() + row;
    for (std::size_t j = 0; j < column_count; ++j) {
      const T* from = this->row(this->block().columns[column + j]);
      for (std::size_t k = 0; k < row_count; ++k) out[k * stride + j] = static_cast<double>(from[chosen[k]]);
    }
  }
};

template <class T>
class MatrixInput final : public CostInput {
 public:
  MatrixInput(const MatrixView<T>& matrix, RowsDone rows_done) : matrix_(matrix), rows_done_(std::move(rows_done)) {}

  [[nodiscard]] CostShape shape() const override { return {matrix_.rows, matrix_.columns, 0, sizeof(T)}; }

  [[nodiscard]] std::unique_ptr<CostSource> source(const CostBlock& block, const cpu::Simd& /*simd*/) const override {
    if (block.transposed) return std::make_unique<Transposed<T>>(matrix_, block, rows_done_);
    return std::make_unique<Straight<T>>(matrix_, block, rows_done_);
  }

  // In the matrix's own type, without a copy.
  [[nodiscard]] CostScan scan(const CostBlock& block, const ScanSettings& settings) const override {
    const std::size_t first_column = block.columns.empty() ? 0 : block.columns.front();
    const auto row = [&](std::size_t k) { return matrix_.row(block.rows[k] - block.first_held) + first_column; };
    return scan_rows(
        block, settings, [&] { return row; },
        [&](std::size_t k, std::size_t count) {
          if (rows_done_) rows_done_(block.rows[k] - block.first_held, count);
        });
  }

 private:
  MatrixView<T> matrix_;
  RowsDone rows_done_;
};

}  // namespace

std::shared_ptr<const CostInput> make_matrix_input(const CostMatrix& cost) {
  return std::visit(
      [&]<class T>(const MatrixView<T>& matrix) -> std::shared_ptr<const CostInput> {
        return std::make_shared<MatrixInput<T>>(matrix, cost.rows_done);
      },
      cost.matrix);
}

}  // namespace fedsinkhorn
