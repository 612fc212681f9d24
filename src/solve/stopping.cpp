#include "solve/stopping.hpp"

#include <utility>

namespace fedsinkhorn {
namespace {

template <class Difference>
double norm_of(Norm norm, std::size_t count, const Difference& difference) {
  double total = 0;
  switch (norm) {
    case Norm::l1:
      for (std::size_t i = 0; i < count; ++i) total += std::abs(difference(i));
      return total;
    case Norm::l2:
      for (std::size_t i = 0; i < count; ++i) total += difference(i) * difference(i);
      return std::sqrt(total);
    case Norm::linf: break;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double x = std::abs(difference(i));
    if (!(x <= total)) total = x;  // written so that a NaN gets through
    if (std::isnan(total)) return total;
  }
  return total;
}

}  // namespace

double marginal_error(Norm norm, const double* scaling, const double* product, const double* mass, std::size_t count) {
  // Where there is no mass the scaling is 0 and the product may be anything, infinite too.
  return norm_of(norm, count,
                 [=](std::size_t i) { return (scaling[i] == 0 ? 0.0 : scaling[i] * product[i]) - mass[i]; });
}

double marginal_error(Norm norm, const double* sums, const double* mass, std::size_t count) {
  return norm_of(norm, count, [=](std::size_t i) { return sums[i] - mass[i]; });
}

void Monitor::thin_out_trace() {
  for (std::size_t k = 1; 2 * k < trace_.size(); ++k) trace_[k] = trace_[2 * k];
  trace_.resize((trace_.size() + 1) / 2);
  trace_stride_ *= 2;
}

std::vector<TraceRow> Monitor::take_trace() {
  if (!trace_.empty() && trace_.back().iteration != last_row_.iteration) trace_.push_back(last_row_);
  return std::move(trace_);
}

void Monitor::record(std::int64_t iteration, double error_a, double error_b, std::size_t targets_left) {
  const double seconds = since_start_.seconds();
  if (iteration > last_row_.iteration) {
    last_row_ = {iteration, seconds, error_a, error_b};
    if (rows_seen_++ % trace_stride_ == 0) trace_.push_back(last_row_);
    if (trace_.size() == kMostTraceRows) thin_out_trace();
  }
  if (options_.on_check) {
    options_.on_check(
        {iteration, options_.max_iterations, seconds, error_a, error_b, options_.tolerance, targets_left});
  }
}

}  // namespace fedsinkhorn
