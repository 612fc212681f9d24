#include "kernel/cpu_block.hpp"

namespace fedsinkhorn {
namespace {

class CpuBlock final : public Block {
 public:
  CpuBlock(const CostBlock& block, const BlockSettings& settings)
      : cost_(make_cost_source(block, settings.simd)),
        logs_{*cost_, settings.simd.log, settings.kernel.epsilon, settings.kernel.threads, settings.kernel.stop},
        products_(settings.simd.float64),
        kernel_(make_kernel(settings.kernel, *cost_, settings.simd)) {}

  [[nodiscard]] std::size_t rows() const override { return cost_->rows(); }
  [[nodiscard]] std::size_t columns() const override { return cost_->columns(); }

  void set_epsilon(double epsilon) override {
    logs_.epsilon = epsilon;
    kernel_->set_epsilon(epsilon);
  }
  void absorb(std::span<const double> phi, std::span<const double> psi) override { kernel_->absorb(phi, psi); }
  void apply(std::size_t targets, const double* v, double* q) override { kernel_->apply(targets, v, q); }
  void apply_transposed(std::size_t targets, const double* u, double* r) override {
    kernel_->apply_transposed(targets, u, r);
  }
  void begin_transposed(std::size_t targets) override { kernel_->begin_transposed(targets); }
  void add_transposed(std::size_t targets, Range rows, const double* u) override {
    kernel_->add_transposed(targets, rows, u);
  }
  void end_transposed(std::size_t targets, double* r) override { kernel_->end_transposed(targets, r); }
  void fused(std::size_t targets, const double* a, const double* v, double* q, double* u, double* r) override {
    kernel_->fused(targets, a, v, q, u, r);
  }

  void row_log_sums(std::span<const double> psi, std::span<double> sums) override {
    fedsinkhorn::row_log_sums(logs_, psi, sums);
  }
  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                       std::span<double> sums) override {
    fedsinkhorn::column_log_sums(logs_, phi, log_weights, sums);
  }
  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v) override {
    return fedsinkhorn::plan_sums(logs_, products_, phi, psi, targets, u, v);
  }

 private:
  std::unique_ptr<CostSource> cost_;
  LogContext logs_;
  const cpu::ProductOps<double, double>& products_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

std::unique_ptr<Block> make_cpu_block(const CostBlock& block, const BlockSettings& settings) {
  return std::make_unique<CpuBlock>(block, settings);
}

}  // namespace fedsinkhorn
