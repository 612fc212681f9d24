// The linear system of a Newton step on the semi-dual.
//
// At a point x = v with u = a / K x the plan P = diag(u) K diag(x) has the rows a and some columns c. With D = diag(c)
// and B = diag(a)^-1/2 P D^-1/2, the semi-dual has the gradient b - c and the Hessian -D^1/2 (1 - B'B) D^1/2 in log v.
// 1 - B'B is the normalised Laplacian of a graph on the columns: its eigenvalues lie between 0 and 1, and sqrt(c) is
// an eigenvector with eigenvalue 0, since a factor can be moved between u and v.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "method/acceleration.hpp"

namespace fedsinkhorn {

/// Up to so many columns, or rows, the matrix is factorized; beyond, its products are used.
inline constexpr std::size_t kLargestDense = 1024;
/// So many numbers of K are copied at most, to be factorized over few rows.
inline constexpr std::size_t kMostCopied = std::size_t{1} << 24U;
/// So many numbers of K are sent at most, by all clients together: as many as the largest matrix over columns has.
inline constexpr std::size_t kMostSent = kLargestDense * (kLargestDense + 1) / 2;
/// Rows and columns of problems that are not worth the memory that a preconditioner takes, about 4 kB each.
inline constexpr std::size_t kMostLines = std::size_t{1} << 17U;

[[nodiscard]] inline double dot(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

/// B = diag(row_scale) K diag(column_scale), and its singular pair with value 1: B root_c = root_a. Own slices.
struct ScaledPlan {
  std::vector<double> row_scale, column_scale;
  std::vector<double> root_a, root_c;
};

/// Solves ((1 + damping) - B'B) y = h for h orthogonal to root_c; y is so too. All verbs are collective.
class NewtonSystem {
 public:
  virtual ~NewtonSystem() = default;
  NewtonSystem() = default;
  NewtonSystem(const NewtonSystem&) = delete;
  NewtonSystem& operator=(const NewtonSystem&) = delete;

  /// The plan must outlive the solves.
  virtual void assemble(KernelAccess& kernel, const ScaledPlan& plan) = 0;
  /// False, at all clients, if the matrix is singular to rounding: more damping is needed.
  [[nodiscard]] virtual bool solve(KernelAccess& kernel, double damping, std::span<const double> h,
                                   std::span<double> y) = 0;
  /// The plans to come have little to do with those before.
  virtual void forget() {}
  /// Products with B'B so far, each a pass over K and an exchange.
  [[nodiscard]] virtual std::int64_t products() const { return 0; }
};

/// Whether the matrix is factorized over the rows. Several clients do so where it has too many columns: each then gets
/// the rows of all.
[[nodiscard]] bool is_over_rows(const KernelAccess& kernel, std::size_t columns);

/// By a Cholesky factor of the whole matrix.
[[nodiscard]] std::unique_ptr<NewtonSystem> make_dense_system(int threads);

/// When conjugate gradients end: when r'z, the square of the residual in the preconditioner's norm, has fallen by this
/// factor (Newton's method gains little from more), or after so many products.
struct CgLimits {
  double decrease = 1e-4;
  int products = 60;
};

/// By conjugate gradients, preconditioned with the same matrix of a sparse plan.
[[nodiscard]] std::unique_ptr<NewtonSystem> make_cg_system(int threads, const CgLimits& limits = {});

/// By conjugate gradients, preconditioned with what earlier products have shown: nothing larger than a vector over the
/// columns is added up over clients, as is required of secure sums.
[[nodiscard]] std::unique_ptr<NewtonSystem> make_vector_system(int threads);

/// The fastest one that may be used for a plan of that size; the same at all clients. Collective.
[[nodiscard]] std::unique_ptr<NewtonSystem> make_newton_system(KernelAccess& kernel, const ScaledPlan& plan,
                                                               int threads);

}  // namespace fedsinkhorn
