#include "io/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/version.hpp"
#include "io/hint.hpp"
#include "io/privacy_report.hpp"
#include "io/result_json.hpp"
#include "io/sums_report.hpp"
#include "options/option_table.hpp"

namespace fedsinkhorn {
namespace {

/// Of docs/summary.schema.json. Increases when a field is removed or changes its meaning.
constexpr int kSummarySchemaVersion = 1;

OrderedJson costs(const Costs& cost) {
  return {{"linear", cost.linear},
          {"entropy", cost.entropy},
          {"objective", cost.objective},
          {"dual", cost.dual},
          {"shannon_entropy", cost.shannon_entropy},
          {"kl_objective", cost.kl_objective}};
}

/// Of ages, weighted by how often each occurred.
struct AgeStatistics {
  std::uint64_t uses = 0;
  std::size_t least = 0;
  std::size_t most = 0;
  double mean = 0;
  double deviation = 0;  // population standard deviation
};

AgeStatistics statistics(std::span<const std::uint64_t> uses) {
  AgeStatistics result;
  double sum = 0;
  for (std::size_t age = 0; age < uses.size(); ++age) {
    if (uses[age] == 0) continue;
    if (result.uses == 0) result.least = age;
    result.most = age;
    result.uses += uses[age];
    sum += static_cast<double>(age) * static_cast<double>(uses[age]);
  }
  if (result.uses == 0) return result;
  const auto count = static_cast<double>(result.uses);
  result.mean = sum / count;
  double squares = 0;
  for (std::size_t age = 0; age < uses.size(); ++age) {
    const double distance = static_cast<double>(age) - result.mean;
    squares += distance * distance * static_cast<double>(uses[age]);
  }
  result.deviation = std::sqrt(squares / count);
  return result;
}

OrderedJson delay_json(const AgeStatistics& ages, std::span<const std::uint64_t> uses, std::uint64_t superseded) {
  OrderedJson histogram = OrderedJson::object();
  for (std::size_t age = 0; age < uses.size(); ++age) {
    if (uses[age] > 0) histogram[std::to_string(age)] = uses[age];
  }
  return {{"uses", ages.uses}, {"superseded", superseded}, {"min", ages.least},     {"max", ages.most},
          {"mean", ages.mean}, {"std", ages.deviation},    {"histogram", histogram}};
}

// All pairs together, then each pair; with very many clients, single pairs are only in delays.csv.
OrderedJson delays_json(std::span<const DelayRow> delays, std::size_t clients) {
  constexpr std::size_t kMostClients = 16;
  OrderedJson json;
  for (const char slice : {'u', 'v'}) {
    std::vector<std::uint64_t> uses;
    std::uint64_t superseded = 0;
    for (const DelayRow& row : delays) {
      if (row.slice != slice) continue;
      uses.resize(std::max(uses.size(), row.uses.size()));
      for (std::size_t age = 0; age < row.uses.size(); ++age) uses[age] += row.uses[age];
      superseded += row.superseded;
    }
    json[std::string(1, slice)] = delay_json(statistics(uses), uses, superseded);
  }
  if (clients > kMostClients) return json;
  json["pairs"] = OrderedJson::array();
  for (const DelayRow& row : delays) {
    OrderedJson pair = {{"slice", std::string(1, row.slice)}, {"from", row.from}, {"to", row.to}};
    pair.update(delay_json(statistics(row.uses), row.uses, row.superseded));
    json["pairs"].push_back(pair);
  }
  return json;
}

/// Whether the solve used the option.
bool was_used(const OptionEntry& option, const Result& result) {
  return option.used_by.field != "topology" || option.used_by.are_named(result.topology);
}

/// The requested options by field name. What actually ran overwrites them later.
void add_options(OrderedJson& json, const Result& result, const Options& options, double epsilon) {
  Problem problem;
  problem.epsilon = epsilon;
  for (const OptionEntry& option : option_table()) {
    if (!option.in_summary || !was_used(option, result)) continue;
    json[std::string(option.field)] = visit_value(option, problem, options, [](const auto& value) -> OrderedJson {
      using Value = std::remove_cvref_t<decltype(value)>;
      if constexpr (std::is_enum_v<Value> || std::is_same_v<Value, KernelName>) {
        return name_of(value);
      } else if constexpr (std::is_same_v<Value, GridShape>) {
        return {value.rows, value.columns};
      } else {
        return value;
      }
    });
  }
}

void add_what_ran(OrderedJson& json, const Result& result, const Options& options) {
  json["rows"] = result.rows;
  json["columns"] = result.columns;
  json["targets"] = result.targets;
  if (result.dimension > 0) json["dimension"] = result.dimension;
  if (!result.metric.empty()) json["metric"] = result.metric;
  if (result.largest_cost > 0) {
    json["largest_cost"] = result.largest_cost;
    json["largest_cost_is_bound"] = result.largest_cost_is_bound;
  }
  json["topology"] = result.topology;
  json["transport"] = result.transport;
  json["method"] = result.method;
  json["passes"] = name_of(result.passes);
  if (!result.pass_plan.empty()) json["pass_plan"] = result.pass_plan;
  json["precision_is_reduced"] = is_reduced(options.precision);
  json["backend"] = result.backend;
  if (!result.device.empty()) json["device"] = result.device;
  json["simd"] = result.simd;
  json["threads"] = result.threads;
  if (!result.privacy.mechanism.empty()) {  // private runs sum in logs, from the costs
    json["kernel"] = name_of(KernelName(KernelKind::online));
    json["stabilization"] = name_of(Stabilization::log);
  }
  json["kernel_bytes"] = result.kernel_bytes;
  json["absorptions"] = result.absorptions;
  json["rejected_rounds"] = result.rejected;
  json["epsilon_levels"] = result.levels;
  json["newton"] = {{"steps", result.newton.steps}, {"products", result.newton.products}};
  if (result.newton.from > 0) {
    json["newton"]["from_iteration"] = result.newton.from;
    json["newton"]["targets"] = result.newton.targets;
    json["newton"]["reason"] = result.newton.reason;
  }
}

/// Predictions beside measurements; the ratio is null where nothing was measured.
OrderedJson explanation_json(const Result& result) {
  OrderedJson json = {{"profile", result.explained_by}, {"formula", result.explanation_formula}};
  for (const PredictedAndMeasured& figure : result.explanation) {
    json[figure.what] = {
        {"predicted", figure.predicted},
        {"measured", figure.measured},
        {"ratio", figure.measured > 0 ? OrderedJson(figure.predicted / figure.measured) : OrderedJson()}};
  }
  json["notes"] = result.explanation_notes;
  return json;
}

OrderedJson target_json(const TargetResult& target, Norm norm) {
  return {{"status", name_of(target.status)},
          {"iterations", target.iterations},
          {"error", errors_json(norm, target.error)},
          {"cost", costs(target.cost)}};
}

}  // namespace

std::string summary_json(const Result& result, const Options& options, double epsilon) {
  OrderedJson json;
  json["schema_version"] = kSummarySchemaVersion;
  json["status"] = name_of(result.status);
  if (result.status == Status::client_lost) json["lost_clients"] = result.lost_clients;
  if (const std::string what_to_try = hint(result, options); !what_to_try.empty()) json["hint"] = what_to_try;
  if (const auto doubts = doubts_about_problem(result, epsilon); !doubts.empty()) json["notes"] = doubts;
  json["iterations"] = result.iterations;
  json["exchanges"] = result.exchanges;
  json["error"] = errors_json(result.norm, result.error);
  json["error_floor"] = result.error_floor;
  json["error_on_exact_costs"] = errors_json(result.norm, result.exact_error);
  json["mass"] = result.mass;
  json["mass_rescaled"] = result.mass_rescaled;
  json["potentials"] = {{"rounding_error", result.rounding_error}, {"rests_written", result.rests_matter}};
  json["cost"] = costs(result.cost);
  add_options(json, result, options, epsilon);
  add_what_ran(json, result, options);
  if (!result.privacy.mechanism.empty()) json["privacy"] = privacy_json(result.privacy);
  const SumsSeen seen{result.sums, result.client_count};
  if (const std::string privacy = privacy_sentence(seen, options); !privacy.empty()) {
    json["privacy"] = options.policy == "sums" ? sums_json(seen, privacy) : OrderedJson(privacy);
  }
  json["client_count"] = result.client_count;
  json["clients"] = OrderedJson::array();
  for (const ClientReport& client : result.clients) json["clients"].push_back(client_json(client));
  if (result.targets > 1) {
    json["targets_solved_alone"] = result.targets_solved_alone;
    json["per_target"] = OrderedJson::array();
    for (const TargetResult& target : result.per_target) {
      json["per_target"].push_back(target_json(target, result.norm));
    }
  }
  if (!result.delays.empty()) json["delays"] = delays_json(result.delays, result.clients.size());
  if (result.clock_is_virtual) {
    json["seed"] = options.scenario.seed;
    json["virtual_seconds"] = result.virtual_seconds;
  }
  json["solve_seconds"] = result.solve_seconds;
  json["wall_seconds"] = result.wall_seconds;
  if (!result.explanation.empty() || !result.explanation_notes.empty()) json["explain"] = explanation_json(result);
  json["version"] = version();
  return json.dump(2) + "\n";
}

std::string delays_csv(std::span<const DelayRow> delays) {
  std::string text = "slice,from,to,uses,superseded,min,max,mean,std,histogram\n";
  for (const DelayRow& row : delays) {
    const AgeStatistics ages = statistics(row.uses);
    text += fmt::format("{},{},{},{},{},{},{},{},{},", row.slice, row.from, row.to, ages.uses, row.superseded,
                        ages.least, ages.most, ages.mean, ages.deviation);
    bool is_first = true;
    for (std::size_t age = 0; age < row.uses.size(); ++age) {
      if (row.uses[age] == 0) continue;
      text += fmt::format("{}{}:{}", std::exchange(is_first, false) ? "" : " ", age, row.uses[age]);
    }
    text += "\n";
  }
  return text;
}

std::string trace_csv(std::span<const TraceRow> trace) {
  std::string text = "iteration,seconds,error_a,error_b,epsilon,rejected,history,omega,newton\n";
  for (const TraceRow& row : trace) {
    text += fmt::format("{},{:.6f},{},{},{},{},{},{},{}\n", row.iteration, row.seconds, row.error_a, row.error_b,
                        row.epsilon, row.rejected, row.history, row.omega, row.newton);
  }
  return text;
}

}  // namespace fedsinkhorn
