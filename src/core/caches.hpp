// How large the processor's caches are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fedsinkhorn {

struct Caches {
  std::size_t second = std::size_t{512} << 10U;  ///< bytes of a core's own second-level cache
  std::size_t last = std::size_t{8} << 20U;      ///< bytes of the largest cache, which cores share
  std::size_t line = 64;                         ///< bytes that are fetched together
};

/// The variable of the environment that says how large they are to be taken for: "512K" (the second level) or
/// "512K,32M" (and the last). Tests and benchmarks try other machines by it.
inline constexpr const char* kForcedCaches = "FEDSINKHORN_CACHES";

/// "512K,32M" as sizes; what it does not say is as in `otherwise`. Throws InputError.
[[nodiscard]] Caches parse_caches(std::string_view text, const Caches& otherwise);

/// Of this machine, as the system tells; what it does not tell is a cautious guess. Looked up once.
[[nodiscard]] const Caches& caches();

/// "1 MB second level, 32 MB last level".
[[nodiscard]] std::string describe(const Caches& caches);

}  // namespace fedsinkhorn
