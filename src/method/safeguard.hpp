// When steps that are checked by the dual value count, and how often they may fail.
#pragma once

#include <cstdint>

namespace fedsinkhorn {

/// Rounding error of the dual value, relative to the mass.
inline constexpr double kDualRounding = 1e-12;
/// Rejected rounds may not outnumber the accepted ones by more than this.
inline constexpr std::int64_t kRejectionsForFree = 10;

}  // namespace fedsinkhorn
