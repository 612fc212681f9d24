// A plan small enough to look at: its mass in cells, and where points of the plane go. Written by `solve --report`
// beside the results (plan-view.json), so that `report` can draw it without the inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/page.hpp"

namespace fedsinkhorn::report {

/// Mass of the plan in cells of row_step x column_step entries, row-major; cells at the ends may hold fewer.
struct PlanCells {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t row_step = 1;
  std::size_t column_step = 1;
  std::vector<double> mass;
};

/// Blocks of pixels instead of points: the mass of each, and their sides.
struct FlowPixels {
  std::vector<double> source_mass;
  std::vector<double> target_mass;
  double source_side = 0;
  double target_side = 0;
};

/// Points of the plane: some of the rows, where the mass of each goes on average, and some of the columns. All k x 2.
struct PlanFlow {
  std::vector<double> source;
  std::vector<double> moved;
  std::vector<double> target;
  std::optional<FlowPixels> pixels{};  ///< of images
};

struct PlanView {
  PlanCells cells;
  std::optional<PlanFlow> flow;
  std::string note;  ///< what is not shown, and why; may be empty
};

[[nodiscard]] std::string plan_view_json(const PlanView& view);
/// Throws RecordError if it is none.
[[nodiscard]] PlanView parsed_plan_view(const Json& json);

}  // namespace fedsinkhorn::report
