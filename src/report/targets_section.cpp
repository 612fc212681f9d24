// Several targets: each with its cost and error.
#include <fmt/format.h>

#include <cmath>

#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {

std::optional<Section> targets_section(const RunRecord& run) {
  if (!has(run.summary, "per_target")) return std::nullopt;
  const Json& targets = array(run.summary, "per_target");
  Section section{"targets", "Targets"};
  constexpr std::size_t most = 100;
  Table table{"Targets", {"target", "status", "iterations", "cost <P, C>", "marginal error"}, {}};
  Json names = Json::array();
  Json costs = Json::array();
  for (std::size_t k = 0; k < targets.size() && k < most; ++k) {
    const Json& target = targets[k];
    const double cost = number(member(target, "cost"), "linear");
    const Json& error = member(target, "error");
    table.rows.push_back({count_cell(k),
                          {text(target, "status")},
                          count_cell(count(target, "iterations")),
                          number_cell(cost),
                          number_cell(std::fmax(number(error, "a"), number(error, "b")))});
    names.push_back(std::to_string(k));
    costs.push_back(number_or_null(cost));
  }
  if (targets.size() > most) section.paragraphs.push_back(fmt::format("The first {} of {}.", most, targets.size()));
  Chart chart{"target-costs", "Transport cost by target", "A bar for the cost <P, C> of every target.", Json::object(),
              std::move(table)};
  chart.spec = {{"kind", "bars"},
                {"categories", names},
                {"category", {{"title", "target"}}},
                {"value", {{"title", "<P, C>"}}},
                {"series", Json::array({{{"name", "cost"}, {"values", costs}}})},
                {"stacked", false},
                {"horizontal", false}};
  section.charts.push_back(std::move(chart));
  return section;
}

}  // namespace fedsinkhorn::report
