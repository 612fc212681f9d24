#include "report/plan_view.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/number_text.hpp"
#include "report/record_json.hpp"

namespace fedsinkhorn::report {
namespace {

constexpr int kPlanViewVersion = 1;
/// More than any view that is written here.
constexpr std::uint64_t kMostCells = 1 << 16;

Json numbers_json(const std::vector<double>& values) {
  Json numbers = Json::array();
  for (const double value : values) numbers.push_back(number_or_null(value));
  return numbers;
}

std::vector<double> numbers_of(const Json& object, std::string_view key) {
  std::vector<double> values;
  for (const Json& value : array(object, key)) {
    if (!value.is_number() && !value.is_null())
      throw RecordError(fmt::format("'{}' has an entry that is no number", key));
    values.push_back(value.is_null() ? std::nan("") : value.get<double>());
  }
  return values;
}

Json pixels_json(const FlowPixels& pixels) {
  return {{"source_mass", numbers_json(pixels.source_mass)},
          {"target_mass", numbers_json(pixels.target_mass)},
          {"source_side", pixels.source_side},
          {"target_side", pixels.target_side}};
}

FlowPixels parsed_pixels(const Json& json, const PlanFlow& flow) {
  FlowPixels pixels{numbers_of(json, "source_mass"), numbers_of(json, "target_mass"), number(json, "source_side"),
                    number(json, "target_side")};
  if (2 * pixels.source_mass.size() != flow.source.size() || 2 * pixels.target_mass.size() != flow.target.size()) {
    throw RecordError("plan-view.json: 'pixels' has another number of masses than there are points");
  }
  return pixels;
}

}  // namespace

std::string plan_view_json(const PlanView& view) {
  Json json = {{"version", kPlanViewVersion},
               {"cells",
                {{"rows", view.cells.rows},
                 {"columns", view.cells.columns},
                 {"row_step", view.cells.row_step},
                 {"column_step", view.cells.column_step},
                 {"mass", numbers_json(view.cells.mass)}}},
               {"note", view.note}};
  if (view.flow) {
    json["flow"] = {{"source", numbers_json(view.flow->source)},
                    {"moved", numbers_json(view.flow->moved)},
                    {"target", numbers_json(view.flow->target)}};
    if (view.flow->pixels) json["flow"]["pixels"] = pixels_json(*view.flow->pixels);
  }
  return json.dump() + "\n";
}

PlanView parsed_plan_view(const Json& json) {
  if (count(json, "version") != kPlanViewVersion) throw RecordError("plan-view.json: written by another version");
  PlanView view;
  const Json& cells = member(json, "cells");
  view.cells = {count(cells, "rows"), count(cells, "columns"), count(cells, "row_step"), count(cells, "column_step"),
                numbers_of(cells, "mass")};
  if (view.cells.rows > kMostCells || view.cells.columns > kMostCells ||
      view.cells.rows * view.cells.columns != view.cells.mass.size()) {
    throw RecordError("plan-view.json: 'mass' has another size than its rows and columns say");
  }
  view.note = text(json, "note");
  if (has(json, "flow")) {
    const Json& flow = member(json, "flow");
    view.flow = PlanFlow{numbers_of(flow, "source"), numbers_of(flow, "moved"), numbers_of(flow, "target")};
    if (view.flow->source.size() != view.flow->moved.size() || view.flow->source.size() % 2 != 0 ||
        view.flow->target.size() % 2 != 0) {
      throw RecordError("plan-view.json: 'flow' has points of different numbers");
    }
    if (has(flow, "pixels")) view.flow->pixels = parsed_pixels(member(flow, "pixels"), *view.flow);
  }
  return view;
}

}  // namespace fedsinkhorn::report
