// What the machine itself can do: the floors that figures are held against, measured in the same run.
#pragma once

#include <cstddef>
#include <span>

#include "simd/simd.hpp"

namespace fedsinkhorn::bench {

/// Reads it all once, in pieces like those of a pass over a kernel.
void read_once(const cpu::Simd& simd, std::span<const double> memory, int threads);

/// At least so many exponentials of numbers in the first-level cache.
void exponentials(const cpu::Simd& simd, std::size_t count, int threads);

/// Seconds to allocate as the solver does and to write every byte once, page faults included. Releasing is not counted.
[[nodiscard]] double fresh_write_seconds(std::size_t bytes, int threads);

}  // namespace fedsinkhorn::bench
