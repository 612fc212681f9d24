// Bringing together what the clients have at the end.
#pragma once

#include <span>

#include "comm/counting.hpp"
#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"
#include "topology/delays.hpp"

namespace fedsinkhorn {

/// Potentials in the order rows and columns were given, -inf where there is no mass: all of g everywhere; all of f at
/// client 0, own rows elsewhere. keep_f: f stays where it is, at client 0 too.
void gather_potentials(const Collectives& clients, const CheckedProblem& problem, bool keep_f,
                       std::span<const Outcome> outcomes, Result& result);

/// What this client held and spent. `own` has what only the solve knows.
[[nodiscard]] ClientReport complete_report(const CheckedProblem& problem, const CountingCommunicator& traffic,
                                           ClientReport own);
/// All clients' reports at client 0, its own elsewhere.
void gather_reports(const Collectives& clients, const CheckedProblem& problem, const CountingCommunicator& traffic,
                    const ClientReport& own, Result& result);

/// Whether this client has heard of all slices of all targets.
[[nodiscard]] bool know_all_slices(const CheckedProblem& problem, std::span<const Outcome> outcomes);
/// Potentials as it then knows them by itself, in the same order.
void spread_known_potentials(const CheckedProblem& problem, std::span<const Outcome> outcomes, Result& result);

/// Whether it has potentials of its own rows for all targets.
[[nodiscard]] bool know_own_rows(const CheckedProblem& problem, std::span<const Outcome> outcomes);
/// Potentials of its own rows and columns alone. Asks nobody.
void keep_own_potentials(const Collectives& clients, const CheckedProblem& problem, std::span<const Outcome> outcomes,
                         Result& result);

/// What a client has seen of the others' slices; nothing if it kept no table.
[[nodiscard]] std::vector<DelayRow> delays_seen(const CheckedProblem& problem, const DelayTable* table);
/// All clients' rows at client 0, its own elsewhere. max_staleness: no slice was used that was older.
void gather_delays(const Collectives& clients, const CheckedProblem& problem, std::size_t max_staleness,
                   const DelayTable& own, Result& result);

}  // namespace fedsinkhorn
