#include "cli/view_of_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "cli/order_of_points.hpp"

namespace fedsinkhorn {
namespace {

/// Cells per side: squares of a few pixels, also on a phone.
constexpr std::size_t kCells = 64;
/// Entries of the plan that are computed at most: about a second.
constexpr std::size_t kMostEntries = std::size_t{1} << 28U;
constexpr std::size_t kRowsAtOnce = 64;

std::size_t step_for(std::size_t all, std::size_t most) { return std::max<std::size_t>(1, (all + most - 1) / most); }

report::PlanCells empty_cells(std::size_t n, std::size_t m) {
  report::PlanCells cells;
  cells.row_step = step_for(n, kCells);
  cells.column_step = step_for(m, kCells);
  cells.rows = (n + cells.row_step - 1) / cells.row_step;
  cells.columns = (m + cells.column_step - 1) / cells.column_step;
  cells.mass.assign(cells.rows * cells.columns, 0.0);
  return cells;
}

/// Adds rows of the plan to their cells.
class CellCollector {
 public:
  CellCollector(const Problem& problem, std::size_t n, std::size_t m, report::PlanCells& cells)
      : cells_(cells), row_of_(n), column_of_(m) {
    const auto* const points = std::get_if<PointClouds>(&problem.cost);
    is_ordered_ = points != nullptr;
    const OrderOfPoints places = is_ordered_ ? order_of_points(points->x, points->y) : OrderOfPoints();
    for (std::size_t i = 0; i < n; ++i) row_of_[i] = (is_ordered_ ? places.x[i] : i) / cells.row_step;
    for (std::size_t j = 0; j < m; ++j) column_of_[j] = (is_ordered_ ? places.y[j] : j) / cells.column_step;
  }

  [[nodiscard]] bool is_ordered() const { return is_ordered_; }

  void add(std::size_t row, std::span<const double> plan) {
    double* const cells = cells_.mass.data() + row_of_[row] * cells_.columns;
    for (std::size_t j = 0; j < plan.size(); ++j) cells[column_of_[j]] += plan[j];
  }

 private:
  report::PlanCells& cells_;
  std::vector<std::size_t> row_of_;
  std::vector<std::size_t> column_of_;
  bool is_ordered_ = false;
};

std::string note_of(std::size_t skip, std::size_t targets, bool is_ordered) {
  std::string note;
  const auto add = [&](const std::string& sentence) { note += (note.empty() ? "" : " ") + sentence; };
  if (skip > 1)
    add(fmt::format("The heat map is made of every {}-th block of {} rows of the plan.", skip, kRowsAtOnce));
  if (targets > 1) add("Of several targets, the first is shown.");
  if (is_ordered) {
    add("Rows and columns of the heat map are in the order of their points along the direction in which these vary "
        "most.");
  }
  return note;
}

}  // namespace

report::PlanView view_of_plan(const Problem& problem, const Result& result, int threads,
                              const std::optional<ImageShapes>& images) {
  report::PlanView view;
  const std::size_t n = result.rows;
  const std::size_t m = result.columns;
  const std::size_t skip = std::max<std::size_t>(1, n * m / kMostEntries);
  view.cells = empty_cells(n, m);
  CellCollector cells(problem, n, m, view.cells);
  view.note = note_of(skip, result.targets, cells.is_ordered());
  const std::unique_ptr<FlowCollector> flow = make_flow_collector(problem, images);
  const Plan plan(problem, result, threads);
  std::vector<double> block(std::min(kRowsAtOnce, n) * m);
  for (std::size_t first = 0; first < n; first += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, n - first);
    const bool is_for_cells = (first / kRowsAtOnce) % skip == 0;
    if (!is_for_cells && flow == nullptr) continue;
    plan.rows(first, count, 0, block);
    for (std::size_t k = 0; k < count; ++k) {
      const std::span<const double> row(block.data() + k * m, m);
      if (is_for_cells) cells.add(first + k, row);
      if (flow != nullptr && flow->wants(first + k)) flow->add(first + k, row);
    }
  }
  if (flow != nullptr) view.flow = flow->flow();
  return view;
}

}  // namespace fedsinkhorn
