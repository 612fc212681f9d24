// Whether a client that hears nothing of the others should take one more step.
#pragma once

#include <algorithm>

namespace fedsinkhorn {

/// Steps on a client's own slices alone come to rest where these fit those of the others as last heard. That is not the
/// solution, and to get closer to it than to the solution is not worth a step.
class LocalProgress {
 public:
  /// change: what the last step made. Returns whether another one is worth making.
  [[nodiscard]] bool goes_on(double change) {
    first_ = std::max(first_, change);
    return change > kWorthwhile * first_;
  }

 private:
  static constexpr double kWorthwhile = 0.1;
  double first_ = 0;
};

}  // namespace fedsinkhorn
