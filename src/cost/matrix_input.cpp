#include "cost/matrix_input.hpp"

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

namespace fedsinkhorn {
namespace {

using RowsDone = std::function<void(std::size_t, std::size_t)>;

/// The matrix as it lies in memory, and the positions (as in CostBlock) of its first row and of its first column.
template <class T>
struct Stored {
  MatrixView<T> matrix;
  std::size_t first_row = 0;
  std::size_t first_column = 0;

  [[nodiscard]] const T* at(std::size_t row, std::size_t column) const {
    return matrix.row(row - first_row) + (column - first_column);
  }
};

template <class T>
class MatrixCost : public CostSource {
 public:
  MatrixCost(const Stored<T>& stored, CostBlock block) : stored_(stored), block_(std::move(block)) {}

  [[nodiscard]] std::size_t rows() const override { return block_.rows.size(); }
  [[nodiscard]] std::size_t columns() const override { return block_.columns.size(); }

 protected:
  [[nodiscard]] const Stored<T>& stored() const { return stored_; }
  [[nodiscard]] const CostBlock& block() const { return block_; }

 private:
  Stored<T> stored_;
  CostBlock block_;
};

/// Rows of the block are rows of the stored matrix.
template <class T>
class AlongRows final : public MatrixCost<T> {
 public:
  AlongRows(const Stored<T>& stored, const CostBlock& block, const RowsDone& rows_done)
      : MatrixCost<T>(stored, block),
        rows_done_(rows_done),
        consecutive_columns_(block.columns.empty() ||
                             block.columns.back() - block.columns.front() + 1 == block.columns.size()) {}

  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    if (column_count == 0) return;
    const std::size_t* chosen = this->block().columns.data() + column;
    for (std::size_t k = 0; k < row_count; ++k) {
      const T* from = this->stored().at(this->block().rows[row + k], chosen[0]);
      double* to = out + k * stride;
      if (consecutive_columns_) {
        std::copy(from, from + column_count, to);
      } else {
        for (std::size_t j = 0; j < column_count; ++j) to[j] = static_cast<double>(from[chosen[j] - chosen[0]]);
      }
    }
  }

  [[nodiscard]] const double* row_in_place(std::size_t row) const override {
    if constexpr (std::is_same_v<T, double>) {
      if (consecutive_columns_ && !this->block().columns.empty()) {
        return this->stored().at(this->block().rows[row], this->block().columns.front());
      }
    }
    return nullptr;
  }

  void rows_done(std::size_t row, std::size_t row_count) const override {
    if (row_count == 0 || !rows_done_) return;
    const std::size_t first = this->block().rows[row];
    const std::size_t last = this->block().rows[row + row_count - 1] + 1;
    rows_done_(first - this->stored().first_row, last - first);
  }

 private:
  const RowsDone& rows_done_;  // of the input, which the block keeps alive
  bool consecutive_columns_;
};

/// Columns of the block are rows of the stored matrix.
template <class T>
class AcrossRows final : public MatrixCost<T> {
 public:
  using MatrixCost<T>::MatrixCost;

  // Columns are far apart, so processors do not prefetch them by themselves. Without these prefetches a solve of one
  // iteration took twice as long (4,000 x 4,000, by columns).
  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    if (row_count == 0) return;
    const std::vector<std::size_t>& rows = this->block().rows;
    const std::vector<std::size_t>& columns = this->block().columns;
    const std::size_t first = rows[row];
    const std::size_t last = rows[row + row_count - 1];
    const std::size_t next = rows[std::min(row + 2 * row_count, rows.size()) - 1];  // rows that probably follow
    for (std::size_t j = 0; j < column_count; ++j) {
      __builtin_prefetch(this->stored().at(columns[column + j], next));
      if (const std::size_t ahead = column + j + kAhead; ahead < columns.size()) {
        __builtin_prefetch(this->stored().at(columns[ahead], first));
        __builtin_prefetch(this->stored().at(columns[ahead], last));
      }
      const T* from = this->stored().at(columns[column + j], first);
      for (std::size_t k = 0; k < row_count; ++k) {
        out[k * stride + j] = static_cast<double>(from[rows[row + k] - first]);
      }
    }
  }

 private:
  static constexpr std::size_t kAhead = 16;  // 8 to 32 do about as well
};

template <class T>
class MatrixInput final : public CostInput {
 public:
  MatrixInput(const MatrixView<T>& matrix, bool by_columns, const RowsDone& rows_done)
      : matrix_(matrix), by_columns_(by_columns), rows_done_(by_columns ? RowsDone{} : rows_done) {}

  [[nodiscard]] CostShape shape() const override {
    return by_columns_ ? CostShape{matrix_.columns, matrix_.rows, 0, sizeof(T)}
                       : CostShape{matrix_.rows, matrix_.columns, 0, sizeof(T)};
  }

  [[nodiscard]] std::unique_ptr<CostSource> source(const CostBlock& block, const cpu::Simd& /*simd*/) const override {
    if (block.transposed != by_columns_) return std::make_unique<AcrossRows<T>>(stored(block), block);
    return std::make_unique<AlongRows<T>>(stored(block), block, rows_done_);
  }

  // In the matrix's own type and order, without a copy.
  [[nodiscard]] CostScan scan(const CostBlock& block, const ScanSettings& settings) const override {
    const Stored<T> held = stored(block);
    if (by_columns_) {
      return scan_columns(block, settings,
                          [&](std::size_t k) { return held.at(block.columns[k], block.rows.front()); });
    }
    const std::size_t first_column = block.columns.empty() ? 0 : block.columns.front();
    const auto row = [&](std::size_t k) { return held.at(block.rows[k], first_column); };
    return scan_rows(
        block, settings, [&] { return row; },
        [&](std::size_t k, std::size_t count) {
          if (rows_done_) rows_done_(block.rows[k] - block.first_held, count);
        });
  }

 private:
  [[nodiscard]] Stored<T> stored(const CostBlock& block) const {
    return by_columns_ ? Stored<T>{matrix_, 0, block.first_held} : Stored<T>{matrix_, block.first_held, 0};
  }

  MatrixView<T> matrix_;
  bool by_columns_;
  RowsDone rows_done_;
};

}  // namespace

std::shared_ptr<const CostInput> make_matrix_input(const CostMatrix& cost) {
  return std::visit(
      [&]<class T>(const MatrixView<T>& matrix) -> std::shared_ptr<const CostInput> {
        return std::make_shared<MatrixInput<T>>(matrix, cost.by_columns, cost.rows_done);
      },
      cost.matrix);
}

}  // namespace fedsinkhorn
