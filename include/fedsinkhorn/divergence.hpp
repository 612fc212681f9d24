// The Sinkhorn divergence of two weighted point clouds (Feydy et al., 2019):
//
//   S = V(x, y) - V(x, x) / 2 - V(y, y) / 2,    V = min <P, C> + epsilon KL(P | a x b)
//
// 0 for equal clouds, where V itself is not. Three solves; no plan is formed.
#pragma once

#include "fedsinkhorn/gradients.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

struct Divergence {
  double value = 0;   ///< S
  double linear = 0;  ///< the same combination of <P, C>, which some libraries call the divergence
  Status status = Status::iteration_limit;  ///< converged if all three solves are
  Result cross;                             ///< of x and y
  Result own_x;                             ///< of x and x
  Result own_y;                             ///< of y and y
};

/// Costs must be from points, and there is one target. A warm start is used for the solve of x and y alone. Throws like
/// solve().
[[nodiscard]] Divergence divergence(const Problem& problem, const Options& options = {});

/// dS/dx and dS/dy. divergence: that of the same problem.
[[nodiscard]] PointGradients point_gradients(const Problem& problem, const Divergence& divergence, int threads = 0);
/// dS/da and dS/db, as those of a solve.
[[nodiscard]] MassGradients mass_gradients(const Problem& problem, const Divergence& divergence, int threads = 0);

}  // namespace fedsinkhorn
