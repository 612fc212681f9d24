// Judges of what an attacker got, and of bytes that should tell nothing.
#pragma once

#include <cstddef>
#include <span>

namespace fedsinkhorn::testing {

/// Root mean square of the differences.
[[nodiscard]] double error_of_estimate(std::span<const double> estimate, std::span<const double> truth);

/// Whether the estimate says something about the truth: its error is so far below that of the best constant guess, the
/// mean of the truth, that an unrelated estimate gets there less than about once in 1e9 cases. The bar depends on the
/// size: 0.57 of the guess's error for 30 numbers, 0.14 for 8. Fewer than 5 numbers prove nothing: always false. So do
/// estimates of another size (an attacker that came back with nothing) or with numbers that are not finite.
[[nodiscard]] bool better_than_a_guess(std::span<const double> estimate, std::span<const double> truth);

/// Whether the bytes could be uniformly random. Looks at how often each byte comes up, at the number of ones (in all,
/// and at each place of a 16-byte word) and at how often bits agree with those 1, 8, 64 and 128 bits later. Rejects
/// uniform bytes less than once in 1e9 cases. Short messages cannot be told apart: below about 1 KB only gross patterns
/// are seen, below 8 bytes none, so join the messages of a run.
[[nodiscard]] bool looks_uniform(std::span<const std::byte> bytes);

}  // namespace fedsinkhorn::testing
