#include <algorithm>
#include <cmath>
#include <optional>

#include "core/parallel.hpp"
#include "method/newton_system.hpp"
#include "simd/cholesky.hpp"

namespace fedsinkhorn {
namespace {

/// Rows of B formed at a time.
constexpr std::size_t kRowsAtOnce = 512;

/// Entries of B and of its products are compared with 1, to which damping adds at least 1e-15.
constexpr double kNegligibleEntry = 1e-18;

class DenseSystem final : public NewtonSystem {
 public:
  explicit DenseSystem(int threads) : threads_(threads) {}

  void assemble(KernelAccess& kernel, const ScaledPlan& plan) override {
    plan_ = &plan;
    is_over_rows_ = kernel.clients() == 1 && plan.row_scale.size() < plan.column_scale.size();
    if (is_over_rows_) {
      add_rows(kernel, plan);
    } else {
      add_columns(kernel, plan);
    }
  }

  bool solve(KernelAccess& kernel, double damping, std::span<const double> h, std::span<double> y) override {
    return is_over_rows_ ? solve_over_rows(kernel, damping, h, y) : solve_over_columns(kernel, damping, h, y);
  }

 private:
  // B'B = the sum over all rows of b_i b_i', each added by the client that holds the row.
  void add_columns(KernelAccess& kernel, const ScaledPlan& plan) {
    const std::vector<double> row_scale = kernel.held(plan.row_scale);
    const std::vector<double> column_scale = kernel.all_columns(plan.column_scale);
    null_ = kernel.all_columns(plan.root_c);
    const std::size_t m = column_scale.size();
    gram_.emplace(m);
    std::vector<double> rows(std::min(kRowsAtOnce, kernel.held_rows()) * m);
    for (std::size_t first = 0; first < kernel.held_rows(); first += kRowsAtOnce) {
      const std::size_t count = std::min(kRowsAtOnce, kernel.held_rows() - first);
      kernel.copy_rows(first, count, rows.data());
      parallel_chunks(threads_, count, [&](std::size_t i, std::size_t) {
        scale(rows.data() + i * m, row_scale[first + i], column_scale);
      });
      gram_->add_gram(rows.data(), count, threads_);
    }
    if (kernel.clients() == 1) return;
    std::vector<double> sums = gram_->triangle();
    kernel.add_up_shares(sums);
    gram_->set_triangle(sums);
  }

  void add_rows(KernelAccess& kernel, const ScaledPlan& plan) {
    const std::size_t n = plan.row_scale.size();
    const std::size_t m = plan.column_scale.size();
    null_ = plan.root_a;
    gram_.emplace(n);
    std::vector<double> rows(n * m);
    kernel.copy_rows(0, n, rows.data());
    parallel_chunks(threads_, n, [&](std::size_t i, std::size_t) {
      scale(rows.data() + i * m, plan.row_scale[i], plan.column_scale);
    });
    gram_->set_products_of_rows(rows.data(), m, threads_);
  }

  static void scale(double* row, double row_scale, std::span<const double> column_scale) {
    for (std::size_t j = 0; j < column_scale.size(); ++j) {
      const double entry = row[j] * (row_scale * column_scale[j]);
      row[j] = entry < kNegligibleEntry ? 0 : entry;
    }
  }

  /// (1 + damping) - gram + null null' / |null|^2, factorized. Nothing if that fails at any client.
  std::optional<cpu::SymmetricMatrix> factor(KernelAccess& kernel, double damping) {
    cpu::SymmetricMatrix matrix = *gram_;
    const double norm2 = dot(null_, null_);
    parallel_chunks(threads_, matrix.size(), [&](std::size_t i, std::size_t) {
      double* row = matrix.row(i);
      for (std::size_t j = 0; j <= i; ++j) {
        const double entry = null_[i] * null_[j] / norm2 - row[j];
        row[j] = std::abs(entry) < kNegligibleEntry ? 0 : entry;
      }
      row[i] += 1 + damping;
    });
    double failures = matrix.factorize(threads_) ? 0 : 1;
    kernel.add_up({&failures, 1});
    if (failures > 0) return std::nullopt;
    return matrix;
  }

  bool solve_over_columns(KernelAccess& kernel, double damping, std::span<const double> h, std::span<double> y) {
    const auto matrix = factor(kernel, damping);
    if (!matrix) return false;
    std::vector<double> all = kernel.all_columns(h);
    matrix->solve(all);
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(kernel.first_column()), y.size(), y.begin());
    return true;
  }

  // With mu = 1 + damping: (mu - B'B)^-1 = (1 + B' (mu - BB')^-1 B) / mu.
  bool solve_over_rows(KernelAccess& kernel, double damping, std::span<const double> h, std::span<double> y) {
    const auto matrix = factor(kernel, damping);
    if (!matrix) return false;
    const ScaledPlan& plan = *plan_;
    std::vector<double> x(y.size());
    std::vector<double> z(plan.row_scale.size());
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = plan.column_scale[j] * h[j];
    kernel.rows(x, z);
    for (std::size_t i = 0; i < z.size(); ++i) z[i] *= plan.row_scale[i];
    matrix->solve(z);
    for (std::size_t i = 0; i < z.size(); ++i) z[i] *= plan.row_scale[i];
    kernel.columns(z, x);
    for (std::size_t j = 0; j < x.size(); ++j) y[j] = (h[j] + plan.column_scale[j] * x[j]) / (1 + damping);
    return true;
  }

  const int threads_;
  const ScaledPlan* plan_ = nullptr;
  bool is_over_rows_ = false;
  std::optional<cpu::SymmetricMatrix> gram_;
  std::vector<double> null_;  // the eigenvector of gram_ with eigenvalue 1
};

}  // namespace

std::unique_ptr<NewtonSystem> make_dense_system(int threads) { return std::make_unique<DenseSystem>(threads); }

}  // namespace fedsinkhorn
