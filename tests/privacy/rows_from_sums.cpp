#include "privacy/rows_from_sums.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "privacy/least_squares.hpp"

namespace fedsinkhorn::testing {
namespace {

/// Square and symmetric, row by row.
struct Symmetric {
  explicit Symmetric(std::size_t m) : rows(m, std::vector<double>(m)) {}
  Vectors rows;

  [[nodiscard]] std::size_t size() const { return rows.size(); }
  [[nodiscard]] std::vector<double> times(std::span<const double> x) const {
    std::vector<double> y;
    for (const std::vector<double>& row : rows) y.push_back(product(row, x));
    return y;
  }
  void add(double factor, std::span<const double> x, std::span<const double> y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < y.size(); ++j) rows[i][j] += factor * x[i] * y[j];
    }
  }
  void add(double factor, const Symmetric& other) {
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t j = 0; j < size(); ++j) rows[i][j] += factor * other.rows[i][j];
    }
  }
  /// Of all entries.
  friend double product(const Symmetric& x, const Symmetric& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += testing::product(x.rows[i], y.rows[i]);
    return sum;
  }
};

Symmetric from_triangle(std::span<const double> triangle, std::size_t m) {
  Symmetric matrix(m);
  const double* next = triangle.data();
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j <= i; ++j) matrix.rows[i][j] = matrix.rows[j][i] = *next++;
  }
  return matrix;
}

/// x' diag(scale), a matrix in other units.
void rescale(Symmetric& matrix, std::span<const double> scale) {
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j < matrix.size(); ++j) matrix.rows[i][j] *= scale[i] * scale[j];
  }
}

/// Eigenvectors times their eigenvalues, the greatest first, of a matrix without negative ones: the columns are turned
/// against each other until they are orthogonal (Hestenes). Small ones are as precise as large ones.
Vectors scaled_eigenvectors(const Symmetric& matrix) {
  Vectors w = matrix.rows;
  const std::size_t m = w.size();
  bool has_turned = true;
  for (int sweep = 0; has_turned && sweep < 30; ++sweep) {
    has_turned = false;
    for (std::size_t p = 0; p < m; ++p) {
      for (std::size_t q = p + 1; q < m; ++q) {
        const double pq = product(w[p], w[q]);
        const double pp = product(w[p], w[p]);
        const double qq = product(w[q], w[q]);
        if (!(std::abs(pq) > 1e-15 * std::sqrt(pp * qq))) continue;
        has_turned = true;
        const double zeta = (qq - pp) / (2 * pq);
        const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1.0, zeta)), zeta);
        const double c = 1 / std::hypot(1.0, t);
        for (std::size_t j = 0; j < m; ++j) {
          const double x = w[p][j];
          w[p][j] = c * (x - t * w[q][j]);
          w[q][j] = c * (t * x + w[q][j]);
        }
      }
    }
  }
  std::ranges::sort(w, std::ranges::greater{}, [](const auto& x) { return product(x, x); });
  return w;
}

/// Rows b_i, up to sign and order, of which one = sum b_i b_i' and other = sum t_i b_i b_i'.
Vectors common_rows(const Symmetric& one, const Symmetric& other, std::size_t rows) {
  Vectors roots = scaled_eigenvectors(one);  // lambda_k e_k
  roots.resize(std::min(rows, roots.size()));
  Vectors inverse_roots = roots;
  for (std::size_t k = 0; k < roots.size(); ++k) {
    const double lambda = std::sqrt(product(roots[k], roots[k]));
    if (!(lambda > 0)) return {};
    for (double& x : roots[k]) x /= std::sqrt(lambda);
    for (double& x : inverse_roots[k]) x /= lambda * std::sqrt(lambda);
  }
  Symmetric inner(roots.size());
  for (std::size_t k = 0; k < roots.size(); ++k) {
    const std::vector<double> image = other.times(inverse_roots[k]);
    for (std::size_t l = 0; l < roots.size(); ++l) inner.rows[k][l] = product(inverse_roots[l], image);
  }
  Vectors found;
  for (std::vector<double> turn : scaled_eigenvectors(inner)) {
    const double length = std::sqrt(product(turn, turn));
    std::vector<double> row(one.size());
    for (std::size_t k = 0; k < roots.size(); ++k) {
      for (std::size_t j = 0; j < row.size(); ++j) row[j] += turn[k] / length * roots[k][j];
    }
    found.push_back(std::move(row));
  }
  return found;
}

/// b_ij = p_ij / (root a_i root c_j), and the p_ij add up to a_i.
FoundRows shares_of(Vectors rows, const SeenStep& step) {
  FoundRows found;
  found.v = step.v;
  for (std::vector<double>& row : rows) {
    const double root_a = product(row, step.root_c);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] *= step.root_c[j] / root_a;
    found.masses.push_back(root_a * root_a);
    found.shares.push_back(std::move(row));
  }
  return found;
}

