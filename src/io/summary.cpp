#include "io/summary.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/names.hpp"
#include "fedsinkhorn/version.hpp"

namespace fedsinkhorn {
namespace {

using Json = nlohmann::ordered_json;

Json costs(const Costs& cost) {
  return {{"linear", cost.linear}, {"entropy", cost.entropy}, {"objective", cost.objective}, {"dual", cost.dual}};
}

Json errors(Norm norm, const MarginalErrors& error) {
  return {{"norm", name_of(norm)}, {"a", error.a}, {"b", error.b}};
}

Json by_phase(const TrafficBytes& bytes) {
  return {{"setup", bytes.setup}, {"rounds", bytes.rounds}, {"rebuilds", bytes.rebuilds}, {"results", bytes.results}};
}

}  // namespace

std::string summary_json(const Result& result, const Options& options, double epsilon) {
  Json json;
  json["status"] = name_of(result.status);
  json["iterations"] = result.iterations;
  json["exchanges"] = result.exchanges;
  json["error"] = errors(result.norm, result.error);
  json["error_floor"] = result.error_floor;
  json["error_on_exact_costs"] = errors(result.norm, result.exact_error);
  json["mass_rescaled"] = result.mass_rescaled;
  json["tolerance"] = options.tolerance;
  json["cost"] = costs(result.cost);
  json["epsilon"] = epsilon;
  json["rows"] = result.rows;
  json["columns"] = result.columns;
  json["targets"] = result.targets;
  json["topology"] = result.topology;
  json["transport"] = result.transport;
  json["local_steps"] = options.local_steps;
  json["method"] = options.method;
  json["passes"] = name_of(result.passes);
  json["kernel"] = name_of(options.kernel);
  json["stabilization"] = name_of(options.stabilization);
  json["precision"] = name_of(options.precision);
  json["backend"] = result.backend;
  json["simd"] = result.simd;
  json["threads"] = result.threads;
  json["kernel_bytes"] = result.kernel_bytes;
  json["absorptions"] = result.absorptions;
  json["clients"] = Json::array();
  for (const ClientReport& client : result.clients) {
    json["clients"].push_back({{"client", client.client},
                               {"rows", {client.first_row, client.last_row}},
                               {"columns", {client.first_column, client.last_column}},
                               {"compute_seconds", client.compute_seconds},
                               {"communication_seconds", client.communication_seconds},
                               {"bytes_sent", client.sent.total()},
                               {"bytes_received", client.received.total()},
                               {"sent", by_phase(client.sent)},
                               {"received", by_phase(client.received)},
                               {"exchanges", client.exchanges},
                               {"kernel_bytes", client.kernel_bytes},
                               {"peak_memory_bytes", client.peak_memory_bytes}});
  }
  if (result.targets > 1) {
    json["targets_solved_alone"] = result.targets_solved_alone;
    json["per_target"] = Json::array();
    for (const TargetResult& target : result.per_target) {
      json["per_target"].push_back({{"status", name_of(target.status)},
                                    {"iterations", target.iterations},
                                    {"error", errors(result.norm, target.error)},
                                    {"cost", costs(target.cost)}});
    }
  }
  json["solve_seconds"] = result.solve_seconds;
  json["wall_seconds"] = result.wall_seconds;
  json["version"] = version();
  return json.dump(2) + "\n";
}

std::string trace_csv(std::span<const TraceRow> trace) {
  std::string text = "iteration,seconds,error_a,error_b\n";
  for (const TraceRow& row : trace) {
    text += fmt::format("{},{:.6f},{},{}\n", row.iteration, row.seconds, row.error_a, row.error_b);
  }
  return text;
}

}  // namespace fedsinkhorn
