// Preconditioner of the Newton system: a Cholesky factor of the normalised Laplacian of a sparse graph on the columns.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "method/acceleration.hpp"

namespace fedsinkhorn {

/// D^-1/2 L D^-1/2 + damping, where L is the Laplacian of a graph: approximately (1 + damping) - B'B.
class LaplacianFactor {
 public:
  virtual ~LaplacianFactor() = default;
  LaplacianFactor() = default;
  LaplacianFactor(const LaplacianFactor&) = delete;
  LaplacianFactor& operator=(const LaplacianFactor&) = delete;

  /// False if the matrix is not positive definite, to rounding.
  [[nodiscard]] virtual bool factorize(double damping) = 0;
  /// After factorize(): x = (the matrix)^-1 x, for x orthogonal to D^1/2. The solution may have a part along D^1/2.
  virtual void solve(std::span<double> x) const = 0;
};

/// edges: weights at positions j * columns + k, j < k. root_c: D^1/2; columns where it is 0 are on their own.
/// Nothing if that takes too long: the graph must be sparser. All clients come to the same answer.
[[nodiscard]] std::unique_ptr<LaplacianFactor> make_laplacian_factor(std::span<const SparseEntry> edges,
                                                                     std::span<const double> root_c, bool at_any_cost,
                                                                     int threads);

}  // namespace fedsinkhorn
