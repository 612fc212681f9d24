// A problem whose clients each hold a part, and nothing else.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "support/problems.hpp"

namespace fedsinkhorn::testing {

/// How many rows and columns each client owns.
struct Deal {
  std::vector<std::size_t> rows;
  std::vector<std::size_t> columns;
};

/// Every client's rows of the costs and its masses of rows and columns, in views of the whole, which must outlive them.
[[nodiscard]] inline std::vector<Problem> held_apart(const OwnedProblem& whole, const Deal& deal) {
  std::vector<Problem> parts;
  std::size_t row = 0;
  std::size_t column = 0;
  for (std::size_t k = 0; k < deal.rows.size(); ++k) {
    Problem part;
    part.cost = CostMatrix{MatrixView<double>{whole.cost.data() + row * whole.m, deal.rows[k], whole.m}};
    part.a = std::span(whole.a).subspan(row, deal.rows[k]);
    part.b = {whole.b.data() + column, deal.columns[k], 1};
    part.epsilon = whole.epsilon;
    part.parts = {.rows = true, .a = true, .b = true};
    parts.push_back(std::move(part));
    row += deal.rows[k];
    column += deal.columns[k];
  }
  return parts;
}

}  // namespace fedsinkhorn::testing
