// How fast an error falls, if it does.
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

  /// From the last sample until the error is at most that.
  [[nodiscard]] double until(double log_tolerance) const;
};

/// A straight line through the later half of the samples, by medians of the slopes of pairs (Theil and Sen), which a
/// few jumps do not bend. None if the slopes of most pairs differ too much, or there are too few: errors that stall,
/// rise or jump about have no trend.
[[nodiscard]] std::optional<ErrorTrend> error_trend(std::span<const ErrorSample> samples);

/// Samples of a long run, evenly spaced, a bounded number of them.
class ErrorHistory {
 public:
  /// Errors that are not positive and finite are left out.
  void add(double at, double error);
  void clear();
  [[nodiscard]] std::span<const ErrorSample> samples() const { return samples_; }

 private:
  std::vector<ErrorSample> samples_;
  double spacing_ = 0;
};

}  // namespace fedsinkhorn
