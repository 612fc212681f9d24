#include "topology/exchanges.hpp"

#include "core/log_of_sum.hpp"

namespace fedsinkhorn {
namespace {

/// Element by element, over the members in their order.
void add_logs(std::span<const double> summands, std::span<double> sums) {
  const std::size_t members = sums.empty() ? 0 : summands.size() / sums.size();
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = log_of_sum(summands.data() + i, members, sums.size());
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
