// Preconditioner of the Newton system: an approximate Cholesky factor of the normalised Laplacian of a graph on the
// columns. Elimination keeps only some of the edges that each step adds (see sampled_clique.hpp), so it takes time and
// memory in proportion to the number of edges, up to a logarithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "method/acceleration.hpp"
#include "method/sampled_clique.hpp"

namespace fedsinkhorn {

/// Approximately D^-1/2 L D^-1/2 + damping, where L is the Laplacian of the graph. The same at all clients, provided
/// that their arithmetic rounds alike; if not, they may draw different edges, and conjugate gradients converge more
/// slowly.
class LaplacianFactor {
 public:
  /// edges: weights at positions j * columns + k, j < k. root_c: D^1/2; columns where it is 0 are on their own.
  LaplacianFactor(std::span<const SparseEntry> edges, std::span<const double> root_c, double damping);

  /// x = (the matrix)^-1 x.
  void solve(std::span<double> x) const;
  [[nodiscard]] std::size_t size() const { return spokes_.size(); }

 private:
  /// The step that eliminates a column: its edges at that time, divided by their total.
  struct Step {
    std::uint32_t column;
    std::size_t end;  // of its spokes; they begin where those of the step before end
    double total;
  };

  std::vector<double> root_c_;
  std::vector<Step> steps_;
  std::vector<Spoke> spokes_;
};

}  // namespace fedsinkhorn
