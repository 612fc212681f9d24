// The way back from masses that were scaled (CheckedProblem::mass_exponent).
#pragma once

#include <vector>

#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Which potential takes over epsilon log of the factor of the masses. Plain Sinkhorn starts from a given g, so that
/// its f has all of it; where <f, a> = <g, b> each has half.
enum class Gauge { from_start, balanced };

/// f and g become potentials for the masses given. Everything else in the outcomes stays as it is.
void to_given_units(const CheckedProblem& problem, Gauge gauge, std::vector<Outcome>& outcomes);

}  // namespace fedsinkhorn
