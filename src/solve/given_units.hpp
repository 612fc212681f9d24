// The problem as it is iterated, and the way back from it.
#pragma once

#include <optional>
#include <vector>

#include "iteration/outcome.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// The same problem with masses of at least `least` of the total where there is mass; nothing if this client has no
/// smaller ones. A marginal error changes by no more than that per line.
[[nodiscard]] std::optional<CheckedProblem> with_least_masses(const CheckedProblem& problem, double least);

/// Converts f and g of that problem to potentials of the other: rows and columns get the masses they have there, up to
/// what lines with replaced masses took from others.
void to_true_masses(const CheckedProblem& iterated, const CheckedProblem& problem, std::vector<Outcome>& outcomes);

/// Which potential takes the term epsilon log(factor of the masses). Plain Sinkhorn starts from a given g, so f takes
/// all of it; where <f, a> = <g, b>, each takes half.
enum class Gauge { from_start, balanced };

/// Undoes the scaling of the masses (CheckedProblem::mass_exponent): converts f and g to potentials of the given
/// masses. Changes nothing else in the outcomes.
void to_given_units(const CheckedProblem& problem, Gauge gauge, std::vector<Outcome>& outcomes);

}  // namespace fedsinkhorn
