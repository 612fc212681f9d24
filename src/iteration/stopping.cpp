#include "iteration/stopping.hpp"

#include <utility>

namespace fedsinkhorn {

void Monitor::thin_out_trace() {
  for (std::size_t k = 1; 2 * k < trace_.size(); ++k) trace_[k] = trace_[2 * k];
  trace_.resize((trace_.size() + 1) / 2);
  trace_stride_ *= 2;
}

std::vector<TraceRow> Monitor::take_trace() {
  if (!trace_.empty() && trace_.back().iteration != last_row_.iteration) trace_.push_back(last_row_);
  return std::move(trace_);
}

void Monitor::forget_after(std::int64_t iteration) {
  if (last_row_.iteration <= iteration) return;
  while (!trace_.empty() && trace_.back().iteration > iteration) trace_.pop_back();
  last_row_ = trace_.empty() ? TraceRow{} : trace_.back();
}

void Monitor::record(std::int64_t iteration, MarginalErrors errors, std::size_t targets_left, const Pace& pace) {
  const double seconds = clock_.now() - start_;
  const double error_a = problem_.as_given(errors.a);
  const double error_b = problem_.as_given(errors.b);
  if (iteration > last_row_.iteration) {
    last_row_ = {iteration,     seconds,      error_a,    error_b,    pace.epsilon,
                 pace.rejected, pace.history, pace.omega, pace.newton};
    if (rows_seen_++ % trace_stride_ == 0) trace_.push_back(last_row_);
    if (trace_.size() == kMostTraceRows) thin_out_trace();
  }
  if (options_.on_check) {
    options_.on_check({iteration, options_.max_iterations, seconds, error_a, error_b, problem_.as_given(tolerance()),
                       targets_left, pace.epsilon, pace.is_on_the_way});
  }
}

}  // namespace fedsinkhorn
