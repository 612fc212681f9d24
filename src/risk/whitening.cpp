#include "risk/whitening.hpp"

#include <cmath>

#include "comm/agreement.hpp"
#include "fedsinkhorn/error.hpp"
#include "simd/cholesky.hpp"

namespace fedsinkhorn {
namespace {

std::vector<double> row_of(const AnyMatrix& points, std::size_t row) {
  return std::visit([&](const auto& view) { return std::vector<double>(view.row(row), view.row(row) + view.columns); },
                    points);
}

void take_given(const MatrixView<double>& given, const std::string& name, cpu::SymmetricMatrix& s) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      const double scale = std::sqrt(std::abs(given(i, i) * given(k, k)));
      if (!(std::abs(given(i, k) - given(k, i)) <= 1e-9 * scale)) {
        throw InputError(name, "is not symmetric", "give a covariance matrix");
      }
      s.row(i)[k] = given(i, k);
    }
  }
}

void add_up_covariance(const RiskProblem& problem, const Collectives& clients, std::span<const std::size_t> numbers,
                       std::size_t before, std::span<const double> a, cpu::SymmetricMatrix& s) {
  const std::size_t d = s.size();
  std::vector<ExactSum> means(d + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::vector<double> x = row_of(problem.returns, numbers[i] - before);
    for (std::size_t k = 0; k < d; ++k) means[k].add(a[i] * x[k]);
    means[d].add(a[i] * a[i]);
  }
  add_up_of_all(clients, means);
  const double freedom = 1 - means[d].total();
  std::vector<ExactSum> products(d * (d + 1) / 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::vector<double> x = row_of(problem.returns, numbers[i] - before);
    for (std::size_t k = 0; k < d; ++k) x[k] -= means[k].total();
    ExactSum* product = products.data();
    for (std::size_t k = 0; k < d; ++k) {
      for (std::size_t l = 0; l <= k; ++l) (product++)->add(a[i] * x[k] * x[l]);
    }
  }
  add_up_of_all(clients, products);
  const ExactSum* product = products.data();
  for (std::size_t k = 0; k < d; ++k) {
    for (std::size_t l = 0; l <= k; ++l) s.row(k)[l] = (product++)->total() / freedom;
  }
}

/// Replaces S by L. False if S is singular, to rounding.
bool factorize(cpu::SymmetricMatrix& s) {
  std::vector<double> diagonal;
  for (std::size_t k = 0; k < s.size(); ++k) diagonal.push_back(s.row(k)[k]);
  if (!s.factorize(1)) return false;
  for (std::size_t k = 0; k < s.size(); ++k) {
    const double pivot = s.row(k)[k] * s.row(k)[k];  // what asset k has that those before it do not explain
    if (!(pivot > 1e-13 * diagonal[k])) return false;
  }
  return true;
}

/// Solves L z = x for every point.
std::vector<double> times_inverse(const cpu::SymmetricMatrix& factor, const AnyMatrix& points) {
  const std::size_t d = factor.size();
  std::vector<double> white;
  white.reserve(rows_of(points) * d);
  for (std::size_t i = 0; i < rows_of(points); ++i) {
    std::vector<double> z = row_of(points, i);
    for (std::size_t k = 0; k < d; ++k) {
      for (std::size_t l = 0; l < k; ++l) z[k] -= factor.row(k)[l] * z[l];
      z[k] /= factor.row(k)[k];
    }
    white.insert(white.end(), z.begin(), z.end());
  }
  return white;
}

}  // namespace

AnyMatrix WhitePoints::x(const RiskProblem& problem) const {
  if (scenarios.empty()) return problem.returns;
  return MatrixView<double>{returns.data(), rows_of(problem.returns), columns_of(problem.scenarios)};
}

AnyMatrix WhitePoints::y(const RiskProblem& problem) const {
  if (scenarios.empty()) return problem.scenarios;
  return MatrixView<double>{scenarios.data(), rows_of(problem.scenarios), columns_of(problem.scenarios)};
}

WhitePoints whitened(const RiskProblem& problem, const Collectives& clients, std::span<const std::size_t> numbers,
                     std::size_t before, std::span<const double> a) {
  if (problem.cost != RiskCost::mahalanobis) return {};
  const bool is_given = !problem.covariance.empty();
  cpu::SymmetricMatrix s(columns_of(problem.scenarios));
  if (!is_given) add_up_covariance(problem, clients, numbers, before, a, s);
  WhitePoints white;
  agree(clients, [&] {
    if (is_given) take_given(problem.covariance, problem.names.covariance, s);
    if (!factorize(s)) {
      throw InputError(is_given ? problem.names.covariance : problem.names.returns,
                       is_given ? "is not positive definite" : "the covariance of the returns is singular",
                       "give more days than assets, or a covariance that can be inverted");
    }
    white.returns = times_inverse(s, problem.returns);
    white.scenarios = times_inverse(s, problem.scenarios);
  });
  return white;
}

}  // namespace fedsinkhorn
