#include "topology/centralized.hpp"

#include "core/stopwatch.hpp"

namespace fedsinkhorn {
namespace {

class Centralized : public Topology {
 public:
  Centralized(const CheckedProblem& problem, std::unique_ptr<Kernel> kernel, const CostSource& cost,
              const cpu::Simd& simd, int threads)
      : problem_(problem),
        kernel_(std::move(kernel)),
        logs_{cost, simd.log, problem.epsilon, threads},
        products_(simd.float64) {}

  void absorb(std::span<const double> phi, std::span<const double> psi) override {
    const Stopwatch::Scope timed(compute_);
    kernel_->absorb(phi, psi);
  }

  void row_products(std::size_t targets, const double* v, double* q) override {
    const Stopwatch::Scope timed(compute_);
    kernel_->apply(targets, v, q);
  }

  void column_products(std::size_t targets, const double* u, double* r) override {
    const Stopwatch::Scope timed(compute_);
    kernel_->apply_transposed(targets, u, r);
  }

  void row_log_sums(std::span<const double> psi, std::span<double> sums) override {
    const Stopwatch::Scope timed(compute_);
    fedsinkhorn::row_log_sums(logs_, psi, sums);
  }

  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                       std::span<double> sums) override {
    const Stopwatch::Scope timed(compute_);
    fedsinkhorn::column_log_sums(logs_, phi, log_weights, sums);
  }

  std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi, std::size_t targets,
                                  const double* u, const double* v) override {
    return fedsinkhorn::plan_sums(logs_, products_, phi, psi, targets, u, v);
  }

  [[nodiscard]] std::vector<ClientReport> reports() const override {
    ClientReport report;
    report.last_row = problem_.rows;
    report.compute_seconds = compute_.seconds();
    return {report};
  }

 protected:
  const CheckedProblem& problem_;
  std::unique_ptr<Kernel> kernel_;
  Stopwatch compute_;

 private:
  LogContext logs_;
  const cpu::ProductOps<double, double>& products_;
};

class OnePass final : public Centralized {
 public:
  using Centralized::Centralized;
  void round(std::size_t targets, const double* v, double* q, double* u, double* r) override {
    const Stopwatch::Scope timed(compute_);
    kernel_->fused(targets, problem_.a.data(), v, q, u, r);
  }
};

class TwoPasses final : public Centralized {
 public:
  using Centralized::Centralized;
  void round(std::size_t targets, const double* v, double* q, double* u, double* r) override {
    const Stopwatch::Scope timed(compute_);
    kernel_->apply(targets, v, q);
    const std::size_t n = problem_.n();
    for (std::size_t k = 0; k < targets; ++k) {
      for (std::size_t i = 0; i < n; ++i) u[k * n + i] = problem_.a[i] / q[k * n + i];
    }
    kernel_->apply_transposed(targets, u, r);
  }
};

}  // namespace

std::unique_ptr<Topology> make_centralized(const CheckedProblem& problem, const Options& options, int threads,
                                           const CostSource& cost, const cpu::Simd& simd) {
  auto kernel = make_kernel({options.kernel, options.precision, problem.epsilon, threads}, cost, simd);
  if (options.passes == Passes::two) {
    return std::make_unique<TwoPasses>(problem, std::move(kernel), cost, simd, threads);
  }
  return std::make_unique<OnePass>(problem, std::move(kernel), cost, simd, threads);
}

}  // namespace fedsinkhorn
