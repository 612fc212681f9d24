// How rounds are accelerated, if they are.
#pragma once

#include <cstddef>

#include "fedsinkhorn/options.hpp"
#include "method/acceleration.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

struct Pacing {
  const MethodEntry& method;
  std::size_t memory = 0;
  std::size_t most_memory = 0;
  const cpu::SumOps& ops = cpu::simd("auto").sums;
  bool is_alone_on_device = false;  ///< rounds are made by a device, without the host
};

/// Differences kept per target. Every holder of v needs memory for that many vectors.
[[nodiscard]] inline std::size_t differences_kept(const Options& options, std::size_t targets) {
  if (options.history > 0) return options.history;
  if (targets <= 8) return 24;
  return targets <= 64 ? 8 : 4;
}

/// The same where they turn out to be too few.
[[nodiscard]] inline std::size_t most_differences_kept(const Options& options, std::size_t targets) {
  constexpr std::size_t most = 64;
  return options.history > 0 || targets > 8 ? differences_kept(options, targets) : most;
}

}  // namespace fedsinkhorn
