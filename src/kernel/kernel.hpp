// The Gibbs kernel as an operator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/half_step.hpp"
#include "core/stop_request.hpp"
#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// K_ij = exp((phi_i + psi_j - C_ij) / epsilon) for absorbed potentials phi, psi. Vectors of several targets are stored
/// one target after the other: v is targets x columns, u and q are targets x rows. How K is stored is up to the kernel;
/// all verbs take and return float64. Verbs of one object must not run concurrently (they share scratch memory).
class Kernel {
 public:
  virtual ~Kernel() = default;
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  [[nodiscard]] virtual std::size_t rows() const = 0;
  [[nodiscard]] virtual std::size_t columns() const = 0;

  /// Takes effect at the next absorb.
  virtual void set_epsilon(double epsilon) = 0;
  /// Sets new potentials and keeps them.
  virtual void absorb(std::span<const double> phi, std::span<const double> psi) = 0;
  /// Like absorb, but phi is not known yet: phi_i = -max_j (psi_j - C_ij), rounded to a multiple of grid, so that the
  /// largest entry of a row is about 1. The next pass, fused(), finds it.
  virtual void open(std::span<const double> /*psi*/, double /*grid*/) {}
  /// Whether it can do that.
  [[nodiscard]] virtual bool can_open() const { return false; }
  /// That phi, after the pass.
  [[nodiscard]] virtual std::span<const double> opened() const { return {}; }

  /// q = K v. Each element is summed in a fixed order.
  virtual void apply(std::size_t targets, const double* v, double* q) = 0;
  /// r = K' u. Each element is summed over the rows in order.
  virtual void apply_transposed(std::size_t targets, const double* u, double* r) = 0;
  /// q = K v, u = a / q, r = K' u, in a single pass over the rows of K if it can.
  virtual void fused(std::size_t targets, const HalfStep& row_step, const double* v, double* q, double* u, double* r) {
    apply(targets, v, q);
    for (std::size_t k = 0; k < targets; ++k) row_step.scale({q + k * rows(), rows()}, {u + k * rows(), rows()});
    apply_transposed(targets, u, r);
  }

  /// q = K v and r = K' u, in a single pass if possible.
  virtual void products(std::size_t targets, const double* u, const double* v, double* q, double* r) {
    apply(targets, v, q);
    apply_transposed(targets, u, r);
  }

  /// r = K' (w . (K y)), one target, in a single pass if possible.
  virtual void weighted(const double* w, const double* y, double* r) {
    std::vector<double> q(rows());
    apply(1, y, q.data());
    for (std::size_t i = 0; i < q.size(); ++i) q[i] *= w[i];
    apply_transposed(1, q.data(), r);
  }
  /// Rows [first, first + count) of K in float64, one after the other. By default one pass over K for each.
  virtual void copy_rows(std::size_t first, std::size_t count, double* to) {
    std::vector<double> unit(rows());
    for (std::size_t i = first; i < first + count; ++i) {
      unit[i] = 1;
      apply_transposed(1, unit.data(), to + (i - first) * columns());
      unit[i] = 0;
    }
  }

  /// Describes how it goes over its rows; empty if it has no choice.
  [[nodiscard]] virtual std::string pass_plan() const { return {}; }
};

/// Largest ratio u/a or v/b that the stored precision allows before potentials must be absorbed again: entries lost to
/// underflow stay negligible even when multiplied by two such ratios.
[[nodiscard]] constexpr double safe_scaling(Precision precision) {
  // The smallest stored values are 2e-300 and 2e-38. Relative to the sums they belong to, which are of order one,
  // underflow loses at most that times the square of this bound: 2e-100, and 2e-8, less than the rounding of float32.
  // bfloat16 has the range of float32.
  return is_reduced(precision) ? 1e15 : 1e100;
}

/// Lines with less than this share of the mass are iterated as if they had it. In reduced precision: a kernel of 1e38
/// to 1e-38, the density of the plan, cannot hold what passes between lines of tiny masses; nor can scalings of as
/// many.
[[nodiscard]] constexpr double least_share(Precision precision) {
  // Entries are at most the inverse of this, and scalings at least this times the inverse of the bound above.
  return is_reduced(precision) ? 1e-20 : 0;
}

/// Whether products with the kernel are rounded to float32, anew in every round. With mixed they are not: there the
/// kernel that is stored is exact, as far as rounds can tell.
[[nodiscard]] constexpr bool has_coarse_products(Precision precision) {
  return is_reduced(precision) && precision != Precision::mixed;
}

struct KernelSpec {
  Precision precision = Precision::float64;
  double epsilon = 1;
  int threads = 1;
  /// Checked between blocks of rows. Once the request is made, verbs return NaN and K must not be used any more.
  const StopRequest* stop = nullptr;
};

}  // namespace fedsinkhorn
