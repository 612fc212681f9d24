// Whether a client should take one more step without news from the others.
#pragma once

#include <algorithm>

namespace fedsinkhorn {

/// Local steps converge to slices that fit those last received from the others. That is not the solution, so getting
/// closer to it than it is to the solution is not worth a step.
class LocalProgress {
 public:
  /// change: made by the last step. Returns whether another step is worthwhile.
  [[nodiscard]] bool goes_on(double change) {
    first_ = std::max(first_, change);
    return change > kWorthwhile * first_;
  }

 private:
  static constexpr double kWorthwhile = 0.1;
  double first_ = 0;
};

}  // namespace fedsinkhorn
