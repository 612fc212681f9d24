// The problem:  min <P, C> + epsilon * sum P (log P - 1)  over P >= 0 with P 1 = a and P' 1 = b.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "fedsinkhorn/matrix.hpp"

namespace fedsinkhorn {

/// A cost for every pair. +inf forbids the pair; NaN and -inf are refused. Any offset and sign. In a star only the
/// server needs costs; other clients may leave the matrix empty.
struct CostMatrix {
  AnyMatrix matrix;  ///< n x m; with by_columns m x n
  /// If set, called as rows_done(first, count), from any thread, when those rows will not be read again soon. The owner
  /// of a mapped file can then release their pages. Not called with by_columns: a row then has no pages of its own.
  std::function<void(std::size_t, std::size_t)> rows_done{};
  /// The costs are stored column by column (Fortran order): row j of `matrix` is column j of C. Also with parts.rows,
  /// where the matrix is m x (this client's rows).
  bool by_columns = false;
};

/// The same, row-major in the memory of a CUDA device, by its number in this process. Work that others have queued to
/// write it must be done. `backend` cuda reads it in place if it computes on that device; where the host needs costs
/// (`backend` cpu, +inf among them), all of them are copied to its memory once.
struct DeviceCostMatrix {
  AnyMatrix matrix;  ///< n x m
  int device = 0;
};

/// sqeuclidean: |x - y|^2 (not halved). euclidean: |x - y|. cosine: 1 - x.y / (|x| |y|).
enum class Metric { sqeuclidean, euclidean, cosine };

/// Costs computed from two point clouds, the rows of x and y.
struct PointClouds {
  AnyMatrix x;  ///< n x d
  AnyMatrix y;  ///< m x d
  Metric metric = Metric::sqeuclidean;
};

/// Costs of one's own making, for what is neither a matrix in memory nor a distance of points. They are asked for from
/// several threads at once, in any order and again and again, and must be the same numbers every time. What holds for
/// the entries of a CostMatrix holds for them.
class CostFunction {
 public:
  virtual ~CostFunction() = default;
  CostFunction() = default;
  CostFunction(const CostFunction&) = delete;
  CostFunction& operator=(const CostFunction&) = delete;

  // Must not throw.
  [[nodiscard]] virtual std::size_t rows() const = 0;     ///< n, or those of this client's part
  [[nodiscard]] virtual std::size_t columns() const = 0;  ///< m
  /// out[j] = C(row, first + j), row < rows(), first + out.size() <= columns(). If it throws, the solve ends on all
  /// clients.
  virtual void fill(std::size_t row, std::size_t first, std::span<double> out) const = 0;
};

using Cost = std::variant<CostMatrix, PointClouds, std::shared_ptr<const CostFunction>, DeviceCostMatrix>;

/// The names of the inputs in error messages; the command line puts file names here.
struct InputNames {
  std::string cost = "cost";
  std::string x = "points x";
  std::string y = "points y";
  std::string a = "a";
  std::string b = "b";
  std::string epsilon = "epsilon";
  std::string initial_g = "initial g";
};

/// Which inputs are only this client's part (true) rather than the whole (false). The whole is the parts in the order
/// of the clients.
struct Parts {
  bool rows = false;     ///< the rows of the cost matrix, or the points x
  bool columns = false;  ///< the points y: every client learns all of them
  bool a = false;
  bool b = false;
  bool initial_g = false;
};

/// Views only: the caller keeps the data alive until solve() returns.
struct Problem {
  Cost cost;
  double epsilon = 0;            ///< absolute, in units of the cost; must be positive
  std::span<const double> a{};   ///< n masses; empty means uniform with total 1
  MatrixView<double> b{};        ///< m x N masses, one column per target; empty means one uniform target with total 1
  double mass_tolerance = 1e-8;  ///< relative difference of the totals of a and b attributed to rounding
  /// Warm start: the potential g to start from, in units of the cost: m x N, or m x 1 for all targets; empty means
  /// none. Values are finite, or -inf where b has no mass, so the g of one solve can start the next.
  MatrixView<double> initial_g{};
  InputNames names{};
  Parts parts{};
};

}  // namespace fedsinkhorn
