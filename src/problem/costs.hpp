// Checks every cost or coordinate, each on a client that holds it.
#pragma once

#include "core/stop_request.hpp"
#include "problem/checked_problem.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

/// The largest ratio of costs and potentials to epsilon. Potentials in the kernel lie on a grid of 2^-51 times the
/// largest; what that leaves out goes into the scalings (iteration/potentials.hpp). Potentials are up to twice the
/// largest cost, and grids up to four times as coarse as necessary: scalings change by factors up to exp(2^-49 C /
/// epsilon), which must stay below the safe 1e100.
inline constexpr double kMostCostsPerEpsilon = 1e17;

/// Needs the active rows and columns. Sets has_forbidden_pairs, largest_cost and, if the layout can use it,
/// symmetric_cost. Throws the same on all clients, including Interrupted.
void agree_on_costs(const Collectives& clients, int threads, const cpu::Simd& simd, const StopRequest& stop,
                    CheckedProblem& checked);

/// The same for this client's costs alone, by itself: nothing is sent, and nothing is known of other clients' costs.
void check_own_costs(int threads, const cpu::Simd& simd, const StopRequest& stop, CheckedProblem& checked);

/// All costs of a problem, apart from any solve.
void check_costs(const Problem& problem, int threads, const cpu::Simd& simd);

/// With forbidden pairs: proves that the allowed ones can carry the masses (Feasibility::check), or at least that every
/// line with mass has one (skip, or private masses). Client 0 learns which pairs are allowed. Unless masses are
/// private, b is scaled to a in every connected component of the allowed pairs where the two differ by at most
/// mass_tolerance. Throws the same on all clients, including Interrupted.
void agree_on_feasibility(const Collectives& clients, Feasibility feasibility, const LayoutOf& layout_of,
                          const StopRequest& stop, CheckedProblem& checked);

}  // namespace fedsinkhorn
