// Which client holds which part of the costs.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/range.hpp"

namespace fedsinkhorn {

/// Rows and columns are dealt to the clients in slices. Row slices are in client order; column slices follow
/// column_clients. The topology determines which slices make up the block of costs that a client holds.
struct Layout {
  Range row_slices;                         ///< none: this client holds no costs
  Range column_slices;                      ///< positions in column_clients
  std::vector<std::size_t> column_clients;  ///< owner of the first column slice, the second, ...
  bool whole_columns = false;               ///< also holds all rows of its own columns
  bool takes_parts = true;                  ///< costs may be given in parts, the own rows on each client
};

/// The layout of any client. Made on demand: all of them together have c^2 numbers.
using LayoutOf = std::function<Layout(std::size_t client)>;

/// Slices in client order; each client holds its rows, all columns.
[[nodiscard]] inline Layout own_rows(std::size_t client, std::size_t clients) {
  Layout layout{{client, client + 1}, {0, clients}, {}};
  for (std::size_t k = 0; k < clients; ++k) layout.column_clients.push_back(k);
  return layout;
}

}  // namespace fedsinkhorn
