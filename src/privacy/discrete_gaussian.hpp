// The discrete Gaussian, exactly.
#pragma once

#include <cstdint>

#include "privacy/random_bits.hpp"

namespace fedsinkhorn {

/// Integers x with probability proportional to exp(-x^2 / (2 sigma^2)), drawn as Canonne, Kamath and Steinke (2020) do:
/// a discrete Laplace, rejected. There is no floating point, so no rounding to attack, and probabilities are exact, but
/// for the far tail: beyond 2^20 sigma, where less than exp(-2^38) of them lies, numbers may be left out. How long a
/// draw takes depends on what is drawn: who can time single draws learns something about them.
/// Immutable; threads may share it, each with its own bits.
class DiscreteGaussian {
 public:
  /// sigma = numerator / denominator. Throws std::invalid_argument unless 0 < sigma <= 2^40, and, with the fraction
  /// reduced, denominator <= 2^40 and (for what is no integer) numerator times denominator times the next integer above
  /// sigma <= 2^63: within that, all products fit into 128 bits.
  explicit DiscreteGaussian(std::uint64_t numerator, std::uint64_t denominator = 1);

  [[nodiscard]] std::int64_t operator()(RandomBits& random) const;

 private:
  /// |y| = u + t v, with u < t.
  struct Magnitude {
    std::uint64_t u;
    std::uint64_t v;
  };

  [[nodiscard]] Magnitude laplace_magnitude(RandomBits& random) const;
  [[nodiscard]] bool is_accepted(std::uint64_t magnitude, RandomBits& random) const;

  // The Laplace has the scale t = ceil(sigma). It is accepted with probability
  //   exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)) = exp(-((slope |y| - centre) / unit)^2 / 2).
  std::uint64_t t_;
  std::uint64_t unit_;
  Word slope_;
  Word centre_;
};

}  // namespace fedsinkhorn
