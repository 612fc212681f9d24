// Who holds which part of the costs.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/range.hpp"

namespace fedsinkhorn {

/// Rows and columns are dealt to the clients in slices. Row slices follow the order of the clients; column slices
/// follow column_clients. A topology says which slices make up the block of costs that a client holds.
struct Layout {
  Range row_slices;                         ///< none: this client holds no costs
  Range column_slices;                      ///< positions in column_clients
  std::vector<std::size_t> column_clients;  ///< whose is the first slice of columns, the second, ...
  bool whole_columns = false;               ///< besides, all rows of the columns it owns
  bool takes_parts = true;                  ///< the costs may be given in parts, each client its rows
};

/// The layout of any client. Made when asked for: all of them together have c^2 numbers.
using LayoutOf = std::function<Layout(std::size_t client)>;

/// Slices in the order of the clients, each holding its rows, all columns.
[[nodiscard]] inline Layout own_rows(std::size_t client, std::size_t clients) {
  Layout layout{{client, client + 1}, {0, clients}, {}};
  for (std::size_t k = 0; k < clients; ++k) layout.column_clients.push_back(k);
  return layout;
}

}  // namespace fedsinkhorn
