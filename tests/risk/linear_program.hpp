// Worst-case risk without entropy, solved exactly (GLPK).
#pragma once

#include "risk/reference.hpp"

namespace fedsinkhorn::testing {

/// max sum P_ij l_j over P >= 0, P 1 = a, <P, c> <= radius. With a level, the CVaR: the same by
/// CVaR(P) = max sum Q_ij l_j over 0 <= Q <= P / (1 - level), sum Q = 1.
[[nodiscard]] double linear_program(const WideProblem& problem);
/// The same without a level, to every digit: min lambda * radius + sum a_i max_j (l_ij - lambda c_ij), by bisection.
[[nodiscard]] double dual_program(const WideProblem& problem);

}  // namespace fedsinkhorn::testing
