// Small dense least squares.
#pragma once

#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace fedsinkhorn::testing {

[[nodiscard]] inline double product(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

/// Equations `row . x = right`, one after the other.
class LeastSquares {
 public:
  explicit LeastSquares(std::size_t unknowns) : unknowns_(unknowns) {}

  /// As many coefficients as unknowns.
  void add(const std::vector<double>& row, double right);
  /// The x with the least sum of squared errors. Nothing if there are fewer equations than unknowns, if they do not
  /// determine x, or if a number is not finite.
  [[nodiscard]] std::optional<std::vector<double>> solve() const;

 private:
  std::size_t unknowns_;
  std::vector<std::vector<double>> equations_;  // coefficients, then the right side
};

}  // namespace fedsinkhorn::testing
