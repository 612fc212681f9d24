// The Gibbs kernel as an operator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/range.hpp"
#include "core/stop_request.hpp"
#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// K_ij = exp((phi_i + psi_j - C_ij) / epsilon) for absorbed potentials phi, psi. Vectors of several targets lie one
/// target after the other: v is targets x columns, u, q targets x rows. How K is held is the kernel's own business; all
/// verbs take and give float64. Verbs of one object must not run at the same time (they share scratch memory).
class Kernel {
 public:
  virtual ~Kernel() = default;
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  [[nodiscard]] virtual std::size_t rows() const = 0;
  [[nodiscard]] virtual std::size_t columns() const = 0;

  /// From the next absorb on.
  virtual void set_epsilon(double epsilon) = 0;
  /// Puts new potentials in. They are kept.
  virtual void absorb(std::span<const double> phi, std::span<const double> psi) = 0;
  /// The same where phi is not known yet: phi_i = -max_j (psi_j - C_ij), rounded to a multiple of grid, so that the
  /// largest entry of a row is about 1. It is found by the pass that follows, fused().
  virtual void open(std::span<const double> /*psi*/, double /*grid*/) {}
  /// Whether it can do that.
  [[nodiscard]] virtual bool can_open() const { return false; }
  /// That phi, once the pass is over.
  [[nodiscard]] virtual std::span<const double> opened() const { return {}; }

  /// q = K v. Each element is summed in a fixed order.
  virtual void apply(std::size_t targets, const double* v, double* q) = 0;
  /// r = K' u. Each element is summed over the rows in order.
  virtual void apply_transposed(std::size_t targets, const double* u, double* r) = 0;
  /// The same in pieces, rows in ascending order without gaps, as their u becomes known: the bits are those of the
  /// whole. u: targets x rows.size(). A kernel that has no way of its own puts the pieces together first.
  virtual void begin_transposed(std::size_t targets) { pieces_.resize(targets * rows()); }
  virtual void add_transposed(std::size_t targets, Range some, const double* u) {
    for (std::size_t k = 0; k < targets; ++k) {
      std::copy_n(u + k * some.size(), some.size(), pieces_.data() + k * rows() + some.first);
    }
  }
  virtual void end_transposed(std::size_t targets, double* r) { apply_transposed(targets, pieces_.data(), r); }
  /// q = K v, u = a / q, r = K' u, in a single pass over the rows of K if it can.
  virtual void fused(std::size_t targets, const double* a, const double* v, double* q, double* u, double* r) {
    apply(targets, v, q);
    for (std::size_t i = 0; i < targets * rows(); ++i) u[i] = a[i % rows()] / q[i];
    apply_transposed(targets, u, r);
  }

  /// q = K v and r = K' u, in a single pass if it can.
  virtual void products(std::size_t targets, const double* u, const double* v, double* q, double* r) {
    apply(targets, v, q);
    apply_transposed(targets, u, r);
  }

  /// How it has come to go over its rows, in words; empty where it has no choice.
  [[nodiscard]] virtual std::string pass_plan() const { return {}; }

 private:
  std::vector<double> pieces_;
};

/// Largest ratio u/a or v/b the stored precision can take before potentials must be absorbed anew: entries lost to
/// underflow stay negligible even when multiplied by two such ratios.
[[nodiscard]] constexpr double safe_scaling(Precision precision) {
  // The smallest stored values are 2e-300 and 2e-38. Relative to the sums they belong to, which are of order one, what
  // underflow loses is at most that times the square of this bound: 2e-100, and 2e-8, less than float32 rounds away.
  // bfloat16 has the range of float32.
  return is_reduced(precision) ? 1e15 : 1e100;
}

struct KernelSpec {
  Precision precision = Precision::float64;
  double epsilon = 1;
  int threads = 1;
  /// Looked at between blocks of rows: when it is made, what a verb gives is NaN, and K is no longer to be used.
  const StopRequest* stop = nullptr;
};

}  // namespace fedsinkhorn
