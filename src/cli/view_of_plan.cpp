#include "cli/view_of_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "cli/order_of_points.hpp"
#include "report/transport_picture.hpp"

namespace fedsinkhorn {
namespace {

/// Cells per side: squares of a few pixels, also on a phone.
constexpr std::size_t kCells = 64;
/// Points that move.
constexpr std::size_t kPoints = 1200;
/// Entries of the plan that are computed at most: about a second.
constexpr std::size_t kMostEntries = std::size_t{1} << 28U;
constexpr std::size_t kRowsAtOnce = 64;

std::size_t step_for(std::size_t all, std::size_t most) { return std::max<std::size_t>(1, (all + most - 1) / most); }

/// Both clouds of points if they lie in the plane.
const PointClouds* clouds_in_plane(const Problem& problem) {
  const auto* clouds = std::get_if<PointClouds>(&problem.cost);
  return clouds != nullptr && columns_of(clouds->x) == 2 && columns_of(clouds->y) == 2 ? clouds : nullptr;
}

std::vector<double> points_at(const AnyMatrix& points, std::size_t step) {
  std::vector<double> some;
  std::visit(
      [&](const auto& view) {
        for (std::size_t i = 0; i < view.rows; i += step) {
          for (std::size_t k = 0; k < 2; ++k) some.push_back(static_cast<double>(view.data[2 * i + k]));
        }
      },
      points);
  return some;
}

}  // namespace

report::PlanView view_of_plan(const Problem& problem, const Result& result, int threads) {
  report::PlanView view;
  const std::size_t n = result.rows;
  const std::size_t m = result.columns;
  const std::size_t skip = std::max<std::size_t>(1, n * m / kMostEntries);
  if (skip > 1) view.note = fmt::format("The heat map is made of every {}-th row of the plan.", skip);
  if (result.targets > 1) view.note += " Of several targets, the first is shown.";
  view.cells.row_step = step_for(n, kCells);
  view.cells.column_step = step_for(m, kCells);
  view.cells.rows = (n + view.cells.row_step - 1) / view.cells.row_step;
  view.cells.columns = (m + view.cells.column_step - 1) / view.cells.column_step;
  view.cells.mass.assign(view.cells.rows * view.cells.columns, 0.0);

  const auto* const points = std::get_if<PointClouds>(&problem.cost);
  OrderOfPoints places;
  if (points != nullptr) {
    places = order_of_points(points->x, points->y);
    view.note +=
        " Rows and columns of the heat map are in the order of their points along the direction in which these "
        "vary most.";
  }
  std::vector<std::size_t> cell_of_column(m);
  for (std::size_t j = 0; j < m; ++j) {
    cell_of_column[j] = (points != nullptr ? places.y[j] : j) / view.cells.column_step;
  }
  const PointClouds* const clouds = clouds_in_plane(problem);
  const std::size_t point_step = step_for(n, kPoints);
  std::vector<double> all_targets;
  if (clouds != nullptr) {
    view.flow = report::PlanFlow{points_at(clouds->x, point_step), {}, points_at(clouds->y, step_for(m, kPoints))};
    all_targets = points_at(clouds->y, 1);
  }
  const Plan plan(problem, result, threads);
  std::vector<double> block(std::min(kRowsAtOnce, n) * m);
  for (std::size_t first = 0; first < n; first += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, n - first);
    const bool is_needed = skip == 1 || (first / kRowsAtOnce) % skip == 0;
    if (!is_needed && clouds == nullptr) continue;
    plan.rows(first, count, 0, block);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = first + k;
      const std::span<const double> row(block.data() + k * m, m);
      const std::size_t place = points != nullptr ? places.x[i] : i;
      double* const cells = view.cells.mass.data() + (place / view.cells.row_step) * view.cells.columns;
      for (std::size_t j = 0; is_needed && j < m; ++j) cells[cell_of_column[j]] += row[j];
      if (clouds != nullptr && i % point_step == 0) {
        std::array<double, 2> moved{};
        barycentric_projection(row, all_targets, moved);
        view.flow->moved.insert(view.flow->moved.end(), {moved[0], moved[1]});
      }
    }
  }
  if (view.note.starts_with(' ')) view.note.erase(0, 1);
  return view;
}

}  // namespace fedsinkhorn
