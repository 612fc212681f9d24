// How much memory there is, asked before it is needed.
#pragma once

#include <cstdint>
#include <string>

namespace fedsinkhorn {

/// Bytes this process may still allocate without swapping or being killed: the least of what the kernel calls
/// available, what the control group allows, and what the address-space limit (ulimit -v) leaves.
[[nodiscard]] std::uint64_t available_memory();

/// Bytes of memory of this machine.
[[nodiscard]] std::uint64_t total_memory();

/// The largest resident set this process has had, in bytes; 0 if the system does not say.
[[nodiscard]] std::uint64_t peak_memory();

/// "12.8 GB": decimal units, three digits.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

}  // namespace fedsinkhorn
