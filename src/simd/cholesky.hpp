// Dense symmetric positive definite systems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fedsinkhorn::cpu {

/// Rows without their zeros: row i has the entries [starts[i], starts[i + 1]), columns ascending.
struct SparseRows {
  std::vector<std::size_t> starts{0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
};

/// A symmetric matrix of which only the lower triangle counts, row by row. Work is cut into tiles, always the same
/// ones: results do not depend on the number of threads.
class SymmetricMatrix {
 public:
  explicit SymmetricMatrix(std::size_t size) : size_(size), entries_(size * size) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double* row(std::size_t i) { return entries_.data() + i * size_; }
  [[nodiscard]] const double* row(std::size_t i) const { return entries_.data() + i * size_; }

  /// Adds B' B, where B has `count` rows of size() numbers. Fast where most of them are 0.
  void add_gram(const double* rows, std::size_t count, int threads);
  /// Becomes B B', where B has size() rows of `length` numbers.
  void set_products_of_rows(const double* rows, std::size_t length, int threads);
  /// The lower triangle, row by row: what clients add up.
  [[nodiscard]] std::vector<double> triangle() const;
  void set_triangle(std::span<const double> triangle);

  /// Replaces the matrix by its Cholesky factor. False if it is not positive definite, to rounding; its entries are
  /// then undefined.
  [[nodiscard]] bool factorize(int threads);
  /// After factorize(): x = (the matrix before)^-1 x.
  void solve(std::span<double> x) const;

 private:
  void add_dense_gram(const double* rows, std::size_t count, int threads);
  void add_sparse_gram(const SparseRows& rows, int threads);

  std::size_t size_;
  std::vector<double> entries_;
};

}  // namespace fedsinkhorn::cpu
