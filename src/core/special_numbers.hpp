#pragma once

#include <limits>

namespace fedsinkhorn {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Stands for a value that nobody computed.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace fedsinkhorn
