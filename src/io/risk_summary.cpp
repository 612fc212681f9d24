#include "io/risk_summary.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "core/names.hpp"
#include "fedsinkhorn/version.hpp"
#include "io/csv_field.hpp"
#include "io/result_json.hpp"
#include "io/sums_report.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kMostDays = 20;

/// Null for what is not a finite number.
OrderedJson number(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(); }

/// Null for no text.
OrderedJson text_or_null(const std::string& text) { return text.empty() ? OrderedJson() : OrderedJson(text); }

OrderedJson sweep_json(const WorstCase& one) {
  return {{"radius", number(one.radius)}, {"worst_case_loss", number(one.loss)},
          {"lambda", number(one.lambda)}, {"transport_cost", number(one.transport_cost)},
          {"dual", number(one.dual)},     {"duality_gap", number(one.duality_gap())},
          {"is_binding", one.is_binding}, {"status", name_of(one.status)}};
}

OrderedJson day_json(const DayMove& move, const RiskResult& result, const RiskLabels& labels) {
  const bool has_scenario = !stays(move, result);
  return {{"day", move.day},
          {"label", text_or_null(labels.given_day(move.day))},
          {"mass", number(move.mass)},
          {"loss_before", number(move.loss_before)},
          {"loss_after", number(move.loss_after)},
          {"cost", number(move.cost)},
          {"scenario", has_scenario ? OrderedJson(move.scenario) : OrderedJson()},
          {"scenario_label", has_scenario ? text_or_null(labels.given_scenario(move.scenario)) : OrderedJson()},
          {"share", number(move.share)},
          {"stays", number(move.stays)}};
}

void add_worst_case(OrderedJson& json, const RiskResult& result, const RiskSummaryData& data) {
  const WorstCase& worst = result.worst;
  json["status"] = name_of(result.status);
  json["expected_loss"] = number(result.expected_loss);
  json["worst_case_loss"] = number(worst.loss);
  json["lambda"] = number(worst.lambda);
  json["transport_cost"] = number(worst.transport_cost);
  json["radius"] = number(worst.radius);
  json["dual"] = number(worst.dual);
  json["duality_gap"] = number(worst.duality_gap());
  json["is_binding"] = worst.is_binding;
  json["entropic_primal"] = number(worst.entropic_primal);
  json["entropic_dual"] = number(worst.entropic_dual);
  json["cvar_level"] = data.cvar_level > 0 ? OrderedJson(data.cvar_level) : OrderedJson();
  json["value_at_risk"] = data.cvar_level > 0 ? OrderedJson{{"before", number(result.value_at_risk)},
                                                            {"after", number(worst.value_at_risk)}}
                                              : OrderedJson();
  json["least_radius"] = number(result.least_radius);
  json["largest_radius"] = number(result.largest_radius);
  json["stays"] = number(result.stays);
  json["epsilon"] = number(data.epsilon);
  json["tolerance"] = number(data.tolerance);
  json["cost"] = data.cost;
  json["loss"] = data.loss;
}

/// How the problem was posed, and the solve if both marginals are fixed.
void add_formulation(OrderedJson& json, const RiskResult& result, double cvar_level) {
  json["formulation"] = result.coupling ? "both marginals fixed" : "row marginal only";
  if (!result.coupling) return;
  json["note"] = fixed_loss_sentence(
      std::isfinite(result.worst.loss) ? fmt::format("{:.12g}", result.worst.loss) : "(not known)", cvar_level);
  json["iterations"] = result.coupling->iterations;
  json["error"] = errors_json(result.coupling->norm, result.coupling->error);
  json["topology"] = result.coupling->topology;
  json["method"] = result.coupling->method;
}

std::string radius_line(const WorstCase& one) {
  return fmt::format("{},{},{},{},{},{},{}\n", one.radius, one.loss, one.lambda, one.transport_cost, one.dual,
                     one.duality_gap(), name_of(one.status));
}

}  // namespace

std::string risk_summary_json(const RiskResult& result, const RiskSummaryData& data) {
  OrderedJson json;
  add_worst_case(json, result, data);
  add_formulation(json, result, data.cvar_level);
  json["rows"] = result.rows;
  json["columns"] = result.columns;
  json["dimension"] = result.dimension;
  json["passes"] = result.passes;
  json["sweep"] = OrderedJson::array();
  for (const WorstCase& one : result.sweep) json["sweep"].push_back(sweep_json(one));
  json["most_moved_days"] = OrderedJson::array();
  for (const DayMove& move : most_moved(result.moves, kMostDays)) {
    json["most_moved_days"].push_back(day_json(move, result, data.labels));
  }
  json["policy"] = result.policy;
  const SumsSeen seen{result.sums, result.client_count};
  if (result.sums.seen > 0) json["privacy"] = sums_json(seen, sums_sentence(seen));
  json["client_count"] = result.client_count;
  json["clients"] = OrderedJson::array();
  for (const ClientReport& client : result.clients) json["clients"].push_back(client_json(client));
  json["simd"] = result.simd;
  json["threads"] = result.threads;
  json["wall_seconds"] = number(result.seconds);
  json["version"] = version();
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string worst_case_csv(const RiskResult& result, std::span<const std::string> scenario_labels) {
  const RiskLabels labels{.scenarios = scenario_labels};
  std::string text = "scenario,label,weight,loss\n";
  for (std::size_t j = 0; j < result.scenario_weights.size(); ++j) {
    const double loss = j < result.scenario_losses.size() ? result.scenario_losses[j] : std::nan("");
    text += fmt::format("{},{},{},{}\n", j, csv_field(labels.given_scenario(j)), result.scenario_weights[j], loss);
  }
  return text;
}

std::string radius_csv(const RiskResult& result) {
  std::string text = "radius,worst_case_loss,lambda,transport_cost,dual,duality_gap,status\n";
  for (const WorstCase& one : result.sweep) text += radius_line(one);
  if (result.sweep.empty()) text += radius_line(result.worst);
  return text;
}

std::string days_csv(const RiskResult& result, const RiskLabels& labels) {
  std::string text = "day,label,mass,loss_before,loss_after,cost,scenario,scenario_label,share,stays\n";
  for (const DayMove& move : result.moves) {
    const bool has_scenario = !stays(move, result);
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", move.day, csv_field(labels.given_day(move.day)), move.mass,
                        move.loss_before, move.loss_after, move.cost, has_scenario ? std::to_string(move.scenario) : "",
                        has_scenario ? csv_field(labels.given_scenario(move.scenario)) : "", move.share, move.stays);
  }
  return text;
}

}  // namespace fedsinkhorn
