// Gaussian noise on a grid: values and noise are integers, so that no digit of a sum tells them apart.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "comm/ring.hpp"
#include "privacy/discrete_gaussian.hpp"

namespace fedsinkhorn {

/// A power of two at least 2^30 times finer than the noise: sums of such noise are discrete Gaussians but for a share
/// of exp(-2 pi^2 2^60).
class GridNoise {
 public:
  /// sigma: standard deviation asked for, above 0; the noise has it or up to 2^-30 of it more.
  explicit GridNoise(double sigma)
      : exponent_(std::ilogb(sigma) - kDigits),
        units_(static_cast<std::uint64_t>(std::ceil(std::ldexp(sigma, -exponent_)))),
        gaussian_(units_) {}

  [[nodiscard]] double grid() const { return std::ldexp(1.0, exponent_); }
  [[nodiscard]] double sigma() const { return std::ldexp(static_cast<double>(units_), exponent_); }

  /// The value, rounded to the grid, plus noise, in units of the grid. |value| < 2^90 sigma.
  [[nodiscard]] SignedWord blur(double value, RandomBits& random) const {
    return static_cast<SignedWord>(std::nearbyint(std::ldexp(value, -exponent_))) + gaussian_(random);
  }
  /// Back to numbers; rounded to a double, which is computed from what is released anyway.
  [[nodiscard]] double number(SignedWord units) const { return std::ldexp(static_cast<double>(units), exponent_); }
  /// How far rounding can move two vectors of so many numbers apart, beyond their own distance.
  [[nodiscard]] double rounding(std::size_t numbers) const { return std::sqrt(static_cast<double>(numbers)) * grid(); }

  /// Noise calibrated to a sensitivity, and a little more that makes up for this rounding.
  [[nodiscard]] static double with_room(double sigma, double sensitivity, std::size_t numbers) {
    const double share = std::sqrt(static_cast<double>(numbers)) * std::ldexp(1.0, -kDigits) * (sigma / sensitivity);
    return share < 1 ? sigma / (1 - share) : std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr int kDigits = 30;
  int exponent_;
  std::uint64_t units_;
  DiscreteGaussian gaussian_;
};

}  // namespace fedsinkhorn
