// Products and sums of sizes from outside: flags, files, other clients. Unsigned arithmetic wraps silently, so such
// sizes are computed here, with a check.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>

namespace fedsinkhorn {

/// Nothing if it does not fit.
[[nodiscard]] constexpr std::optional<std::size_t> product_of(std::initializer_list<std::size_t> factors) {
  std::size_t product = 1;
  bool fits = true;
  for (const std::size_t factor : factors) {
    if (factor == 0) return 0;
    fits = fits && product <= std::numeric_limits<std::size_t>::max() / factor;
    if (fits) product *= factor;
  }
  return fits ? std::optional(product) : std::nullopt;
}

/// Nothing if it does not fit.
[[nodiscard]] constexpr std::optional<std::size_t> sum_of(std::initializer_list<std::size_t> terms) {
  std::size_t sum = 0;
  for (const std::size_t term : terms) {
    if (term > std::numeric_limits<std::size_t>::max() - sum) return std::nullopt;
    sum += term;
  }
  return sum;
}

}  // namespace fedsinkhorn
