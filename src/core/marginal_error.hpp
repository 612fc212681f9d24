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

/// The larger of two errors; a NaN is worse than any number.
[[nodiscard]] inline double worse(double x, double y) { return x >= y || std::isnan(x) ? x : y; }

}  // namespace fedsinkhorn
