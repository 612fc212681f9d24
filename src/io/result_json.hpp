// Parts of a result that several summaries have, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "core/names.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// Members stay in the order in which they are added.
using OrderedJson = nlohmann::ordered_json;

[[nodiscard]] inline OrderedJson errors_json(Norm norm, const MarginalErrors& error) {
  return {{"norm", name_of(norm)}, {"a", error.a}, {"b", error.b}};
}

[[nodiscard]] inline OrderedJson by_phase(const TrafficBytes& bytes) {
  return {{"setup", bytes.setup}, {"rounds", bytes.rounds}, {"rebuilds", bytes.rebuilds}, {"results", bytes.results}};
}

[[nodiscard]] inline OrderedJson client_json(const ClientReport& client) {
  OrderedJson json = {{"client", client.client},
                      {"rows", {client.first_row, client.last_row}},
                      {"columns", {client.first_column, client.last_column}},
                      {"compute_seconds", client.compute_seconds},
                      {"communication_seconds", client.communication_seconds},
                      {"bytes_sent", client.sent.total()},
                      {"bytes_received", client.received.total()},
                      {"sent", by_phase(client.sent)},
                      {"received", by_phase(client.received)},
                      {"iterations", client.iterations},
                      {"exchanges", client.exchanges},
                      {"kernel_bytes", client.kernel_bytes},
                      {"peak_memory_bytes", client.peak_memory_bytes}};
  if (client.device >= 0) json["device"] = client.device;
  if (client.unknown > 0) json["unknown"] = client.unknown;
  if (!client.left.empty()) json["left"] = OrderedJson::array();
  for (const SentMessages& sent : client.left) {
    json["left"].push_back({{"phase", sent.phase},
                            {"kind", sent.kind},
                            {"form", sent.is_masked ? "masked" : "plain"},
                            {"bytes", sent.bytes},
                            {"messages", sent.messages}});
  }
  return json;
}

}  // namespace fedsinkhorn
