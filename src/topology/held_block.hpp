// A block of costs and the kernel on it, as one client holds them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/stopwatch.hpp"
#include "fedsinkhorn/options.hpp"
#include "kernel/kernel.hpp"
#include "kernel/log_sums.hpp"

namespace fedsinkhorn {

/// How kernels are to be held and computed with; the table outlives all of them.
struct BlockSettings {
  KernelSpec kernel;
  const cpu::Simd& simd;
};

/// Every verb adds its time to `compute`.
class HeldBlock {
 public:
  HeldBlock(const CostBlock& block, const BlockSettings& settings, Stopwatch& compute)
      : compute_(compute),
        cost_(make_cost_source(block, settings.simd)),
        logs_{*cost_, settings.simd.log, settings.kernel.epsilon, settings.kernel.threads},
        products_(settings.simd.float64),
        kernel_(make_kernel(settings.kernel, *cost_, settings.simd)) {}

  [[nodiscard]] std::size_t rows() const { return cost_->rows(); }
  [[nodiscard]] std::size_t columns() const { return cost_->columns(); }

  /// Of the kernel from the next absorb on, and of sums in the log domain.
  void set_epsilon(double epsilon) {
    logs_.epsilon = epsilon;
    kernel_->set_epsilon(epsilon);
  }
  void absorb(std::span<const double> phi, std::span<const double> psi) {
    const Stopwatch::Scope timed(compute_, entries());
    kernel_->absorb(phi, psi);
  }
  void apply(std::size_t targets, const double* v, double* q) {
    const Stopwatch::Scope timed(compute_, entries(targets));
    kernel_->apply(targets, v, q);
  }
  void apply_transposed(std::size_t targets, const double* u, double* r) {
    const Stopwatch::Scope timed(compute_, entries(targets));
    kernel_->apply_transposed(targets, u, r);
  }
  void begin_transposed(std::size_t targets) { kernel_->begin_transposed(targets); }
  void add_transposed(std::size_t targets, Range rows, const double* u) {
    const auto of_rows = static_cast<double>(targets * rows.size() * columns());
    const Stopwatch::Scope timed(compute_, of_rows);
    kernel_->add_transposed(targets, rows, u);
  }
  void end_transposed(std::size_t targets, double* r) { kernel_->end_transposed(targets, r); }
  void fused(std::size_t targets, const double* a, const double* v, double* q, double* u, double* r) {
    const Stopwatch::Scope timed(compute_, entries(targets));
    kernel_->fused(targets, a, v, q, u, r);
  }
  void row_log_sums(std::span<const double> psi, std::span<double> sums) {
    const Stopwatch::Scope timed(compute_, entries());
    fedsinkhorn::row_log_sums(logs_, psi, sums);
  }
  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights, std::span<double> sums) {
    const Stopwatch::Scope timed(compute_, entries());
    fedsinkhorn::column_log_sums(logs_, phi, log_weights, sums);
  }
  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v) {
    const Stopwatch::Scope timed(compute_, entries(targets));
    return fedsinkhorn::plan_sums(logs_, products_, phi, psi, targets, u, v);
  }

 private:
  // What a pass over the block has to do with.
  [[nodiscard]] double entries(std::size_t targets = 1) const {
    return static_cast<double>(targets) * static_cast<double>(rows()) * static_cast<double>(columns());
  }

  Stopwatch& compute_;
  std::unique_ptr<CostSource> cost_;
  LogContext logs_;
  const cpu::ProductOps<double, double>& products_;
  std::unique_ptr<Kernel> kernel_;
};

/// u = a / q for every target. Its time goes to `compute`.
inline void divide_by(std::size_t targets, std::span<const double> a, const double* q, double* u, Stopwatch& compute) {
  const Stopwatch::Scope timed(compute);
  for (std::size_t k = 0; k < targets; ++k) {
    for (std::size_t i = 0; i < a.size(); ++i) u[k * a.size() + i] = a[i] / q[k * a.size() + i];
  }
}

}  // namespace fedsinkhorn