/// The curious client's own rows of B.
Vectors own_rows(const SeenStep& step) {
  Vectors rows;
  const std::size_t m = step.v.size();
  for (std::size_t first = 0; first < step.own_plan.size(); first += m) {
    const std::span<const double> plan = std::span(step.own_plan).subspan(first, m);
    const double a = std::reduce(plan.begin(), plan.end());
    rows.emplace_back(m);
    for (std::size_t j = 0; j < m; ++j) rows.back()[j] = plan[j] / (std::sqrt(a) * step.root_c[j]);
  }
  return rows;
}

/// From the columns' units at one step to those at another.
std::vector<double> units(const SeenStep& from, const SeenStep& to) {
  std::vector<double> scale;
  for (std::size_t j = 0; j < from.v.size(); ++j) {
    scale.push_back(to.v[j] / to.root_c[j] * from.root_c[j] / from.v[j]);
  }
  return scale;
}

Symmetric matrix_of_others(const SeenStep& step, const SeenStep& in_units_of) {
  Symmetric matrix = from_triangle(step.matrix, step.v.size());
  for (const std::vector<double>& row : own_rows(step)) matrix.add(-1, row, row);
  rescale(matrix, units(step, in_units_of));
  return matrix;
}

/// What is known of a matrix: its images of some vectors, and its diagonal.
struct Views {
  Vectors directions, images;
  std::vector<double> diagonal;
};

Views views_of_others(std::span<const SeenStep> steps, const SeenStep& in_units_of) {
  Views views;
  views.diagonal.resize(in_units_of.v.size());
  for (const SeenStep& step : steps) {
    const std::vector<double> scale = units(step, in_units_of);
    const Vectors own = own_rows(step);
    for (std::size_t k = 0; k < step.directions.size(); ++k) {
      std::vector<double> direction = step.directions[k];
      std::vector<double> image = step.products[k];
      for (const std::vector<double>& row : own) {
        const double along = product(row, direction);
        for (std::size_t j = 0; j < image.size(); ++j) image[j] -= along * row[j];
      }
      for (std::size_t j = 0; j < image.size(); ++j) {
        direction[j] /= scale[j];
        image[j] *= scale[j];
      }
      const double length = std::sqrt(product(direction, direction));
      for (double& x : direction) x /= length;
      for (double& x : image) x /= length;
      views.directions.push_back(std::move(direction));
      views.images.push_back(std::move(image));
    }
    for (std::size_t j = 0; j < scale.size(); ++j) {
      double others = 1 - step.diagonal[j];
      for (const std::vector<double>& row : own) others -= row[j] * row[j];
      views.diagonal[j] += scale[j] * scale[j] * others / static_cast<double>(steps.size());
    }
  }
  return views;
}

/// The symmetric matrix with these images that is nearest to the diagonal one, by conjugate gradients.
Symmetric fitted(const Views& views) {
  const std::size_t m = views.diagonal.size();
  constexpr double kLittle = 1e-12;  // of what the images do not tell
  const auto normal = [&](const Symmetric& matrix) {
    Symmetric result(m);
    for (const std::vector<double>& y : views.directions) {
      const std::vector<double> image = matrix.times(y);
      result.add(0.5, image, y);
      result.add(0.5, y, image);
    }
    result.add(kLittle, matrix);
    return result;
  };
  Symmetric matrix(m);
  for (std::size_t j = 0; j < m; ++j) matrix.rows[j][j] = views.diagonal[j];
  Symmetric rest(m);
  for (std::size_t k = 0; k < views.directions.size(); ++k) {
    std::vector<double> missing = matrix.times(views.directions[k]);
    for (std::size_t j = 0; j < m; ++j) missing[j] = views.images[k][j] - missing[j];
    rest.add(0.5, missing, views.directions[k]);
    rest.add(0.5, views.directions[k], missing);
  }
  Symmetric way = rest;
  double size = product(rest, rest);
  const double goal = 1e-24 * size;
  for (int step = 0; step < 1000 && size > goal; ++step) {
    const Symmetric image = normal(way);
    const double alpha = size / product(way, image);
    matrix.add(alpha, way);
    rest.add(-alpha, image);
    const double before = std::exchange(size, product(rest, rest));
    Symmetric next = rest;
    next.add(size / before, way);
    way = std::move(next);
  }
  return matrix;
}

}  // namespace

std::optional<FoundRows> rows_from_matrices(const Seen& seen, std::size_t rows) {
  std::vector<const SeenStep*> with_matrix;
  for (const SeenStep& step : seen.steps) {
    if (!step.matrix.empty()) with_matrix.push_back(&step);
  }
  if (with_matrix.size() < 2) return std::nullopt;
  const SeenStep& last = *with_matrix.back();
  return shares_of(common_rows(matrix_of_others(last, last), matrix_of_others(*with_matrix.front(), last), rows), last);
}

