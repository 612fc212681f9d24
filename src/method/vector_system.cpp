// Conjugate gradients for ((1 + damping) - B'B) y = h where clients add up vectors, never matrices.
//
// The column scalings are known to all clients, and so is every vector here: each client makes the same iteration on
// whole vectors. The only messages are the sums of the clients' products, and a word about whether to go on.
//
// k products at one point are k views of the same matrix, so few are asked for (kShareOfSize, kMostProducts). What
// earlier ones have shown is used again: the preconditioner is the BFGS inverse made of the products of the last
// points.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parallel.hpp"
#include "method/newton_system.hpp"

namespace fedsinkhorn {
namespace {

/// Products at one point: at most this share of the rank that the others' part of B'B can have for a client, since as
/// many products as that tell all of it; and at most so many.
constexpr std::int64_t kShareOfSize = 4;
constexpr std::int64_t kMostProducts = 60;
/// Products that are kept; fewer of very long vectors (kMostCopied).
constexpr std::size_t kMostPairs = 400;
/// CG ends when the square of the residual in the preconditioner's norm has fallen by this factor.
constexpr double kDecrease = 1e-6;
/// Rows of B formed at a time.
constexpr std::size_t kRowsOfDiagonal = 256;
/// The diagonal is a sum of rounded numbers.
constexpr double kLeastDiagonal = 1e-15;

/// With tiny masses, squares may be too small for a double.
double length_of(std::span<const double> p) {
  double largest = 0;
  for (const double x : p) largest = std::max(largest, std::abs(x));
  if (largest == 0) return 0;
  double squares = 0;
  for (const double x : p) squares += (x / largest) * (x / largest);
  return largest * std::sqrt(squares);
}

/// The inverse of L-BFGS, of pairs (s, H s) where H changes little from pair to pair.
class SecantInverse {
 public:
  void remember(std::vector<double> s, std::vector<double> product) {
    if (pairs_.size() == std::clamp<std::size_t>(kMostCopied / s.size(), 1, kMostPairs)) pairs_.erase(pairs_.begin());
    pairs_.push_back({std::move(s), std::move(product), 0});
  }
  void forget() { pairs_.clear(); }

  /// Of diag(scale) H diag(scale) + damping. Columns with a scale of 0 are left out.
  [[nodiscard]] SecantInverse scaled(std::span<const double> scale, double damping) const {
    SecantInverse result;
    result.pairs_.reserve(pairs_.size());
    for (const Pair& pair : pairs_) {
      Pair scaled = pair;
      for (std::size_t j = 0; j < scale.size(); ++j) {
        scaled.s[j] = scale[j] > 0 ? pair.s[j] / scale[j] : 0;
        scaled.product[j] = scale[j] * pair.product[j] + damping * scaled.s[j];
      }
      const double curvature = dot(scaled.s, scaled.product);
      if (!(curvature > 0 && std::isfinite(1 / curvature))) continue;
      scaled.weight = 1 / curvature;
      result.pairs_.push_back(std::move(scaled));
    }
    return result;
  }

  /// z = H^-1 z by the two loops of L-BFGS, around start(z).
  template <class Start>
  void apply(std::span<double> z, const Start& start) const {
    std::vector<double> alpha(pairs_.size());
    for (std::size_t k = pairs_.size(); k-- > 0;) {
      alpha[k] = pairs_[k].weight * dot(pairs_[k].s, z);
      add(-alpha[k], pairs_[k].product, z);
    }
    start(z);
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const double beta = pairs_[k].weight * dot(pairs_[k].product, z);
      add(alpha[k] - beta, pairs_[k].s, z);
    }
  }

 private:
  struct Pair {
    std::vector<double> s, product;
    double weight = 0;
  };
  static void add(double factor, std::span<const double> x, std::span<double> z) {
    for (std::size_t j = 0; j < z.size(); ++j) z[j] += factor * x[j];
  }

