// A block of the costs: some rows, some columns.
#pragma once

#include <cstddef>
#include <vector>

#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

struct CostBlock {
  const Problem* input = nullptr;
  std::vector<std::size_t> rows;     ///< positions among all rows given, ascending
  std::vector<std::size_t> columns;  ///< positions among all columns given, ascending
  std::size_t first_held = 0;        ///< the position of the first row the input holds
  /// The costs are symmetric and the input holds the rows that have the block's columns' numbers: C(i, j) is read as
  /// C(j, i).
  bool transposed = false;
};

}  // namespace fedsinkhorn
