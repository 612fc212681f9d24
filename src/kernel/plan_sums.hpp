// Sums over a finished plan.
#pragma once

#include <vector>

#include "core/exact_sum.hpp"

namespace fedsinkhorn {

/// Sums over the plan P_ij = u_i v_j K_ij, K_ij = exp(t_ij), t_ij = (phi_i + psi_j - C_ij) / epsilon, one target.
struct PlanSums {
  std::vector<double> rows;     ///< sum_j P_ij
  std::vector<double> columns;  ///< sum_i P_ij
  ExactSum logarithm;           ///< sum_ij P_ij t_ij
  ExactSum cost;                ///< sum_ij P_ij C_ij, without forbidden pairs
  ExactSum divergence;          ///< sum_ij u_i v_j (K_ij t_ij - K_ij + 1), at least 0
};

}  // namespace fedsinkhorn