  std::vector<Pair> pairs_;
};

class VectorSystem final : public NewtonSystem {
 public:
  explicit VectorSystem(int threads) : threads_(threads) {}

  void assemble(KernelAccess& kernel, const ScaledPlan& plan) override {
    weights_.resize(plan.row_scale.size());
    std::ranges::transform(plan.row_scale, weights_.begin(), [](double x) { return x * x; });
    column_scale_ = kernel.all_columns(plan.column_scale);
    root_c_ = kernel.all_columns(plan.root_c);
    norm2_ = dot(root_c_, root_c_);
    const auto rank = static_cast<std::int64_t>(std::min(kernel.fewest_rows_of_others(), column_scale_.size()));
    products_left_ = std::clamp<std::int64_t>(rank / kShareOfSize, 1, kMostProducts);
    add_up_diagonal(kernel, plan);
  }

  bool solve(KernelAccess& kernel, double damping, std::span<const double> h, std::span<double> y) override;
  [[nodiscard]] std::int64_t products() const override { return products_; }
  void forget() override { seen_.forget(); }

 private:
  void add_up_diagonal(KernelAccess& kernel, const ScaledPlan& plan);
  void multiply(KernelAccess& kernel, double damping, std::span<const double> p, std::span<double> product);
  [[nodiscard]] double precondition(const SecantInverse& inverse, double damping, std::span<const double> r,
                                    std::span<double> z) const;

