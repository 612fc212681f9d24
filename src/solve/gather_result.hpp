// Gathers the results of the clients.
#pragma once

#include <span>

#include "comm/counting.hpp"
#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"
#include "topology/delays.hpp"

namespace fedsinkhorn {

/// Potentials in the given order of rows and columns, -inf where there is no mass: all of g on all clients; all of f at
/// client 0, own rows elsewhere. keep_f: client 0 gets only its own rows too.
void gather_potentials(const Collectives& clients, const CheckedProblem& problem, bool keep_f,
                       std::span<const Outcome> outcomes, Result& result);

/// What this client sent, received and waited for is added to its report.
[[nodiscard]] ClientReport with_traffic(const CountingCommunicator& traffic, ClientReport report);
/// All clients' reports at client 0, its own elsewhere; lines are those of `own`. By secure sums, its own everywhere:
/// what a client held and spent is its own business.
[[nodiscard]] std::vector<ClientReport> reports_of(const Collectives& clients, const ClientReport& own);

/// What this client held and spent. `own` has what only the solve knows.
[[nodiscard]] ClientReport complete_report(const CheckedProblem& problem, const CountingCommunicator& traffic,
                                           ClientReport own);
/// All clients' reports at client 0, its own elsewhere. By secure sums, its own everywhere.
void gather_reports(const Collectives& clients, const CheckedProblem& problem, const CountingCommunicator& traffic,
                    const ClientReport& own, Result& result);

/// Whether this client knows all slices of all targets.
[[nodiscard]] bool know_all_slices(const CheckedProblem& problem, std::span<const Outcome> outcomes);
/// Potentials as this client then knows them, in the same order.
void spread_known_potentials(const CheckedProblem& problem, std::span<const Outcome> outcomes, Result& result);

/// Whether this client has potentials of its own rows for all targets.
[[nodiscard]] bool know_own_rows(const CheckedProblem& problem, std::span<const Outcome> outcomes);
/// Only potentials of its own rows and columns. Sends no messages.
void keep_own_potentials(const Collectives& clients, const CheckedProblem& problem, std::span<const Outcome> outcomes,
                         Result& result);

/// The delays of other clients' slices as seen by this client; empty without a table.
[[nodiscard]] std::vector<DelayRow> delays_seen(const CheckedProblem& problem, const DelayTable* table);
/// All clients' rows at client 0, its own elsewhere. max_staleness: no older slice was used.
void gather_delays(const Collectives& clients, const CheckedProblem& problem, std::size_t max_staleness,
                   const DelayTable& own, Result& result);

}  // namespace fedsinkhorn
