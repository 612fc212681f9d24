#include "topology/exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fedsinkhorn {
namespace {

/// log(exp(x) + exp(y) + ...), element by element, over the members in their order.
void add_logs(std::span<const double> summands, std::span<double> sums) {
  constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
  const std::size_t members = sums.empty() ? 0 : summands.size() / sums.size();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double greatest = minus_infinity;
    for (std::size_t k = 0; k < members; ++k) greatest = std::max(greatest, summands[k * sums.size() + i]);
    double sum = 0;
    for (std::size_t k = 0; k < members; ++k) {
      const double term = summands[k * sums.size() + i];
      sum += std::isinf(term) && term < 0 ? 0 : std::exp(term - greatest);
    }
    sums[i] = greatest == minus_infinity ? minus_infinity : greatest + std::log(sum);
  }
}

}  // namespace

void Exchanges::row_logs_out(const double* part, double* own) {
  if (const auto summands = row_summands(Payload::potential, 1, part)) {
    add_logs(*summands, {own, rows().own.size()});
  } else {
    rows_out(Payload::potential, 1, part, own);
  }
}

void Exchanges::column_logs_out(const double* part, double* own) {
  if (const auto summands = column_summands(Payload::potential, 1, part)) {
    add_logs(*summands, {own, columns().own.size()});
  } else {
    columns_out(Payload::potential, 1, part, nullptr, own);
  }
}

}  // namespace fedsinkhorn
