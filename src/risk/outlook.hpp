// What is said about the days before and after: expected loss, histogram, and who held what.
#pragma once

#include <functional>

#include "comm/collectives.hpp"
#include "comm/counting.hpp"
#include "risk/days.hpp"
#include "risk/tilted_pass.hpp"

namespace fedsinkhorn {

/// Fills expected_loss and value_at_risk of the days as they are.
void describe_before(const Days& days, const Collectives& clients, double cvar_level, RiskResult& result);

/// Fills histogram. after: the distribution over scenarios; days that stay keep their loss.
void describe_losses(const Days& days, const Collectives& clients, const TiltedPlan& after, RiskResult& result);

/// Fills moves, at client 0 with those of all clients if the policy lets them leave, and the clients' reports.
void gather_outlook(const Days& days, const Collectives& clients, const CountingCommunicator& traffic,
                    double compute_seconds, std::vector<DayMove> own, RiskResult& result);

}  // namespace fedsinkhorn
