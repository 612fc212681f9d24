// T = alpha + beta B through measured points.
#pragma once

#include <span>

namespace fedsinkhorn {

struct TimedBytes {
  double bytes = 0;
  double seconds = 0;
};

struct LineFit {
  double alpha = 0;
  double beta = 0;
  double r_squared = 1;    ///< weighted as the fit is
  double alpha_error = 0;  ///< half of the 95 % confidence interval
  double beta_error = 0;
};

/// Least squares of relative errors, so that small messages count as much as large ones. Points far from the line lose
/// their weight (Tukey's bisquare): another process of the machine costs a sample, not the fit. alpha and beta are not
/// negative. There must be a point at least.
[[nodiscard]] LineFit fit_line(std::span<const TimedBytes> points);

}  // namespace fedsinkhorn
