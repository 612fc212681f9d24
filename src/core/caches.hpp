// How large the processor's caches are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fedsinkhorn {

struct Caches {
  std::size_t second = std::size_t{512} << 10U;  ///< second-level cache of one core, in bytes
  std::size_t last = std::size_t{8} << 20U;      ///< largest cache, shared by cores, in bytes
  std::size_t line = 64;                         ///< bytes fetched together
};

/// The environment variable that overrides the sizes: "512K" (second level) or "512K,32M" (second and last). Tests and
/// benchmarks use it to imitate other machines.
inline constexpr const char* kForcedCaches = "FEDSINKHORN_CACHES";

/// Parses "512K,32M"; sizes not given are taken from `otherwise`. Throws InputError.
[[nodiscard]] Caches parse_caches(std::string_view text, const Caches& otherwise);

/// Of this machine, as reported by the system, or a cautious guess. Looked up once.
[[nodiscard]] const Caches& caches();

/// "1 MB second level, 32 MB last level".
[[nodiscard]] std::string describe(const Caches& caches);

}  // namespace fedsinkhorn
