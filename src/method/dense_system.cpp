#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

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
    column_scale_ = kernel.all_columns(plan.column_scale);
    is_over_rows_ = is_over_rows(kernel, column_scale_.size());
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
    null_ = kernel.all_columns(plan.root_c);
    const std::size_t m = column_scale_.size();
    gram_.emplace(m);
    std::vector<double> rows(std::min(kRowsAtOnce, kernel.held_rows()) * m);
    for (std::size_t first = 0; first < kernel.held_rows(); first += kRowsAtOnce) {
      const std::size_t count = std::min(kRowsAtOnce, kernel.held_rows() - first);
      kernel.copy_rows(first, count, rows.data());
      parallel_chunks(threads_, count, [&](std::size_t i, std::size_t) {
        scale(rows.data() + i * m, row_scale[first + i], column_scale_);
      });
      gram_->add_gram(rows.data(), count, threads_);
    }
    if (kernel.clients() == 1) return;
    std::vector<double> sums = gram_->triangle();
    kernel.add_up_shares(sums);
    gram_->set_triangle(sums);
  }

  // Every client gets all rows of B: it could not form products of two that different clients hold.
  void add_rows(KernelAccess& kernel, const ScaledPlan& plan) {
    const std::vector<double> row_scale = kernel.held(plan.row_scale);
    const std::size_t m = column_scale_.size();
    std::vector<double> rows(kernel.held_rows() * m);
    kernel.copy_rows(0, kernel.held_rows(), rows.data());
    parallel_chunks(threads_, kernel.held_rows(),
                    [&](std::size_t i, std::size_t) { scale(rows.data() + i * m, row_scale[i], column_scale_); });
    const std::size_t n = kernel.all_rows();
    rows_ = kernel.gather(std::move(rows), n * m);
    null_ = kernel.gather(kernel.held(plan.root_a), n);
    gram_.emplace(n);
    gram_->set_products_of_rows(rows_.data(), m, threads_);
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
    const std::vector<double> all = kernel.all_columns(h);
    const std::size_t m = all.size();
    std::vector<double> z(null_.size());
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = dot({rows_.data() + i * m, m}, all);
    matrix->solve(z);
    std::ranges::copy(h, y.begin());
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double* row = rows_.data() + i * m + kernel.first_column();
      for (std::size_t j = 0; j < y.size(); ++j) y[j] += row[j] * z[i];
    }
    for (double& value : y) value /= 1 + damping;
    return true;
  }

  const int threads_;
  std::vector<double> column_scale_;  // of all columns
  std::vector<double> rows_;          // of B, if over rows
  bool is_over_rows_ = false;
  std::optional<cpu::SymmetricMatrix> gram_;
  std::vector<double> null_;  // the eigenvector of gram_ with eigenvalue 1
};

}  // namespace

std::unique_ptr<NewtonSystem> make_dense_system(int threads) { return std::make_unique<DenseSystem>(threads); }

}  // namespace fedsinkhorn
