// The plan: mass by cells, and where points of the plane go.
#include <fmt/format.h>

#include <cmath>

#include "report/number_text.hpp"
#include "report/plan_view.hpp"
#include "report/sections.hpp"
#include "report/transport_picture.hpp"

namespace fedsinkhorn::report {
namespace {

/// Pairs of finite coordinates; `keep` of both lists where there are two.
Json points_json(const std::vector<double>& points, const std::vector<double>& partner) {
  Json pairs = Json::array();
  for (std::size_t k = 0; k + 1 < points.size(); k += 2) {
    const bool is_finite = std::isfinite(points[k]) && std::isfinite(points[k + 1]) && std::isfinite(partner[k]) &&
                           std::isfinite(partner[k + 1]);
    if (is_finite) pairs.push_back({points[k], points[k + 1]});
  }
  return pairs;
}

/// Blocks all have mass, so none of them is left out by points_json.
Json pixels_spec(const FlowPixels& pixels) {
  const auto shares = [](const std::vector<double>& masses) {
    double most = 0;
    for (const double mass : masses) most = std::fmax(most, mass);
    Json values = Json::array();
    for (const double mass : masses) values.push_back(most > 0 && mass > 0 ? mass / most : 0.0);
    return values;
  };
  return {{"source", shares(pixels.source_mass)},
          {"target", shares(pixels.target_mass)},
          {"source_side", number_or_null(pixels.source_side)},
          {"target_side", number_or_null(pixels.target_side)}};
}

Chart flow_chart(const PlanFlow& flow) {
  Chart chart{
      "plan-flow",
      "Where the mass goes",
      flow.pixels
          ? "Every pixel moves in a straight line to the mean of the pixels that its mass is sent to; a slider "
            "shows the way. The darker, the more mass. Grey: the target image."
          : "Every point moves in a straight line to the mean of the targets that its mass is sent to; a slider "
            "shows the way. The colour of a point says where it started. Small and grey: the targets.",
      Json::object(),
      {}};
  chart.spec = {{"kind", "flow"},
                {"source", points_json(flow.source, flow.moved)},
                {"moved", points_json(flow.moved, flow.source)},
                {"target", points_json(flow.target, flow.target)}};
  if (flow.pixels && chart.spec["source"].size() == flow.pixels->source_mass.size() &&
      chart.spec["target"].size() == flow.pixels->target_mass.size()) {
    chart.spec["pixels"] = pixels_spec(*flow.pixels);
  } else {
    chart.picture =
        transport_frames({.title = chart.title, .source = flow.source, .moved = flow.moved, .target = flow.target});
  }
  return chart;
}

Chart cells_chart(const PlanCells& cells) {
  Chart chart{"plan-cells", "Mass of the plan", "", Json::object(), {}};
  chart.description = fmt::format("A heat map of {} x {} cells; each sums {} rows and {} columns of the plan.",
                                  cells.rows, cells.columns, cells.row_step, cells.column_step);
  Json values = Json::array();
  for (const double mass : cells.mass) values.push_back(number_or_null(mass));
  chart.spec = {{"kind", "heatmap"},
                {"x", {{"title", "column"}}},
                {"y", {{"title", "row"}}},
                {"value", {{"title", "mass"}}},
                {"rows", cells.rows},
                {"columns", cells.columns},
                {"row_step", cells.row_step},
                {"column_step", cells.column_step},
                {"values", values}};
  return chart;
}

}  // namespace

std::optional<Section> plan_section(const RunRecord& run) {
  if (!run.plan_view) return std::nullopt;
  const PlanView view = parsed_plan_view(*run.plan_view);
  Section section{"plan", "The plan"};
  if (!view.note.empty()) section.paragraphs.push_back(view.note);
  if (view.flow && !view.flow->source.empty()) section.charts.push_back(flow_chart(*view.flow));
  if (!view.cells.mass.empty()) section.charts.push_back(cells_chart(view.cells));
  section.has_pairs = true;
  return section;
}

}  // namespace fedsinkhorn::report
