// One client's part in a search for the worst case, over any transport.
#pragma once

#include "comm/communicator.hpp"
#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn {

/// Called by every client. Throw the same on all of them (see fedsinkhorn/risk.hpp).
[[nodiscard]] RiskResult worst_case_as_client(const RiskProblem& problem, const RiskOptions& options,
                                              Communicator& communicator);
[[nodiscard]] RiskResult stressed_plan_as_client(const RiskProblem& problem, const StressMarginal& stress,
                                                 const RiskOptions& options, Communicator& communicator);

}  // namespace fedsinkhorn
