// The marginal errors by iteration.
#include <fmt/format.h>

#include <cmath>

#include "report/convergence_chart.hpp"
#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {
namespace {

Json points_of(const std::vector<TracePoint>& trace, double TracePoint::*error) {
  Json points = Json::array();
  for (const TracePoint& point : trace) points.push_back({point.iteration, number_or_null(point.*error)});
  return points;
}

bool is_known(const std::vector<TracePoint>& trace, double TracePoint::*error) {
  for (const TracePoint& point : trace) {
    if (std::isfinite(point.*error)) return true;
  }
  return false;
}

/// Rows that people still read, and that fit on a few printed pages.
constexpr std::size_t kMostRows = 60;

Table table_of(const std::vector<TracePoint>& trace) {
  Table table{"Marginal errors", {"iteration", "seconds", "error of the rows", "error of the columns"}, {}};
  const std::size_t stride = (trace.size() + kMostRows - 1) / kMostRows;
  if (stride > 1) table.caption += ", some of them; trace.csv has all";
  for (std::size_t k = 0; k < trace.size(); ++k) {
    if (k % stride != 0 && k + 1 != trace.size()) continue;
    const TracePoint& point = trace[k];
    table.rows.push_back({count_cell(static_cast<std::uint64_t>(point.iteration)), number_cell(point.seconds),
                          number_cell(point.error_a), number_cell(point.error_b)});
  }
  return table;
}

}  // namespace

Chart convergence_chart(const std::vector<TracePoint>& trace, const std::string& norm, double tolerance) {
  Chart chart{"convergence", "Marginal error by iteration", "", Json::object(), table_of(trace)};
  Json series = Json::array();
  if (is_known(trace, &TracePoint::error_a)) {
    series.push_back({{"name", "rows"}, {"points", points_of(trace, &TracePoint::error_a)}});
  }
  if (is_known(trace, &TracePoint::error_b)) {
    series.push_back({{"name", "columns"}, {"points", points_of(trace, &TracePoint::error_b)}});
  }
  chart.spec = {{"kind", "lines"},
                {"x", {{"title", "iteration"}}},
                {"y", {{"title", norm + " error"}, {"log", true}}},
                {"series", series}};
  if (tolerance > 0) chart.spec["rules"] = Json::array({{{"y", tolerance}, {"name", "tolerance"}}});
  if (!trace.empty()) {
    chart.description = fmt::format(
        "Errors of the row and column sums on a log scale, from iteration {:.0f} to {:.0f}; "
        "at the end {} and {}.",
        trace.front().iteration, trace.back().iteration, number_text(trace.back().error_a),
        number_text(trace.back().error_b));
  }
  return chart;
}

std::optional<Section> convergence_section(const RunRecord& run) {
  if (run.kind != RunKind::solve || run.trace.empty()) return std::nullopt;
  Section section{"convergence", "Convergence"};
  const Json& error = member(run.summary, "error");
  section.charts.push_back(convergence_chart(run.trace, text(error, "norm"), number(run.summary, "tolerance")));
  const double first = run.trace.front().epsilon;
  if (first != run.trace.back().epsilon) {
    section.paragraphs.push_back(
        fmt::format("Epsilon was lowered in levels, from {} to {}: the error rises where a level begins.",
                    number_text(first), number_text(run.trace.back().epsilon)));
  }
  return section;
}

}  // namespace fedsinkhorn::report
