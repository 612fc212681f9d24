// Checks the masses, scales them to one total and drops the lines without mass.
#pragma once

#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Needs the given slices. Sets a, b, mass, its exponent, least_mass, mass_rescaled and the active rows and columns.
/// to_total_one: a and each target of b are first divided by their totals, which then need not agree. Other clients
/// learn the total of a client's masses, which of them are zero, and the least of a (and of b, if the total is not near
/// 1). The first scalings exchanged tell some of them more (docs/clusters.md). Throws the same on all clients.
void agree_on_masses(const Collectives& clients, bool to_total_one, CheckedProblem& checked);

/// For private runs: the same without a word to others. Every line is active, with mass or without, and masses are not
/// added up over clients. public_columns: b is known whole, with a total of 1 for each target; its columns without mass
/// are dropped, and the others belong to every client. Throws InputError.
void keep_own_masses(bool public_columns, CheckedProblem& checked);

}  // namespace fedsinkhorn
