// A block of the costs: some rows, some columns.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace fedsinkhorn {

class CostInput;

struct CostBlock {
  std::shared_ptr<const CostInput> costs;
  std::vector<std::size_t> rows;     ///< positions among all rows given, ascending
  std::vector<std::size_t> columns;  ///< positions among all columns given, ascending
  std::size_t first_held = 0;        ///< the position of the first row the input holds
  /// C(i, j) is read as C(j, i): costs are symmetric, and the input holds the rows numbered like the block's columns.
  bool transposed = false;
  /// Of the whole problem, including lines of other clients and lines without mass. They tell where in the problem the
  /// block's lines lie.
  std::size_t all_rows = 0;
  std::size_t all_columns = 0;

  [[nodiscard]] bool empty() const { return rows.empty() || columns.empty(); }
  /// Whether the block covers the whole problem.
  [[nodiscard]] bool is_whole() const { return rows.size() == all_rows && columns.size() == all_columns; }
};

}  // namespace fedsinkhorn
