// Numbers at the ends of those that there are, and beyond.
#pragma once

#include <limits>

namespace fedsinkhorn::testing {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kLargest = std::numeric_limits<double>::max();
inline constexpr double kSmallest = std::numeric_limits<double>::denorm_min();  ///< above 0

}  // namespace fedsinkhorn::testing