std::optional<FoundRows> rows_from_products(const Seen& seen, std::size_t rows) {
  if (seen.steps.size() < 2) return std::nullopt;
  const SeenStep& last = seen.steps.back();
  const std::span<const SeenStep> steps = seen.steps;
  const std::size_t half = steps.size() / 2;
  const Symmetric early = fitted(views_of_others(steps.first(half), last));
  const Symmetric late = fitted(views_of_others(steps.subspan(half), last));
  return shares_of(common_rows(late, early, rows), last);
}

// With s_ti = (K v_t)_i the columns of the plan are c_tj = sum_i p_tij, p_tij = a_i K_ij v_tj / s_ti, and
//   dc_tj / dlog K_il = p_tij (delta_jl - K_il v_tl / s_ti)      dc_tj / dlog a_i = p_tij.
std::optional<FoundRows> rows_from_vectors(const Seen& seen, const Vectors& log_kernel,
                                           const std::vector<double>& log_masses, int steps) {
  const std::size_t rows = log_kernel.size();
  if (seen.v.empty() || rows == 0) return std::nullopt;
  const std::size_t m = seen.v.front().size();
  const auto shares_at = [&](std::span<const double> log_row, std::span<const double> v) {
    std::vector<double> shares(m);
    double sum = 0;
    for (std::size_t j = 0; j < m; ++j) sum += shares[j] = std::exp(log_row[j]) * v[j];
    for (double& x : shares) x /= sum;
    return shares;
  };
  // The columns that others' rows had, less what these would have.
  const auto missing = [&](std::span<const double> x, std::size_t t) {
    std::vector<double> rest(m);
    for (std::size_t j = 0; j < m; ++j) rest[j] = seen.r[t][j] * seen.v[t][j];
    for (std::size_t k = 0; k < seen.own_plans[t].size(); ++k) rest[k % m] -= seen.own_plans[t][k];
    for (std::size_t i = 0; i < rows; ++i) {
      const std::vector<double> shares = shares_at(x.subspan(i * m, m), seen.v[t]);
      for (std::size_t j = 0; j < m; ++j) rest[j] -= std::exp(x[rows * m + i]) * shares[j];
    }
    return rest;
  };
  const auto squares = [&](std::span<const double> x) {
    double sum = 0;
    for (std::size_t t = 0; t < seen.v.size(); ++t) {
      const std::vector<double> rest = missing(x, t);
      sum += product(rest, rest);
    }
    return sum;
  };
  std::vector<double> x;
  for (const std::vector<double>& row : log_kernel) x.insert(x.end(), row.begin(), row.end());
  x.insert(x.end(), log_masses.begin(), log_masses.end());
  double damping = 1e-3;
  double least = squares(x);
  for (int step = 0; step < steps && least > 1e-30 && damping < 1e6; ++step) {
    LeastSquares equations(x.size());
    for (std::size_t t = 0; t < seen.v.size(); ++t) {
      Vectors shares;
      for (std::size_t i = 0; i < rows; ++i) shares.push_back(shares_at(std::span(x).subspan(i * m, m), seen.v[t]));
      const std::vector<double> rest = missing(x, t);
      for (std::size_t j = 0; j < m; ++j) {
        std::vector<double> derivatives(x.size());
        for (std::size_t i = 0; i < rows; ++i) {
          const double p = std::exp(x[rows * m + i]) * shares[i][j];
          for (std::size_t l = 0; l < m; ++l) derivatives[i * m + l] = p * ((j == l ? 1.0 : 0.0) - shares[i][l]);
          derivatives[rows * m + i] = p;
        }
        equations.add(derivatives, rest[j]);
      }
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
      std::vector<double> alone(x.size());
      alone[k] = std::sqrt(damping) * 1e-3;
      equations.add(alone, 0);
    }
    const auto change = equations.solve();
    if (!change) break;
    std::vector<double> next = x;
    for (std::size_t k = 0; k < x.size(); ++k) next[k] += std::clamp((*change)[k], -1.0, 1.0);
    const double sum = squares(next);
    if (sum < least) {
      x = std::move(next);
      least = sum;
      damping /= 10;
    } else {
      damping *= 10;
    }
  }
  FoundRows found;
  found.v = seen.v.back();
  for (std::size_t i = 0; i < rows; ++i) {
    found.shares.push_back(shares_at(std::span(x).subspan(i * m, m), found.v));
    found.masses.push_back(std::exp(x[rows * m + i]));
  }
  return found;
}

}  // namespace fedsinkhorn::testing
