// The potential to start from: checked, and the lines without mass dropped.
#pragma once

#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Needs the shapes and the masses. Fills in start_g; does nothing, and says nothing to others, where no start was
/// given. What others learn of a client's values here: nothing. Throws on all clients alike.
void agree_on_initial_g(const Collectives& clients, CheckedProblem& checked);

}  // namespace fedsinkhorn
