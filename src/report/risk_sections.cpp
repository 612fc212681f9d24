// Worst-case risk: the worst case, its curve, and the days moved most.
#include <fmt/format.h>

#include <cmath>

#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {
namespace {

Facts worst_case_facts(const Json& summary) {
  Facts facts{"Worst case", {}};
  facts.values = {{"before (observed days)", number_text(number(summary, "expected_loss"))},
                  {"worst case", number_text(number(summary, "worst_case_loss"))},
                  {"upper bound without entropy", number_text(number(summary, "dual"))},
                  {"radius", number_text(number(summary, "radius"))},
                  {"transport cost", number_text(number(summary, "transport_cost"))},
                  {"lambda", number_text(number(summary, "lambda"))},
                  {"mass that stays", number_text(number(summary, "stays"))}};
  return facts;
}

Facts risk_problem_facts(const Json& summary) {
  Facts facts{"Problem", {}};
  facts.values = {{"days", count_text(count(summary, "rows"))},
                  {"scenarios", count_text(count(summary, "columns"))},
                  {"cost", text(summary, "cost")},
                  {"loss", text(summary, "loss")},
                  {"formulation", text(summary, "formulation")},
                  {"epsilon", number_text(number(summary, "epsilon"))},
                  {"clients", count_text(count(summary, "client_count"))},
                  {"policy", text(summary, "policy")},
                  {"passes", count_text(count(summary, "passes"))},
                  {"time", seconds_text(number(summary, "wall_seconds"))},
                  {"version", text(summary, "version")}};
  return facts;
}

/// "2021-04-19", or the day's number.
std::string label_of(const Json& entry, std::string_view label, std::string_view number_key) {
  if (has(entry, label) && member(entry, label).is_string()) return text(entry, label);
  return has(entry, number_key) && member(entry, number_key).is_number_unsigned() ? count_text(count(entry, number_key))
                                                                                  : "";
}

}  // namespace

std::optional<Section> worst_case_section(const RunRecord& run) {
  if (run.kind != RunKind::risk) return std::nullopt;
  Section section{"worst-case", "The worst case"};
  const std::string status = text(run.summary, "status");
  section.outcomes.push_back({status == "converged" ? Verdict::good : Verdict::fair,
                              status == "converged" ? "Converged" : "Not converged: " + status});
  section.paragraphs.emplace_back(
      "The largest loss over all distributions whose transport cost from the observed days is at most the radius.");
  section.facts = {worst_case_facts(run.summary), risk_problem_facts(run.summary)};
  return section;
}

std::optional<Section> radius_section(const RunRecord& run) {
  if (run.kind != RunKind::risk) return std::nullopt;
  const Json& sweep = array(run.summary, "sweep");
  if (sweep.empty()) return std::nullopt;
  Section section{"radius", "Against the radius"};
  Json losses = Json::array();
  Json bounds = Json::array();
  Json multipliers = Json::array();
  Table table{"Worst cases by radius", {"radius", "worst case", "upper bound", "lambda", "status"}, {}};
  for (const Json& at : sweep) {
    const double radius = number(at, "radius");
    losses.push_back({radius, number_or_null(number(at, "worst_case_loss"))});
    bounds.push_back({radius, number_or_null(number(at, "dual"))});
    multipliers.push_back({radius, number_or_null(number(at, "lambda"))});
    table.rows.push_back({number_cell(radius),
                          number_cell(number(at, "worst_case_loss")),
                          number_cell(number(at, "dual")),
                          number_cell(number(at, "lambda")),
                          {text(at, "status")}});
  }
  Chart curve{"risk-curve", "Worst-case loss against the radius",
              "The worst-case loss rises with the radius, ever more slowly; a band reaches to the upper bound.",
              Json::object(), std::move(table)};
  curve.spec = {{"kind", "lines"},
                {"x", {{"title", "radius"}, {"log", true}}},
                {"y", {{"title", "loss"}}},
                {"series", Json::array({{{"name", "worst case"}, {"points", losses}, {"marks", true}}})},
                {"bands", Json::array({{{"name", "between the bounds"}, {"low", losses}, {"high", bounds}}})}};
  const double before = number(run.summary, "expected_loss");
  if (std::isfinite(before)) curve.spec["rules"] = Json::array({{{"y", before}, {"name", "before"}}});
  section.charts.push_back(std::move(curve));
  Chart price{"risk-lambda",
              "Lambda against the radius",
              "Lambda, the price of risk, falls as the radius grows.",
              Json::object(),
              {}};
  price.spec = {{"kind", "lines"},
                {"x", {{"title", "radius"}, {"log", true}}},
                {"y", {{"title", "lambda"}}},
                {"series", Json::array({{{"name", "lambda"}, {"points", multipliers}, {"marks", true}}})}};
  section.charts.push_back(std::move(price));
  return section;
}

std::optional<Section> moved_days_section(const RunRecord& run) {
  if (run.kind != RunKind::risk) return std::nullopt;
  const Json& days = array(run.summary, "most_moved_days");
  if (days.empty()) return std::nullopt;
  Section section{"days", "Days moved most"};
  Json names = Json::array();
  Json before = Json::array();
  Json after = Json::array();
  Table table{
      "Days on which most of the budget is spent", {"day", "loss before", "loss after", "cost", "to", "share"}, {}};
  for (const Json& day : days) {
    names.push_back(label_of(day, "label", "day"));
    before.push_back(number_or_null(number(day, "loss_before")));
    after.push_back(number_or_null(number(day, "loss_after")));
    table.rows.push_back({{label_of(day, "label", "day")},
                          number_cell(number(day, "loss_before")),
                          number_cell(number(day, "loss_after")),
                          number_cell(number(day, "cost")),
                          {label_of(day, "scenario_label", "scenario")},
                          number_cell(number(day, "share"))});
  }
  Chart chart{"moved-days", "Loss of the days moved most, before and after",
              "Two bars per day: its loss as observed, and its expected loss in the worst case.", Json::object(),
              std::move(table)};
  chart.spec = {
      {"kind", "bars"},
      {"categories", names},
      {"value", {{"title", "loss"}}},
      {"series", Json::array({{{"name", "before"}, {"values", before}}, {{"name", "after"}, {"values", after}}})},
      {"stacked", false},
      {"horizontal", true}};
  section.charts.push_back(std::move(chart));
  return section;
}

}  // namespace fedsinkhorn::report
