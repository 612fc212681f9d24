// Sums of numbers that are given by their logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace fedsinkhorn {

/// log(exp(x_0) + exp(x_1) + ...), the terms `stride` apart; -inf if all are -inf.
[[nodiscard]] inline double log_of_sum(const double* terms, std::size_t count, std::size_t stride) {
  constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
  double greatest = minus_infinity;
  for (std::size_t k = 0; k < count; ++k) greatest = std::max(greatest, terms[k * stride]);
  if (greatest == minus_infinity) return greatest;
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double term = terms[k * stride];
    sum += term == minus_infinity ? 0 : std::exp(term - greatest);
  }
  return greatest + std::log(sum);
}

}  // namespace fedsinkhorn
