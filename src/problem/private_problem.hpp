// The problem of a private run, checked by every client for itself.
#pragma once

#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// The largest ratio of costs to epsilon in a private run.
inline constexpr double kMostPrivateRatio = 1e4;

/// Like check_problem, but nothing about data leaves: clients tell each other sizes, and whether they can go on. So all
/// rows are active, with mass or without; masses are not added up (they should total 1); largest_cost and
/// has_forbidden_pairs are this client's own; a plan need not exist. With public_columns, every client has all of b and
/// of the points y, and must have the same: they are compared by a fingerprint, and nothing that depends on a record
/// is. Then b has all columns (targets x columns) and rows of other clients are hidden.
[[nodiscard]] CheckedProblem check_private_problem(const Problem& problem, const Options& options,
                                                   const LayoutOf& layout_of, const Collectives& clients, int threads,
                                                   bool public_columns);

}  // namespace fedsinkhorn
