// Bringing together what the clients have at the end.
#pragma once

#include <span>

#include "comm/counting.hpp"
#include "problem/checked_problem.hpp"
#include "solve/outcome.hpp"

namespace fedsinkhorn {

/// Potentials in the order rows and columns were given, -inf where there is no mass: all of them at client 0, own
/// slices elsewhere. keep_f: f stays where it is, at client 0 too.
void gather_potentials(const Collectives& clients, const CheckedProblem& problem, bool keep_f,
                       std::span<const Outcome> outcomes, Result& result);

/// All clients' reports at client 0, its own elsewhere. `own` has what only the solve knows.
void gather_reports(const Collectives& clients, const CheckedProblem& problem, const CountingCommunicator& traffic,
                    const ClientReport& own, Result& result);

}  // namespace fedsinkhorn
