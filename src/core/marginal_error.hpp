// Norms of marginal errors, and parts of them that clients can add up.
#pragma once

#include <cmath>
#include <cstddef>

#include "core/exact_sum.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// The contribution of some entries to a norm: the sum of |x|, of x^2, or the largest |x|.
using ErrorPart = ExactSum;

/// Of scaling * product - mass; NaN if any of them is.
[[nodiscard]] ErrorPart error_part(Norm norm, const double* scaling, const double* product, const double* mass,
                                   std::size_t count);
/// Of sums - mass.
[[nodiscard]] ErrorPart error_part(Norm norm, const double* sums, const double* mass, std::size_t count);

/// Both parts together.
[[nodiscard]] ErrorPart combined(Norm norm, const ErrorPart& x, const ErrorPart& y);

/// The norm, from all parts combined.
[[nodiscard]] double error_of(Norm norm, const ErrorPart& all);

/// Whether a line is off by next to nothing of the total, but by some of its own mass. Where masses are tiny, runs
/// converge with such rows: the last half-step of v has moved them. One more half-step of u makes them right, and no
/// column notices.
[[nodiscard]] inline bool is_left_behind(double sum, double mass, double total) {
  constexpr double kNothing = 1e-15;
  constexpr double kSome = 1e-6;
  const double error = std::abs(sum - mass);
  return error <= kNothing * total && error > kSome * mass;
}

/// The larger of two errors; a NaN is worse than any number.
[[nodiscard]] inline double worse(double x, double y) { return x >= y || std::isnan(x) ? x : y; }

}  // namespace fedsinkhorn
