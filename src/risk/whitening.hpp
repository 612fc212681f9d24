// The cost mahalanobis: (x - y)' S^-1 (x - y) = |L^-1 x - L^-1 y|^2 with S = L L'.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn {

/// Points times L^-1; empty for other costs.
struct WhitePoints {
  std::vector<double> returns;  ///< all rows given here
  std::vector<double> scenarios;

  /// The points between which distances are taken.
  [[nodiscard]] AnyMatrix x(const RiskProblem& problem) const;
  [[nodiscard]] AnyMatrix y(const RiskProblem& problem) const;
};

/// S is the covariance given, or that of the returns of all clients: sum a (x - mean)(x - mean)' / (1 - sum a^2), which
/// divides by n - 1 if all masses are equal. Then d + d (d + 1) / 2 + 1 sums are exchanged. Collective. Throws
/// InputError on all clients if S is not positive definite.
/// numbers: own days, of which the first row given here is number `before`. a: their masses.
[[nodiscard]] WhitePoints whitened(const RiskProblem& problem, const Collectives& clients,
                                   std::span<const std::size_t> numbers, std::size_t before, std::span<const double> a);

}  // namespace fedsinkhorn
