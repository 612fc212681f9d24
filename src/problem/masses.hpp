// Masses: checked, brought to one total, and the lines without any dropped.
#pragma once

#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Needs the given slices. Fills in a, b, mass, its exponent, least_mass, mass_rescaled and the active rows and
/// columns. to_total_one: a and each target of b are first divided by their totals, which need not agree then. What
/// others learn of a client's masses here: their total, which of them are zero, and the least of a (and of b, where the
/// total is not near 1); the first scalings that are exchanged tell some of them more (docs/clusters.md). Throws on all
/// clients alike.
void agree_on_masses(const Collectives& clients, bool to_total_one, CheckedProblem& checked);

}  // namespace fedsinkhorn
