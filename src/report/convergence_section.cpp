// The marginal errors by iteration.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/convergence_chart.hpp"
#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {
namespace {

bool is_known(const std::vector<TracePoint>& trace, double TracePoint::*error) {
  return std::ranges::any_of(trace, [&](const TracePoint& point) { return std::isfinite(point.*error); });
}

/// The points at which a level of epsilon begins, the first one included. A solve may begin at the last epsilon and
/// find that it needs levels.
std::vector<TracePoint> levels_of(const std::vector<TracePoint>& trace) {
  std::vector<TracePoint> levels;
  for (const TracePoint& point : trace) {
    if (levels.empty() || point.epsilon != levels.back().epsilon) levels.push_back(point);
  }
  return levels;
}

/// Rows that people still read, and that fit on a few printed pages.
constexpr std::size_t kMostRows = 60;

Table table_of(const std::vector<TracePoint>& trace) {
  Table table{"Marginal errors, each before its half-step",
              {"iteration", "seconds", "error of the columns", "error of the rows", "epsilon"},
              {}};
  const std::size_t stride = (trace.size() + kMostRows - 1) / kMostRows;
  if (stride > 1) table.caption += ", some of them; trace.csv has all";
  for (std::size_t k = 0; k < trace.size(); ++k) {
    if (k % stride != 0 && k + 1 != trace.size()) continue;
    const TracePoint& point = trace[k];
    table.rows.push_back({count_cell(static_cast<std::uint64_t>(point.iteration)), number_cell(point.seconds),
                          number_cell(point.error_b), number_cell(point.error_a), number_cell(point.epsilon)});
  }
  return table;
}

}  // namespace

Chart convergence_chart(const std::vector<TracePoint>& trace, const std::string& norm, double tolerance) {
  Chart chart{"convergence", "Marginal error by iteration", "", Json::object(), table_of(trace)};
  // Of the columns alone: it is compared with the tolerance. That of the rows is of a point chosen for where it leads.
  Json series = Json::array();
  if (is_known(trace, &TracePoint::error_b)) {
    Json points = Json::array();
    for (const TracePoint& point : trace) points.push_back({point.iteration, number_or_null(point.error_b)});
    series.push_back({{"name", "error"}, {"points", points}});
  }
  chart.spec = {{"kind", "lines"},
                {"x", {{"title", "iteration"}}},
                {"y", {{"title", norm + " error"}, {"log", true}}},
                {"series", series}};
  if (const auto levels = levels_of(trace); levels.size() > 1) {
    for (const TracePoint& level : levels) {
      chart.spec["levels"].push_back({{"x", level.iteration}, {"name", "epsilon " + number_text(level.epsilon, 2)}});
    }
  }
  if (tolerance > 0) chart.spec["rules"] = Json::array({{{"y", tolerance}, {"name", "tolerance"}}});
  if (!trace.empty()) {
    chart.description =
        fmt::format("The marginal error on a log scale, from iteration {:.0f} to {:.0f}; at the end {}.",
                    trace.front().iteration, trace.back().iteration, number_text(trace.back().error_b));
  }
  return chart;
}

std::optional<Section> convergence_section(const RunRecord& run) {
  if (run.kind != RunKind::solve || run.trace.empty()) return std::nullopt;
  Section section{"convergence", "Convergence"};
  const Json& error = member(run.summary, "error");
  section.paragraphs.emplace_back(
      text(run.summary, "policy") == "private"
          ? "The error of the columns as released, noise included."
          : "The error of the columns before each half-step on them, which is compared with the tolerance. The error "
            "under Result is that of the plan after the last half-step.");
  if (const auto levels = levels_of(run.trace); levels.size() > 1) {
    const double largest = std::ranges::max(levels, {}, &TracePoint::epsilon).epsilon;
    section.paragraphs.push_back(fmt::format(
        "Epsilon was lowered in levels, from {} to {}. The error jumps where a level begins (dotted lines): "
        "the potentials of a level are only a start for the next.",
        number_text(largest), number_text(levels.back().epsilon)));
  }
  // Errors are in units of the masses, the tolerance is relative to their total.
  const double largest_error = number(run.summary, "tolerance") * number(run.summary, "mass");
  section.charts.push_back(convergence_chart(run.trace, text(error, "norm"), largest_error));
  return section;
}

}  // namespace fedsinkhorn::report
