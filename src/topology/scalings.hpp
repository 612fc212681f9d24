// Properties of scalings after half-steps, element by element.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace fedsinkhorn {

struct Extremes {
  double least = std::numeric_limits<double>::infinity();
  double greatest = 0;
  bool usable = true;  ///< all are finite and have all their digits
};

/// Of a scaling or a product where there is mass. Below the least normal number digits are lost, then the number
/// itself.
[[nodiscard]] inline bool is_usable(double x) {
  return x >= std::numeric_limits<double>::min() && x < std::numeric_limits<double>::infinity();
}

/// Over the entries with positive mass.
[[nodiscard]] inline Extremes extremes(std::span<const double> values, const double* mass) {
  Extremes result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = mass[i] > 0 ? values[i] : 1.0;
    result.least = std::min(result.least, x);
    result.greatest = std::max(result.greatest, x);
    result.usable &= is_usable(x);
  }
  return result;
}

/// Of a nonzero scaling.
[[nodiscard]] inline double relative_change(double before, double after) { return std::abs(after / before - 1); }

/// Whether 1/products, the ratio of scalings to masses, is outside the safe range, or unusable.
struct Judgement {
  bool usable = true;
  bool stretched = false;
};

/// scalings = masses / products.
[[nodiscard]] inline Judgement judge_scalings(std::span<const double> products, std::span<const double> scalings,
                                              const double* masses, double safe_scaling) {
  const Extremes seen = extremes(products, masses);
  // Tiny masses, or a jump in q, can push u = a / q out of the range of a double although q itself is within it.
  return {seen.usable && extremes(scalings, masses).usable,
          seen.greatest > safe_scaling || seen.least < 1 / safe_scaling};
}

}  // namespace fedsinkhorn
