#include "problem/common_inputs.hpp"

#include <algorithm>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "comm/common_data.hpp"
#include "cost/points_input.hpp"

namespace fedsinkhorn {
namespace {

/// Row by row, in whichever order they are stored.
void add_matrix(const CostMatrix& cost, const StopRequest& stop, NumbersDigest& digest) {
  std::visit(
      [&](const auto& view) {
        constexpr std::size_t kEntriesAtOnce = 1 << 18;  // few pages of a file are held at once
        const std::size_t rows = cost.by_columns ? view.columns : view.rows;
        const std::size_t columns = cost.by_columns ? view.rows : view.columns;
        const std::size_t some = std::max<std::size_t>(1, kEntriesAtOnce / std::max<std::size_t>(1, columns));
        std::vector<std::remove_cv_t<std::remove_pointer_t<decltype(view.data)>>> gathered;
        for (std::size_t first = 0; first < rows; first += some) {
          stop.throw_if_made();
          const std::size_t count = std::min(some, rows - first);
          if (!cost.by_columns) {
            digest.add(std::span(view.data + first * columns, count * columns));
            if (cost.rows_done) cost.rows_done(first, count);
            continue;
          }
          gathered.resize(count * columns);
          for (std::size_t j = 0; j < columns; ++j) {
            for (std::size_t i = 0; i < count; ++i) gathered[i * columns + j] = view(j, first + i);
          }
          digest.add(std::span<const typename decltype(gathered)::value_type>(gathered));
        }
      },
      cost.matrix);
}

void add_costs(const CheckedProblem& checked, const StopRequest& stop, CommonData& data) {
  const Problem& problem = checked.input;
  const Parts& parts = problem.parts;
  if (const auto* matrix = std::get_if<CostMatrix>(&problem.cost); matrix != nullptr && !parts.rows) {
    add_matrix(*matrix, stop, data.item(problem.names.cost));
  }
  if (const auto* points = std::get_if<PointClouds>(&problem.cost)) {
    if (!parts.rows) data.item(problem.names.x).add(points->x);
    if (!parts.columns) data.item(problem.names.y).add(points->y);
  }
}

std::span<const double> all_numbers(const MatrixView<double>& view) { return {view.data, view.rows * view.columns}; }

}  // namespace

void agree_on_common_inputs(const Collectives& clients, const LayoutOf& layout_of, int threads, const StopRequest& stop,
                            const CheckedProblem& checked) {
  const Problem& problem = checked.input;
  const Parts& parts = problem.parts;
  bool all_hold_costs = true;
  for (std::size_t k = 0; k < clients.size(); ++k) all_hold_costs &= layout_of(k).row_slices.size() > 0;
  CommonData data(clients, threads);
  agree(clients, [&] {
    if (all_hold_costs) add_costs(checked, stop, data);
    if (!parts.a) data.item(problem.names.a).add(problem.a);
    if (!parts.b) data.item(problem.names.b).add(all_numbers(problem.b));
    if (checked.has_initial_g && !parts.initial_g)
      data.item(problem.names.initial_g).add(all_numbers(problem.initial_g));
  });
  data.require_same("give the same to all clients, or say that it is in parts");
}

}  // namespace fedsinkhorn
