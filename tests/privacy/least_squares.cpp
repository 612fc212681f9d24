#include "privacy/least_squares.hpp"

#include <algorithm>
#include <cmath>

namespace fedsinkhorn::testing {
namespace {

using Rows = std::vector<std::vector<double>>;

/// Reflects rows k, k + 1, ... such that column k becomes zero below row k (Householder). The normal equations would
/// square the condition number, and these attacks need every digit.
void reflect(Rows& rows, std::size_t k) {
  double norm = 0;
  for (std::size_t i = k; i < rows.size(); ++i) norm = std::hypot(norm, rows[i][k]);
  if (!(norm > 0)) return;
  std::vector<double> w;
  for (std::size_t i = k; i < rows.size(); ++i) w.push_back(rows[i][k]);
  w[0] += std::copysign(norm, w[0]);
  double square = 0;
  for (const double x : w) square += x * x;
  for (std::size_t j = k; j < rows[k].size(); ++j) {
    double product = 0;
    for (std::size_t i = 0; i < w.size(); ++i) product += w[i] * rows[k + i][j];
    for (std::size_t i = 0; i < w.size(); ++i) rows[k + i][j] -= 2 * product / square * w[i];
  }
}

}  // namespace

void LeastSquares::add(const std::vector<double>& row, double right) {
  equations_.push_back(row);
  equations_.back().push_back(right);
}

std::optional<std::vector<double>> LeastSquares::solve() const {
  if (equations_.size() < unknowns_) return std::nullopt;
  Rows rows = equations_;
  for (std::size_t k = 0; k < unknowns_; ++k) reflect(rows, k);
  std::vector<double> x(unknowns_);
  for (std::size_t k = unknowns_; k-- > 0;) {
    double rest = rows[k][unknowns_];
    for (std::size_t j = k + 1; j < unknowns_; ++j) rest -= rows[k][j] * x[j];
    x[k] = rest / rows[k][k];
  }
  if (!std::ranges::all_of(x, [](double value) { return std::isfinite(value); })) return std::nullopt;
  return x;
}

}  // namespace fedsinkhorn::testing
