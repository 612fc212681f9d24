// A problem given by its cost matrix in memory, which is what most users have.
#pragma once

#include <filesystem>
#include <span>

#include "core/buffer.hpp"
#include "fedsinkhorn/problem.hpp"
#include "instance.hpp"

namespace fedsinkhorn::bench {

/// Uniform points in a square and their squared distances, the largest of which is 1. Problems point into it.
class MatrixProblem {
 public:
  MatrixProblem(std::size_t n, std::size_t m, int threads);
  MatrixProblem(const MatrixProblem&) = delete;
  MatrixProblem& operator=(const MatrixProblem&) = delete;

  [[nodiscard]] Problem problem(double epsilon) const;
  /// The costs, padded to a whole cache line.
  [[nodiscard]] std::span<const double> memory() const { return cost_.span(); }

  /// X, Y, a and b as files, the two sides exchanged: others begin with v where we begin with u, and this way all make
  /// the same iterations.
  void write_exchanged(const std::filesystem::path& folder) const;

 private:
  Points points_;
  Buffer<double> cost_;
};

}  // namespace fedsinkhorn::bench
