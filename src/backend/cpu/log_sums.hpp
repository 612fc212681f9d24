// Log-domain sums, and the evaluation of the final plan: slow and safe, directly from the costs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/stop_request.hpp"
#include "cost/cost_source.hpp"
#include "kernel/plan_sums.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

struct LogContext {
  const CostSource& cost;
  const cpu::LogOps& ops;
  double epsilon;
  int threads;
  const StopRequest* stop = nullptr;  ///< once made, the sums are NaN

  [[nodiscard]] bool is_to_stop() const { return stop != nullptr && stop->is_made(); }
};

/// s_i = log sum_j exp((psi_j - C_ij) / epsilon). -inf where every pair is forbidden or psi is -inf.
void row_log_sums(const LogContext& context, std::span<const double> psi, std::span<double> sums);

/// s_j = log sum_i w_i exp((phi_i - C_ij) / epsilon), given log w_i.
void column_log_sums(const LogContext& context, std::span<const double> phi, std::span<const double> log_weights,
                     std::span<double> sums);

/// One pass over the costs for all targets. u: targets x rows, v: targets x columns.
[[nodiscard]] std::vector<PlanSums> plan_sums(const LogContext& context,
                                              const cpu::ProductOps<double, double>& products,
                                              std::span<const double> phi, std::span<const double> psi,
                                              std::size_t targets, const double* u, const double* v);

}  // namespace fedsinkhorn
