// A look at every cost or coordinate, each by a client that holds it.
#pragma once

#include "core/stop_request.hpp"
#include "problem/checked_problem.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

/// Costs and potentials may be so many times epsilon. Potentials in the kernel lie on a grid of 2^-51 times the
/// largest, and what that leaves out goes into the scalings (iteration/potentials.hpp). Potentials are up to twice the
/// largest cost, and grids up to four times as coarse as they could be: scalings move by factors up to exp(2^-49 C /
/// epsilon), which must stay below the 1e100 that is safe.
inline constexpr double kMostCostsPerEpsilon = 1e17;

/// Needs the active rows and columns. Fills in has_forbidden_pairs, largest_cost and, where the layout has use for it,
/// symmetric_cost. Throws on all clients alike, Interrupted too.
void agree_on_costs(const Collectives& clients, int threads, const cpu::Simd& simd, const StopRequest& stop,
                    CheckedProblem& checked);

/// With forbidden pairs: proves that the allowed ones can carry the masses (Feasibility::check), or at least that no
/// line with mass is without any (skip, or masses that clients keep to themselves). Client 0 is told which pairs are
/// allowed. Unless clients keep their masses to themselves, b is scaled to a in every connected component of the
/// allowed pairs where the two differ by no more than mass_tolerance. Throws on all clients alike, Interrupted
/// too.
void agree_on_feasibility(const Collectives& clients, Feasibility feasibility, const LayoutOf& layout_of,
                          const StopRequest& stop, CheckedProblem& checked);

}  // namespace fedsinkhorn
