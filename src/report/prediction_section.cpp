// Predictions of the cost model beside measurements (solve --explain).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/memory.hpp"
#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {
namespace {

struct Predicted {
  const char* key;
  const char* name;
  bool are_bytes;
};

constexpr std::array kPredictions = {
    Predicted{"seconds_per_iteration", "time per iteration", false}, Predicted{"total_seconds", "time to solve", false},
    Predicted{"bytes_per_iteration", "bytes per iteration", true}, Predicted{"memory_bytes", "peak memory", true}};

std::string amount_text(double value, bool are_bytes) {
  if (std::isnan(value)) return "not known";
  return are_bytes ? human_bytes(static_cast<std::uint64_t>(std::max(0.0, value))) : seconds_text(value);
}

}  // namespace

std::optional<Section> prediction_section(const RunRecord& run) {
  if (!has(run.summary, "explain")) return std::nullopt;
  const Json& explain = member(run.summary, "explain");
  Section section{"prediction", "Prediction and measurement"};
  section.paragraphs.push_back(fmt::format("Profile: {}. {}", text(explain, "profile"), text(explain, "formula")));
  Table table{"Predicted and measured", {"quantity", "predicted", "measured", "measured / predicted"}, {}};
  Json names = Json::array();
  Json ratios = Json::array();
  for (const Predicted& one : kPredictions) {
    if (!has(explain, one.key)) continue;
    const Json& both = member(explain, one.key);
    const double predicted = number(both, "predicted");
    const double measured = number(both, "measured");
    const bool was_measured = measured > 0 || predicted == 0;
    const double ratio = predicted > 0 && was_measured ? measured / predicted : std::nan("");
    table.rows.push_back({{one.name},
                          {amount_text(predicted, one.are_bytes), true},
                          {was_measured ? amount_text(measured, one.are_bytes) : "not measured", true},
                          number_cell(ratio)});
    names.push_back(one.name);
    ratios.push_back(number_or_null(ratio));
  }
  if (table.rows.empty()) return std::nullopt;
  Chart chart{"prediction", "Measured, relative to the prediction",
              "A bar per quantity: 1 means as predicted, more means more than that.", Json::object(), table};
  chart.spec = {{"kind", "bars"},
                {"categories", names},
                {"value", {{"title", "measured / predicted"}}},
                {"series", Json::array({{{"name", "ratio"}, {"values", ratios}}})},
                {"rules", Json::array({{{"value", 1}, {"name", "as predicted"}}})},
                {"stacked", false},
                {"horizontal", true}};
  section.charts.push_back(std::move(chart));
  for (const Json& note : array(explain, "notes")) {
    if (note.is_string()) section.paragraphs.push_back(note.get<std::string>());
  }
  return section;
}

}  // namespace fedsinkhorn::report
