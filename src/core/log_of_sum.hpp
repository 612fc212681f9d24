// Sums of numbers that are given by their logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "core/exact_sum.hpp"

namespace fedsinkhorn {

/// Terms are added relative to exp(kLogWindow w), with w the greatest whole number for which the largest term is not
/// below that. Clients can agree on w without telling their terms, so sums are the same whether they do or not.
inline constexpr double kLogWindow = 512;

/// log(exp(x_0) + exp(x_1) + ...), the terms `stride` apart; -inf if all are -inf.
[[nodiscard]] inline double log_of_sum(const double* terms, std::size_t count, std::size_t stride) {
  if (count == 1) return terms[0];
  double greatest = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < count; ++k) greatest = std::max(greatest, terms[k * stride]);
  if (!std::isfinite(greatest)) return greatest;
  const double window = kLogWindow * std::floor(greatest / kLogWindow);
  ExactSum sum;
  for (std::size_t k = 0; k < count; ++k) sum.add(std::exp(terms[k * stride] - window));
  return window + std::log(sum.total());
}

}  // namespace fedsinkhorn
