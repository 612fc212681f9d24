#include "method/laplacian_factor.hpp"

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/parallel.hpp"
#include "simd/cholesky.hpp"

namespace fedsinkhorn {
namespace {

/// Operations per second of the sparse and of the dense factorization, on one core.
constexpr double kSparseSpeed = 1e9;
constexpr double kDenseSpeed = 25e9;
/// A dense matrix of more columns takes too much memory.
constexpr std::size_t kMostDense = 8192;
/// Keeps the matrix of an almost separate graph positive definite to rounding.
constexpr double kLeastDamping = 1e-14;

using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;

double dense_seconds(std::size_t size) {
  const auto m = static_cast<double>(size);
  return m * m * m / 3 / kDenseSpeed;
}

/// The matrix without damping, lower triangle, and the column whose diagonal entry is increased by 1. That removes the
/// eigenvalue 0 of the connected graph, and does not change solutions for right-hand sides orthogonal to D^1/2: their
/// entry in this column becomes 0.
Matrix laplacian(std::span<const SparseEntry> edges, std::span<const double> root_c) {
  const std::size_t m = root_c.size();
  std::vector<double> degrees(m);
  for (const SparseEntry& edge : edges) {
    degrees[edge.position / m] += edge.value;
    degrees[edge.position % m] += edge.value;
  }
  const auto grounded = static_cast<std::size_t>(std::max_element(root_c.begin(), root_c.end()) - root_c.begin());
  std::vector<Eigen::Triplet<double, int>> entries;
  entries.reserve(edges.size() + m);
  for (std::size_t j = 0; j < m; ++j) {
    const double degree = root_c[j] > 0 ? degrees[j] / (root_c[j] * root_c[j]) : 1;
    entries.emplace_back(static_cast<int>(j), static_cast<int>(j), degree + (j == grounded ? 1 : 0));
  }
  for (const SparseEntry& edge : edges) {
    const std::size_t j = edge.position / m;
    const std::size_t k = edge.position % m;
    entries.emplace_back(static_cast<int>(k), static_cast<int>(j), -edge.value / (root_c[j] * root_c[k]));
  }
  Matrix matrix(static_cast<int>(m), static_cast<int>(m));
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

class Sparse final : public LaplacianFactor {
 public:
  explicit Sparse(Matrix matrix) : matrix_(std::move(matrix)) { factor_.analyzePattern(matrix_); }

  [[nodiscard]] double seconds() const { return factor_.operations() / kSparseSpeed; }

  bool factorize(double damping) override {
    factor_.setShift(std::max(damping, kLeastDamping));
    factor_.factorize(matrix_);
    return factor_.info() == Eigen::Success && (factor_.vectorD().array() > 0).all();
  }
  void solve(std::span<double> x) const override {
    Eigen::Map<Eigen::VectorXd> vector(x.data(), static_cast<Eigen::Index>(x.size()));
    vector = factor_.solve(vector).eval();
  }

 private:
  class Factor : public Eigen::SimplicialLDLT<Matrix> {
   public:
    /// Known from the pattern alone.
    [[nodiscard]] double operations() const { return m_nonZerosPerCol.cast<double>().squaredNorm(); }
  };
  Matrix matrix_;
  Factor factor_;
};

class Dense final : public LaplacianFactor {
 public:
  Dense(Matrix matrix, int threads) : matrix_(std::move(matrix)), threads_(threads) {}

  bool factorize(double damping) override {
    factor_.emplace(static_cast<std::size_t>(matrix_.rows()));
    for (int j = 0; j < matrix_.outerSize(); ++j) {
      for (Matrix::InnerIterator entry(matrix_, j); entry; ++entry) {
        factor_->row(static_cast<std::size_t>(entry.row()))[j] = entry.value();
      }
      factor_->row(static_cast<std::size_t>(j))[j] += std::max(damping, kLeastDamping);
    }
    return factor_->factorize(threads_);
  }
  void solve(std::span<double> x) const override { factor_->solve(x); }

 private:
  const Matrix matrix_;
  const int threads_;
  std::optional<cpu::SymmetricMatrix> factor_;
};

}  // namespace

// Decided by counts, which are the same at all clients.
std::unique_ptr<LaplacianFactor> make_laplacian_factor(std::span<const SparseEntry> edges,
                                                       std::span<const double> root_c, bool at_any_cost, int threads) {
  const std::size_t m = root_c.size();
  Matrix matrix = laplacian(edges, root_c);
  const double most = dense_seconds(std::min(m, kMostDense));
  // The factor has at least the entries of the matrix: no need to look at the pattern of a dense one.
  const double mean = static_cast<double>(matrix.nonZeros()) / static_cast<double>(m);
  const bool is_dense = mean * mean * static_cast<double>(m) / kSparseSpeed > most;
  if (!is_dense || (m > kMostDense && at_any_cost)) {
    auto sparse = std::make_unique<Sparse>(matrix);
    if (sparse->seconds() <= most || (m > kMostDense && at_any_cost)) return sparse;
  }
  if (m > kMostDense) return nullptr;
  return std::make_unique<Dense>(std::move(matrix), threads);
}

}  // namespace fedsinkhorn
