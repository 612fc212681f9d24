// Checks the initial potential and drops its lines without mass.
#pragma once

#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Needs the shapes and the masses. Sets start_g. If no start was given, does nothing and sends nothing. Other clients
/// learn nothing about a client's values. Throws the same on all clients.
void agree_on_initial_g(const Collectives& clients, CheckedProblem& checked);

}  // namespace fedsinkhorn
