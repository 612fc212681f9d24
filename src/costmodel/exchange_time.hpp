// Seconds of an exchange: measured ones by alpha + beta B, others from the messages it is made of.
#pragma once

#include <string>
#include <vector>

#include "fedsinkhorn/cost_model.hpp"
#include "topology/round.hpp"

namespace fedsinkhorn {

struct ExchangeCost {
  double seconds = 0;
  double latency_seconds = 0;  ///< the part that does not depend on bytes
  std::string note{};          ///< if it is not measured for so many clients
};

/// By the links alone: messages of a phase travel at the same time, each with its header; the next phase follows.
/// Collectives by tree take ceil(log2 c) (latency + overhead) and (c - 1) / c of the bytes, those by ring c - 1 steps
/// of a part.
[[nodiscard]] ExchangeCost exchange_by_links(const LinkModel& links, const RoundExchange& exchange);

/// The exchanges of a round by the links alone, one after the other, round after round. Ports send and receive at the
/// same time: what goes out from a server and what comes back to it overlap. A server that has told the others
/// something does not wait, but goes on with its pass.
[[nodiscard]] std::vector<ExchangeCost> round_by_links(const LinkModel& links, const Round& round, double pass_seconds);

/// By the profile's measured times, between and beyond the measured numbers of clients by structure: alpha grows as the
/// messages of the busiest member do, beta as the bytes through the busiest port do. By the links where the exchange
/// was not measured at all. Throws InputError if the profile has neither.
[[nodiscard]] ExchangeCost exchange_cost(const Profile& profile, const RoundExchange& exchange);

/// Whether it was measured, for any number of clients.
[[nodiscard]] bool is_measured(const Profile& profile, Exchange exchange);

}  // namespace fedsinkhorn
