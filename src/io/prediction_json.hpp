// Predictions as JSON, for `predict`, `plan` and summary.json.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "fedsinkhorn/cost_model.hpp"

namespace fedsinkhorn {

[[nodiscard]] inline nlohmann::ordered_json prediction_json(const Prediction& one) {
  const auto whole = [](double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); };
  return {{"topology", one.topology},
          {"kernel", one.kernel},
          {"precision", one.precision},
          {"policy", one.policy},
          {"clients", one.clients},
          {"threads", one.threads},
          {"seconds_per_iteration", one.seconds_per_iteration},
          {"compute_seconds", one.compute_seconds},
          {"communication_seconds", one.communication_seconds},
          {"bytes_per_iteration", one.bytes_per_iteration},
          {"messages_per_iteration", one.messages_per_iteration},
          {"bytes_per_client", one.bytes_per_client},
          {"memory_bytes", whole(one.memory_bytes)},
          {"server_memory_bytes", whole(one.server_memory_bytes)},
          {"process_memory_bytes", whole(one.process_memory_bytes)},
          {"setup_seconds", one.setup_seconds},
          {"total_seconds", one.total_seconds},
          {"bottleneck", one.bottleneck},
          {"formula", one.formula},
          {"notes", one.notes}};
}

}  // namespace fedsinkhorn
