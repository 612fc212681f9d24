#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>

#include "core/checked_size.hpp"
#include "fedsinkhorn/error.hpp"
#include "topology/group_exchanges.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

GridShape grid_shape(std::size_t clients, GridShape wanted) {
  if (wanted.rows == 0 || wanted.columns == 0) {
    // As square as possible; if not square, more rows than columns.
    GridShape shape{clients, 1};
    for (std::size_t columns = 1; columns * columns <= clients; ++columns) {
      if (clients % columns == 0) shape = {clients / columns, columns};
    }
    return shape;
  }
  const std::optional<std::size_t> needed = product_of({wanted.rows, wanted.columns});
  if (needed != clients) {
    throw InputError("`grid`",
                     fmt::format("{}x{} needs {} clients", wanted.rows, wanted.columns,
                                 needed ? std::to_string(*needed) : "2^64 or more"),
                     fmt::format("there are {}", clients));
  }
  return wanted;
}

// Client i * columns + j holds the rows of grid row i and the columns of grid column j. Row slices follow the order of
// the clients, column slices go down each grid column, so that both are contiguous.
Layout grid_layout(std::size_t client, std::size_t clients, const Options& options) {
  const GridShape shape = grid_shape(clients, options.grid);
  const std::size_t i = client / shape.columns;
  const std::size_t j = client % shape.columns;
  Layout layout;
  layout.row_slices = {i * shape.columns, (i + 1) * shape.columns};
  layout.column_slices = {j * shape.rows, (j + 1) * shape.rows};
  for (std::size_t k = 0; k < clients; ++k) {
    layout.column_clients.push_back((k % shape.rows) * shape.columns + k / shape.rows);
  }
  layout.takes_parts = false;
  return layout;
}

namespace {

/// The sizes of the slices of these clients.
std::vector<std::size_t> sizes_at(const std::vector<std::size_t>& sizes, std::span<const std::size_t> members) {
  std::vector<std::size_t> chosen;
  chosen.reserve(members.size());
  for (const std::size_t member : members) chosen.push_back(sizes[member]);
  return chosen;
}

}  // namespace

// q is summed along the grid row and u gathered there, r and v down the grid column; notes along both.
Round grid_round(const RoundShape& shape) {
  const GridShape grid = grid_shape(shape.clients(), shape.grid);
  const std::size_t i = shape.client / grid.columns;
  const std::size_t j = shape.client % grid.columns;
  std::vector<std::size_t> across;
  std::vector<std::size_t> down;
  for (std::size_t k = 0; k < grid.columns; ++k) across.push_back(i * grid.columns + k);
  for (std::size_t k = 0; k < grid.rows; ++k) down.push_back(k * grid.columns + j);
  const std::vector<std::size_t> rows = sizes_at(shape.rows, across);
  const std::vector<std::size_t> columns = sizes_at(shape.columns, down);
  const std::size_t note = shape.targets * shape.note_numbers;
  const bool rows_stay = across.size() == 1;

  Round round;
  const auto add = [&](RoundExchange exchange, std::size_t groups) {
    exchange.groups = groups;
    round.exchanges.push_back(std::move(exchange));
  };
  if (!rows_stay) {
    add(sum_exchange(rows, j, shape.targets), grid.rows);
    add(gather_exchange(rows, j, shape.targets), grid.rows);
    round.exchanges.back().exchange = Exchange::regather;
  }
  add(sum_exchange(columns, i, shape.targets), grid.columns);
  add_gather(round.exchanges, columns, i, shape.targets, note, grid.columns);
  round.exchanges.back().exchange = Exchange::regather;
  if (!rows_stay) add(notes_exchange(across.size(), j, note), grid.rows);
  Options options;
  options.grid = shape.grid;
  round.work = work_of(shape, grid_layout(shape.client, shape.clients(), options), rows_stay);
  return round;
}

std::unique_ptr<Exchanges> grid_exchanges(const TopologyContext& context) {
  const Layout& layout = context.problem.layout;
  std::vector<std::size_t> row_members;
  std::vector<std::size_t> column_members;
  for (std::size_t k = layout.row_slices.first; k < layout.row_slices.last; ++k) row_members.push_back(k);
  for (std::size_t k = layout.column_slices.first; k < layout.column_slices.last; ++k) {
    column_members.push_back(layout.column_clients[k]);
  }
  return std::make_unique<GroupExchanges>(context, row_members, column_members);
}

}  // namespace fedsinkhorn
