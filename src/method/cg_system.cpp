// Conjugate gradients for ((1 + damping) - B'B) y = h, preconditioned with the same matrix of a sparse plan.
//
// A product with B'B is a pass over K and the messages of a round. The preconditioner is known to every client; a
// client applies it to the whole residual and keeps its own slice. All decisions use sums over all clients.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "method/column_graph.hpp"
#include "method/laplacian_factor.hpp"
#include "method/newton_system.hpp"
#include "method/sparse_plan.hpp"

namespace fedsinkhorn {
namespace {

class CgSystem final : public NewtonSystem {
 public:
  CgSystem(int threads, const CgLimits& limits) : threads_(threads), limits_(limits) {}

  void assemble(KernelAccess& kernel, const ScaledPlan& plan) override {
    plan_ = &plan;
    weights_.resize(plan.row_scale.size());
    std::ranges::transform(plan.row_scale, weights_.begin(), [](double x) { return x * x; });
    root_c_ = kernel.all_columns(plan.root_c);
    const SparseRows sparse = sparse_plan(kernel, plan, threads_);
    edges_ = kernel.add_up_sparse(edges_between_columns(sparse, root_c_, threads_), root_c_.size() * root_c_.size());
    norm2_ = 0;
    for (const double x : plan.root_c) norm2_ += x * x;
    kernel.add_up({&norm2_, 1});
    factor_.reset();
  }

  bool solve(KernelAccess& kernel, double damping, std::span<const double> h, std::span<double> y) override;
  [[nodiscard]] std::int64_t products() const override { return products_; }

 private:
  double precondition(KernelAccess& kernel, std::span<const double> r, std::span<double> z);
  void multiply(KernelAccess& kernel, double damping, std::span<const double> p, std::span<double> product);

  const int threads_;
  const CgLimits limits_;
  const ScaledPlan* plan_ = nullptr;
  std::vector<double> weights_;     // of the rows in B'B
  double norm2_ = 0;                // |root_c|^2
  std::vector<double> root_c_;      // of all columns
  std::vector<SparseEntry> edges_;  // of the sparse plan, between columns
  std::optional<LaplacianFactor> factor_;
  std::vector<double> scaled_;
  std::int64_t products_ = 0;
};

// z = the part of M^-1 r orthogonal to root_c. Returns r'z.
double CgSystem::precondition(KernelAccess& kernel, std::span<const double> r, std::span<double> z) {
  std::vector<double> all = kernel.all_columns(r);
  factor_->solve(all);
  const double* solution = all.data() + kernel.first_column();
  std::array<double, 3> sums{};  // r'z, root_c'z, root_c'r
  for (std::size_t j = 0; j < z.size(); ++j) {
    sums[0] += r[j] * solution[j];
    sums[1] += plan_->root_c[j] * solution[j];
    sums[2] += plan_->root_c[j] * r[j];
  }
  kernel.add_up(sums);
  for (std::size_t j = 0; j < z.size(); ++j) z[j] = solution[j] - sums[1] / norm2_ * plan_->root_c[j];
  return sums[0] - sums[1] * sums[2] / norm2_;
}

void CgSystem::multiply(KernelAccess& kernel, double damping, std::span<const double> p, std::span<double> product) {
  scaled_.resize(p.size());
  for (std::size_t j = 0; j < p.size(); ++j) scaled_[j] = plan_->column_scale[j] * p[j];
  kernel.weighted(weights_, scaled_, product);
  // Where there is no mass, products mean nothing and may be infinite.
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double scale = plan_->column_scale[j];
    product[j] = (1 + damping) * p[j] - (scale > 0 ? scale * product[j] : 0);
  }
  ++products_;
}

bool CgSystem::solve(KernelAccess& kernel, double damping, std::span<const double> h, std::span<double> y) {
  if (kernel.products_left() <= 0) return false;
  factor_.emplace(edges_, root_c_, damping);
  std::ranges::fill(y, 0.0);
  std::vector<double> r(h.begin(), h.end());
  std::vector<double> z(r.size());
  std::vector<double> product(r.size());
  double rz = precondition(kernel, r, z);
  const double goal = limits_.decrease * rz;
  std::vector<double> p = z;
  const std::int64_t most = std::min<std::int64_t>(limits_.products, kernel.products_left());
  for (std::int64_t k = 0; k < most && rz > goal; ++k) {
    multiply(kernel, damping, p, product);
    double curvature = 0;
    for (std::size_t j = 0; j < p.size(); ++j) curvature += p[j] * product[j];
    kernel.add_up({&curvature, 1});
    const double step = rz / curvature;
    if (!(curvature > 0 && std::isfinite(step))) return k > 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      y[j] += step * p[j];
      r[j] -= step * product[j];
    }
    const double before = rz;
    rz = precondition(kernel, r, z);
    if (!std::isfinite(rz)) return false;
    for (std::size_t j = 0; j < p.size(); ++j) p[j] = z[j] + rz / before * p[j];
  }
  return std::isfinite(rz);
}

}  // namespace

std::unique_ptr<NewtonSystem> make_cg_system(int threads, const CgLimits& limits) {
  return std::make_unique<CgSystem>(threads, limits);
}

}  // namespace fedsinkhorn
