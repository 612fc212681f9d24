// Bounds on what a record can move: log-scalings are clipped before noise is added.
#pragma once

#include <cstddef>
#include <span>

#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// Scales vectors down to the norm S: every row of a slice (its numbers, one per target), or the slice as a whole.
/// Infinite numbers count as far larger than finite ones. Without a clip, numbers are cut off where exp overflows.
/// slice: targets x rows.
void clip(ClipKind kind, double most, std::size_t targets, std::span<double> slice);

}  // namespace fedsinkhorn
