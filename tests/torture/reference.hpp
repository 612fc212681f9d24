// What the answer should be, found in another way than the program finds it: slow, obvious, with more digits.
//
// How far a plan of the right form can be from the true one
// Let P and Q both be of the form exp((f_i + g_j - C_ij) / epsilon). Where P_ij > Q_ij the potentials of P have the
// larger sum, so that P - Q, seen as a flow from rows to columns, always goes down: it has no cycle. Every unit of it
// hence starts and ends at a difference of the marginals, and no |P_ij - Q_ij| exceeds the sum of these. So marginal
// errors bound the error of the plan, for the reference as well as for what it judges.
#pragma once

#include <vector>

#include "torture/random_case.hpp"

namespace fedsinkhorn::torture {

using Real = long double;

/// C in the digits of Real, from points by way of 50 digits; n x m.
[[nodiscard]] std::vector<Real> exact_costs(const Case& it);
/// Of the finite ones, in absolute value.
[[nodiscard]] double largest_cost(const Case& it);

/// Masses of one target, b scaled to a in every connected component of the allowed pairs.
struct Masses {
  std::vector<Real> a;
  std::vector<Real> b;
  Real total = 0;
};
[[nodiscard]] Masses exact_masses(const Case& it, const std::vector<Real>& costs, std::size_t target);

struct ReferencePlan {
  std::vector<Real> plan;  ///< n x m
  Real error = 0;          ///< sum of |P 1 - a| and |P' 1 - b|
};
/// The semi-dual function of g is maximised by Newton's method, after Sinkhorn iterations with a falling epsilon.
[[nodiscard]] ReferencePlan reference_plan(const Case& it, const std::vector<Real>& costs, const Masses& masses);

/// The larger marginal error, in the case's norm, after that many iterations of plain Sinkhorn from g = 0.
[[nodiscard]] Real plain_sinkhorn_error(const Case& it, const std::vector<Real>& costs, const Masses& masses,
                                        std::int64_t iterations);

[[nodiscard]] Real norm_of(Norm norm, const std::vector<Real>& difference);

/// Unit vectors have about 32 digits: of parallel points the engine sees the square of the last one, 1e-64 or so. Costs
/// beside which that is not to be seen.
[[nodiscard]] inline Real vanishing_cost(const Case& it) { return it.metric == Metric::cosine ? 1e-50L : 0; }

}  // namespace fedsinkhorn::torture
