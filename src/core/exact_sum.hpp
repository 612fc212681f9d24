// Sums that do not depend on the order of their terms: about 32 digits are carried, 16 are shown. So clients that add
// up their parts get the same sum as a single client.
#pragma once

#include <cmath>

namespace fedsinkhorn {

struct ExactSum {
  double value = 0;
  double rest = 0;  ///< what rounding left out of value

  void add(double x) {
    // Knuth's two-sum: sum + error is value + x exactly.
    const double sum = value + x;
    const double x_part = sum - value;
    rest += (value - (sum - x_part)) + (x - x_part);
    value = sum;
  }
  void add(const ExactSum& other) {
    add(other.value);
    rest += other.rest;
  }
  /// Infinities and NaN are as in plain summation.
  [[nodiscard]] double total() const { return std::isfinite(value) ? value + rest : value; }
};

}  // namespace fedsinkhorn
