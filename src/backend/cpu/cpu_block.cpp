#include "backend/cpu/cpu_block.hpp"

#include "backend/cpu/log_sums.hpp"

namespace fedsinkhorn {
namespace {

class CpuBlock final : public Block {
 public:
  CpuBlock(const CostBlock& block, const BlockSettings& settings, MakeKernel* make_kernel)
      : block_(block),
        cost_(make_cost_source(block, settings.simd)),
        logs_{*cost_, settings.simd.log, settings.kernel.epsilon, settings.kernel.threads, settings.kernel.stop},
        simd_(settings.simd),
        spec_(settings.kernel),
        kernel_(make_kernel(settings.kernel, block_, *cost_, settings.simd)) {}

  [[nodiscard]] std::size_t rows() const override { return cost_->rows(); }
  [[nodiscard]] std::size_t columns() const override { return cost_->columns(); }

  void set_epsilon(double epsilon) override {
    logs_.epsilon = epsilon;
    kernel_->set_epsilon(epsilon);
  }
  void absorb(std::span<const double> phi, std::span<const double> psi) override {
    opener_.reset();
    kernel_->absorb(phi, psi);
  }
  // The first potentials must not depend on what a low-precision kernel rounds away: with one, the pass that finds them
  // computes its own rows in float64, and K is built around the potentials.
  void open(std::span<const double> psi, double grid) override {
    if (is_reduced(spec_.precision)) {
      opener_ =
          make_online_kernel({Precision::float64, logs_.epsilon, spec_.threads, spec_.stop}, block_, *cost_, simd_);
    }
    (opener_ ? *opener_ : *kernel_).open(psi, grid);
  }
  [[nodiscard]] bool can_open() const override { return is_reduced(spec_.precision) || kernel_->can_open(); }
  [[nodiscard]] bool keeps_opened() const override { return !is_reduced(spec_.precision); }
  [[nodiscard]] std::span<const double> opened() const override { return (opener_ ? *opener_ : *kernel_).opened(); }
  [[nodiscard]] std::string pass_plan() const override { return kernel_->pass_plan(); }
  void apply(std::size_t targets, const double* v, double* q) override { kernel_->apply(targets, v, q); }
  void apply_transposed(std::size_t targets, const double* u, double* r) override {
    kernel_->apply_transposed(targets, u, r);
  }
  void fused(std::size_t targets, const HalfStep& rows, const double* v, double* q, double* u, double* r) override {
    (opener_ ? *opener_ : *kernel_).fused(targets, rows, v, q, u, r);
  }

  void products(std::size_t targets, const double* u, const double* v, double* q, double* r) override {
    kernel_->products(targets, u, v, q, r);
  }

  void weighted(const double* w, const double* y, double* r) override { kernel_->weighted(w, y, r); }
  void copy_rows(std::size_t first, std::size_t count, double* to) override { kernel_->copy_rows(first, count, to); }

  void row_log_sums(std::span<const double> psi, std::span<double> sums) override {
    fedsinkhorn::row_log_sums(logs_, psi, sums);
  }
  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                       std::span<double> sums) override {
    fedsinkhorn::column_log_sums(logs_, phi, log_weights, sums);
  }
  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v) override {
    return fedsinkhorn::plan_sums(logs_, simd_.float64, phi, psi, targets, u, v);
  }

 private:
  const CostBlock block_;
  std::unique_ptr<CostSource> cost_;
  LogContext logs_;
  const cpu::Simd& simd_;
  const KernelSpec spec_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Kernel> opener_;  // used instead of kernel_ until potentials are absorbed
};

}  // namespace

std::unique_ptr<Block> make_cpu_block(const CostBlock& block, const BlockSettings& settings, MakeKernel* make_kernel) {
  return std::make_unique<CpuBlock>(block, settings, make_kernel);
}

}  // namespace fedsinkhorn