  const int threads_;
  std::vector<double> weights_;  // of the rows in B'B
  std::vector<double> column_scale_, root_c_;
  double norm2_ = 0;              // |root_c|^2
  std::vector<double> diagonal_;  // of 1 - B'B
  std::vector<double> scaled_;
  SecantInverse seen_;              // products with the Hessian in log v, D^1/2 (1 - B'B) D^1/2
  std::int64_t products_left_ = 0;  // at this point
  std::int64_t products_ = 0;
};

// 1 - sum_i B_ij^2 = sum_i p_ij / c_j (1 - p_ij / a_i), and 1 - p_ij / a_i is the share of row i that goes elsewhere.
// Where almost all of a row goes to one column, that share is added up rather than subtracted from 1.
void VectorSystem::add_up_diagonal(KernelAccess& kernel, const ScaledPlan& plan) {
  const std::size_t m = column_scale_.size();
  diagonal_.assign(m, 0.0);
  std::vector<double> rows(std::min(kRowsOfDiagonal, kernel.held_rows()) * m);
  for (std::size_t first = 0; first < kernel.held_rows(); first += kRowsOfDiagonal) {
    const std::size_t count = std::min(kRowsOfDiagonal, kernel.held_rows() - first);
    kernel.copy_rows(first, count, rows.data());
    parallel_chunks(threads_, count, [&](std::size_t i, std::size_t) {
      // Shares of row i: p_ij / a_i = B_ij root_c_j / root_a_i.
      double* row = rows.data() + i * m;
      const double scale = plan.row_scale[first + i] / plan.root_a[first + i];
      for (std::size_t j = 0; j < m; ++j) row[j] *= scale * column_scale_[j] * root_c_[j];
      const auto largest = static_cast<std::size_t>(std::max_element(row, row + m) - row);
      double others = 0;
      for (std::size_t j = 0; j < m; ++j) others += j == largest ? 0 : row[j];
      const double a = plan.root_a[first + i] * plan.root_a[first + i];
      for (std::size_t j = 0; j < m; ++j) {
        const double elsewhere = j == largest ? std::min(others, 1.0) : 1 - std::min(row[j], 1.0);
        row[j] = root_c_[j] > 0 ? a * row[j] * elsewhere / (root_c_[j] * root_c_[j]) : 0;
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < m; ++j) diagonal_[j] += rows[i * m + j];
    }
  }
  for (double& x : diagonal_) x = std::min(x, 1.0);
  kernel.add_up_shares(diagonal_);
}

// z = the part of the preconditioned r orthogonal to root_c. Returns r'z.
double VectorSystem::precondition(const SecantInverse& inverse, double damping, std::span<const double> r,
                                  std::span<double> z) const {
  std::ranges::copy(r, z.begin());
  inverse.apply(z, [&](std::span<double> x) {
    for (std::size_t j = 0; j < x.size(); ++j) x[j] /= damping + std::max(diagonal_[j], kLeastDiagonal);
  });
  const double along = dot(root_c_, z) / norm2_;
  for (std::size_t j = 0; j < z.size(); ++j) z[j] -= along * root_c_[j];
  return dot(r, z);
}

void VectorSystem::multiply(KernelAccess& kernel, double damping, std::span<const double> p,
                            std::span<double> product) {
  // |B| <= 1: of a vector of length 1, all entries are shares.
  const double length = length_of(p);
  scaled_.resize(p.size());
  for (std::size_t j = 0; j < p.size(); ++j) scaled_[j] = length > 0 ? column_scale_[j] * (p[j] / length) : 0;
  kernel.own_weighted(weights_, scaled_, product);
  // Where there is no mass, products mean nothing and may be infinite.
  for (std::size_t j = 0; j < p.size(); ++j) {
    product[j] = column_scale_[j] > 0 ? std::clamp(column_scale_[j] * product[j], -1.0, 1.0) : 0;
  }
  kernel.add_up_shares(product);
  ++products_;
  --products_left_;
  std::vector<double> s(p.size());
  std::vector<double> hessian_s(p.size());
  for (std::size_t j = 0; j < p.size(); ++j) {
    s[j] = root_c_[j] > 0 ? p[j] / root_c_[j] : 0;
    hessian_s[j] = root_c_[j] * (p[j] - length * product[j]);
    product[j] = (1 + damping) * p[j] - length * product[j];
  }
  seen_.remember(std::move(s), std::move(hessian_s));
}

bool VectorSystem::solve(KernelAccess& kernel, double damping, std::span<const double> h, std::span<double> y) {
  std::vector<double> r = kernel.all_columns(h);
  std::vector<double> z(r.size());
  std::vector<double> product(r.size());
  std::vector<double> inverse_root_c(r.size());
  std::ranges::transform(root_c_, inverse_root_c.begin(), [](double c) { return c > 0 ? 1 / c : 0; });
  const SecantInverse inverse = seen_.scaled(inverse_root_c, damping);
  double rz = precondition(inverse, damping, r, z);
  const double goal = kDecrease * rz;
  std::vector<double> p = z;
  std::vector<double> all = z;  // if no product is left
  const std::int64_t most = std::min(products_left_, kernel.products_left());
  for (std::int64_t k = 0; k < most; ++k) {
    // Clients' rounding may differ; whether to go on must not.
    if (!(kernel.greatest(rz > goal ? 1 : 0) > 0)) break;
    multiply(kernel, damping, p, product);
    if (k == 0) std::ranges::fill(all, 0.0);
    const double step = rz / dot(p, product);
    if (!(step > 0 && std::isfinite(step))) {
      rz = 0;
      continue;
    }
    for (std::size_t j = 0; j < p.size(); ++j) {
      all[j] += step * p[j];
      r[j] -= step * product[j];
    }
    const double before = std::exchange(rz, precondition(inverse, damping, r, z));
    for (std::size_t j = 0; j < p.size(); ++j) p[j] = z[j] + rz / before * p[j];
  }
  const bool is_good = std::ranges::all_of(all, [](double x) { return std::isfinite(x); });
  if (kernel.greatest(is_good ? 0 : 1) > 0) return false;
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(kernel.first_column()), y.size(), y.begin());
  return true;
}

}  // namespace

std::unique_ptr<NewtonSystem> make_vector_system(int threads) { return std::make_unique<VectorSystem>(threads); }

}  // namespace fedsinkhorn
