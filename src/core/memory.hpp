// How much memory is available, to check before allocating.
#pragma once

#include <cstdint>
#include <string>

namespace fedsinkhorn {

/// Bytes this process may still allocate without swapping or being killed: the smallest of what the kernel reports as
/// available, what the control group allows, and what the address-space limit (ulimit -v) leaves.
[[nodiscard]] std::uint64_t available_memory();

/// Bytes of memory in this machine.
[[nodiscard]] std::uint64_t total_memory();

/// The largest resident set of this process so far, in bytes; 0 if unknown.
[[nodiscard]] std::uint64_t peak_memory();

/// The resident set of this process now, in bytes; 0 if unknown. Before any problem is read: what a process needs
/// anyway.
[[nodiscard]] double process_bytes_now();

/// From now on peak_memory() counts anew, from what is resident now. Does nothing where the system does not allow it.
void forget_peak_memory();

/// "12.8 GB": decimal units, three digits.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

}  // namespace fedsinkhorn
