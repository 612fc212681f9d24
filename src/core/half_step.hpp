// Half an iteration: from the products with the other side to this side's scalings.
//
//   u = a / q,  q = K v            v = b / r,  r = K' u
//
// Every half-step uses this: the loop, local steps, async, the log-domain reference, 50 digits and device kernels.
// All take the rule from CheckedProblem::rule; device kernels, which know the balanced one alone, refuse to compile
// with another.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "core/host_device.hpp"
#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// From a mass and a product to a scaling. A plain value, so that device kernels can take it as an argument.
struct ScalingRule {
  /// The scaling that gives a row or column its mass. Without mass it is 0, whatever the product.
  template <class Real>
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE Real scaling(const Real& mass, const Real& product) const {
    return mass > 0 ? Real(mass / product) : Real(0);
  }
  /// epsilon log(scaling), given the logarithm of the product.
  [[nodiscard]] double potential(double epsilon, double mass, double log_product) const {
    return mass > 0 ? epsilon * (std::log(mass) - log_product) : -std::numeric_limits<double>::infinity();
  }
  /// epsilon log(scaling / mass), given the logarithm of the product.
  [[nodiscard]] double relative_potential(double epsilon, double log_product) const { return -epsilon * log_product; }
};

/// One side of one target, as held by one client.
struct HalfStep {
  std::span<const double> masses{};
  ScalingRule rule{};
  double relaxation = 1;  ///< omega: before^(1-omega) next^omega
  double damping = 1;     ///< eta, see DampingKind
  DampingKind damping_kind = DampingKind::geometric;

  /// next = masses / products.
  void scale(std::span<const double> products, std::span<double> next) const {
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = rule.scaling(masses[i], products[i]);
  }
  /// Applies relaxation and damping to the step from `before` to `next`.
  void shorten(std::span<const double> before, std::span<double> next) const {
    if (relaxation != 1) relax(before, next);
    if (damping != 1) damp(before, next);
  }

 private:
  void relax(std::span<const double> before, std::span<double> next) const {
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (before[i] > 0) next[i] = before[i] * std::pow(next[i] / before[i], relaxation);
    }
  }
  void damp(std::span<const double> before, std::span<double> next) const {
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (!(next[i] > 0)) continue;  // no mass
      switch (damping_kind) {
        case DampingKind::arithmetic: next[i] = (1 - damping) * before[i] + damping * next[i]; break;
        case DampingKind::geometric: next[i] = before[i] * std::exp(damping * std::log(next[i] / before[i])); break;
      }
    }
  }
};

}  // namespace fedsinkhorn
