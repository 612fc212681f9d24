// How the least objective changes with the problem, by the envelope theorem: the plan is held fixed, so no iteration is
// differentiated. Exact at the optimum; the error is about that of the marginals.
//
// The value is  V = min <P, C> + epsilon KL(P | a x b)  (Costs::kl_objective). Its derivative with respect to the costs
// is the plan itself, dV/dC_ij = P_ij (see Plan). Nothing here stores an n x m array.
#pragma once

#include <cstddef>
#include <vector>

#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

struct PointGradients {
  std::vector<double> x;  ///< dV/dx, row-major, d numbers for each row that the result has
  std::vector<double> y;  ///< dV/dy, m x d; of those rows alone
};

/// For costs from points. Where two points coincide, the euclidean distance has no derivative; that pair counts as 0.
/// Throws InputError if the costs are not from points, or if problem and result do not fit together (see Plan).
[[nodiscard]] PointGradients point_gradients(const Problem& problem, const Result& result, std::size_t target = 0,
                                             int threads = 0);

/// Derivatives in directions that keep the totals of a and b: both are determined up to a constant, chosen so that the
/// finite entries of each sum to 0. With Options::normalize totals may change, and derivatives are those with respect
/// to the masses as given. They exist where a mass is 0 as well: there the derivative is one-sided. +inf where all
/// pairs of the line are forbidden.
struct MassGradients {
  std::vector<double> a;  ///< one for each row that the result has
  std::vector<double> b;  ///< m
};

/// Throws like point_gradients, and if the result has only some of the rows.
[[nodiscard]] MassGradients mass_gradients(const Problem& problem, const Result& result, std::size_t target = 0,
                                           int threads = 0);

}  // namespace fedsinkhorn
