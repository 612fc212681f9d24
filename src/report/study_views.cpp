#include "report/study_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/number_text.hpp"
#include "report/record_json.hpp"
#include "report/study_figures.hpp"

namespace fedsinkhorn::report {
namespace {

using Records = std::vector<const CellRecord*>;

/// Points of a curve that its table shows.
constexpr std::size_t kCurveRows = 12;
/// Curves that can still be told apart.
constexpr std::size_t kMostStudyCurves = 16;

Records pointers_to(const std::vector<CellRecord>& records, const Json& where) {
  Records all;
  for (const CellRecord& record : records) {
    if (has_parameters(record.parameters, where)) all.push_back(&record);
  }
  return all;
}

/// "4 clients, eta = 0.5", from "{} clients" and "eta".
std::string name_of(const RecordGroup& group, const std::vector<Grouping>& by) {
  std::string name;
  for (std::size_t k = 0; k < by.size(); ++k) {
    const std::string value = parameter_text(group.values[k]);
    const std::size_t place = by[k].title.find("{}");
    if (!name.empty()) name += ", ";
    if (place != std::string::npos) {
      name += by[k].title.substr(0, place) + value + by[k].title.substr(place + 2);
    } else {
      name += by[k].title.empty() ? value : by[k].title + " " + value;
    }
  }
  return name;
}

/// A group with the value of `across` fixed, if there is one.
struct Column {
  Figure figure;
  std::string title;
  Json across = Json::object();
  bool has_paper = false;  ///< the paper prints figures of it
};

std::vector<Column> columns_of(const TableView& view, const Records& records) {
  std::vector<Column> columns;
  if (view.across.empty()) {
    for (const Figure& figure : view.figures) columns.push_back({figure, figure.title});
    return columns;
  }
  for (const RecordGroup& value : groups_of(records, {{view.across, view.across + " = {}"}})) {
    for (const Figure& figure : view.figures) {
      Column column{figure, name_of(value, {{view.across, view.across + " = {}"}})};
      if (view.figures.size() > 1) column.title += ": " + figure.title;
      column.across[view.across] = value.values.front();
      columns.push_back(std::move(column));
    }
  }
  return columns;
}

/// Empty if the paper has no figure there.
std::string paper_text(const Figure& figure, const Records& records) {
  for (const PaperFigure& one : figure.paper) {
    if (!records.empty() && has_parameters(records.front()->parameters, one.at)) return one.text;
  }
  return "";
}

/// Whether the paper has a figure for any of the records in the column.
bool has_paper_figures(const Column& column, const Records& records) {
  return std::ranges::any_of(records_where(records, column.across),
                             [&](const CellRecord* record) { return !paper_text(column.figure, {record}).empty(); });
}

Table series_table(const ChartView& view, const std::vector<RecordGroup>& groups) {
  Table table{view.title, {}, {}};
  for (const Grouping& grouping : view.groups) table.header.push_back(grouping.parameter);
  if (!view.x.empty()) table.header.push_back(view.x);
  for (const Figure& figure : view.figures) table.header.push_back(figure.title);
  std::vector<Grouping> by = view.groups;
  if (!view.x.empty()) by.push_back({view.x, ""});
  for (const RecordGroup& group : groups) {
    for (const RecordGroup& point : groups_of(group.records, by)) {
      std::vector<Cell> row;
      for (const Json& value : point.values) row.push_back({parameter_text(value), value.is_number()});
      for (const Figure& figure : view.figures) row.push_back(cell_of(figure, point));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

void fill_lines(const ChartView& view, const Records& records, Chart& chart) {
  const std::vector<RecordGroup> groups = groups_of(records, view.groups);
  Json series = Json::array();
  for (const RecordGroup& group : groups) {
    for (const Figure& figure : view.figures) {
      Json points = Json::array();
      for (const RecordGroup& point : groups_of(group.records, {{view.x, ""}})) {
        points.push_back({point.values.front(), number_or_null(value_of(figure, point))});
      }
      std::string name = name_of(group, view.groups);
      if (view.figures.size() > 1 || name.empty()) name += (name.empty() ? "" : ": ") + figure.title;
      series.push_back({{"name", name}, {"points", points}, {"marks", true}});
    }
  }
  chart.spec = {{"kind", "lines"}, {"x", view.x_axis}, {"y", view.y_axis}, {"series", series}};
  chart.data = series_table(view, groups);
}

void fill_bars(const ChartView& view, const Records& records, Chart& chart) {
  const std::vector<RecordGroup> groups = groups_of(records, view.groups);
  Json categories = Json::array();
  for (const RecordGroup& group : groups) categories.push_back(name_of(group, view.groups));
  Json series = Json::array();
  for (const Figure& figure : view.figures) {
    Json values = Json::array();
    for (const RecordGroup& group : groups) values.push_back(number_or_null(value_of(figure, group)));
    series.push_back({{"name", figure.title}, {"values", values}});
  }
  chart.spec = {{"kind", "bars"},
                {"categories", categories},
                {"value", view.y_axis},
                {"series", series},
                {"stacked", view.stacked}};
  if (has(view.x_axis, "title")) chart.spec["category"] = view.x_axis;
  chart.data = series_table(view, groups);
}

/// A point of a measured list: two numbers, or null where there is none.
void require_point(const Json& point, const std::string& key) {
  const auto is_value = [](const Json& value) { return value.is_number() || value.is_null(); };
  if (!point.is_array() || point.size() != 2 || !is_value(point[0]) || !is_value(point[1])) {
    throw RecordError(fmt::format("'{}' is not a list of points", key));
  }
}

void add_curve_rows(const std::string& name, const Json& points, Table& table) {
  const std::size_t stride = (points.size() + kCurveRows - 1) / kCurveRows;
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (k % stride != 0 && k + 1 != points.size()) continue;
    const auto cell = [&](const Json& value) {
      return value.is_null() ? Cell{"not known", true} : number_cell(value.get<double>());
    };
    table.rows.push_back({{name}, cell(points[k][0]), cell(points[k][1])});
  }
}

void fill_curves(const ChartView& view, const Records& records, Chart& chart) {
  if (view.figures.empty()) throw RecordError("a chart of curves without a figure");
  const std::string& key = view.figures.front().key;
  Json series = Json::array();
  chart.data = {view.title, {"curve", text(view.x_axis, "title"), text(view.y_axis, "title")}, {}};
  for (const RecordGroup& group : groups_of(records, view.groups)) {
    if (series.size() == kMostStudyCurves) break;
    if (!has(group.records.front()->measured, key)) continue;
    const Json& points = array(group.records.front()->measured, key);
    for (const Json& point : points) require_point(point, key);
    const std::string name = name_of(group, view.groups);
    series.push_back({{"name", name}, {"points", points}});
    add_curve_rows(name, points, chart.data);
  }
  chart.spec = {{"kind", "lines"}, {"x", view.x_axis}, {"y", view.y_axis}, {"series", series}};
}

void fill_dots(const ChartView& view, const Records& records, Chart& chart) {
  const std::vector<RecordGroup> groups = groups_of(records, view.groups);
  Json series = Json::array();
  for (const RecordGroup& group : groups) {
    for (const Figure& figure : view.figures) {
      Json points = Json::array();
      for (const CellRecord* record : group.records) {
        if (!has(record->measured, figure.key)) continue;
        for (const Json& value : array(record->measured, figure.key)) {
          if (!value.is_number()) throw RecordError(fmt::format("'{}' is not a list of numbers", figure.key));
          points.push_back({member(record->parameters, view.x), value});
        }
      }
      std::string name = name_of(group, view.groups);
      if (view.figures.size() > 1 || name.empty()) name += (name.empty() ? "" : ": ") + figure.title;
      series.push_back({{"name", name}, {"points", points}});
    }
  }
  chart.spec = {{"kind", "points"}, {"x", view.x_axis}, {"y", view.y_axis}, {"series", series}};
  chart.data = series_table(view, groups);
}

struct ChartKind {
  std::string_view name;
  void (*fill)(const ChartView& view, const Records& records, Chart& chart);
};
constexpr std::array kChartKinds = {ChartKind{"lines", fill_lines}, ChartKind{"bars", fill_bars},
                                    ChartKind{"curves", fill_curves}, ChartKind{"dots", fill_dots}};

}  // namespace

Table table_of(const TableView& view, const std::vector<CellRecord>& records) {
  const Records used = pointers_to(records, view.where);
  std::vector<Column> columns = columns_of(view, used);
  for (Column& column : columns) column.has_paper = has_paper_figures(column, used);
  Table table{view.caption, {}, {}};
  for (const Grouping& grouping : view.rows) table.header.push_back(grouping.title);
  for (const Column& column : columns) {
    table.header.push_back(column.title);
    if (column.has_paper) table.header.push_back(column.title + " (paper)");
  }
  for (const RecordGroup& group : groups_of(used, view.rows)) {
    std::vector<Cell> row;
    for (const Json& value : group.values) row.push_back({parameter_text(value), value.is_number()});
    for (const Column& column : columns) {
      const RecordGroup part{group.values, records_where(group.records, column.across)};
      row.push_back(cell_of(column.figure, part));
      if (column.has_paper) row.push_back({paper_text(column.figure, part.records), true});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Chart chart_of(const ChartView& view, const std::vector<CellRecord>& records, const std::string& prefix) {
  const auto* const kind = std::ranges::find(kChartKinds, std::string_view(view.kind), &ChartKind::name);
  if (kind == kChartKinds.end()) throw RecordError(fmt::format("no kind of chart '{}'", view.kind));
  Chart chart{prefix + view.id, view.title, view.description, Json::object(), {}};
  kind->fill(view, pointers_to(records, view.where), chart);
  return chart;
}

}  // namespace fedsinkhorn::report
