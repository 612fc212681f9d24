// The rate at which an error decreases.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace fedsinkhorn {

struct ErrorSample {
  double at = 0;  ///< seconds or iterations, ascending
  double log_error = 0;
};

/// log error = level - rate * at, for `at` near the last sample.
struct ErrorTrend {
  double rate = 0;       ///< positive
  double log_error = 0;  ///< of the line at the last sample

  /// From the last sample until the error is at most the tolerance.
  [[nodiscard]] double until(double log_tolerance) const;
};

/// Fits a line to the later half of the samples by the median slope of pairs (Theil-Sen), which is robust to a few
/// jumps. None if there are too few pairs or most slopes differ too much: errors that stall, rise or jump about have no
/// trend.
[[nodiscard]] std::optional<ErrorTrend> error_trend(std::span<const ErrorSample> samples);

/// A bounded number of evenly spaced samples of a long run.
class ErrorHistory {
 public:
  /// Ignores errors that are not positive and finite.
  void add(double at, double error);
  void clear();
  [[nodiscard]] std::span<const ErrorSample> samples() const { return samples_; }

 private:
  std::vector<ErrorSample> samples_;
  double spacing_ = 0;
};

}  // namespace fedsinkhorn
