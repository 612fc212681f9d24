// A look at every cost or coordinate, each by a client that holds it.
#pragma once

#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Needs the active rows and columns. Fills in has_forbidden_pairs, largest_cost and, where the layout has use for it,
/// symmetric_cost. Throws on all clients alike.
void agree_on_costs(const Collectives& clients, int threads, CheckedProblem& checked);

/// Throws InputError if a coordinate of the points given is no usable number: for parts, before others get to see them.
void check_own_points(const Problem& problem);

/// With forbidden pairs: proves that the allowed ones can carry the masses (Feasibility::check), or at least that no
/// line with mass is without any (skip, or masses that clients keep to themselves). Client 0 is told which pairs are
/// allowed.
void agree_on_feasibility(const Collectives& clients, Feasibility feasibility, const LayoutOf& layout_of,
                          const CheckedProblem& checked);

}  // namespace fedsinkhorn
