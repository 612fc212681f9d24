// Undoes the scaling of the masses (CheckedProblem::mass_exponent).
#pragma once

#include <vector>

#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Which potential takes the term epsilon log(factor of the masses). Plain Sinkhorn starts from a given g, so f takes
/// all of it; where <f, a> = <g, b>, each takes half.
enum class Gauge { from_start, balanced };

/// Converts f and g to potentials of the given masses. Changes nothing else in the outcomes.
void to_given_units(const CheckedProblem& problem, Gauge gauge, std::vector<Outcome>& outcomes);

}  // namespace fedsinkhorn
