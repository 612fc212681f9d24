#include "torture/reference.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace fedsinkhorn::torture {
namespace {

using Precise = boost::multiprecision::cpp_bin_float_100;

constexpr Real kRealInfinity = std::numeric_limits<Real>::infinity();

Precise exact_cost(const Case& it, std::size_t i, std::size_t j) {
  Precise square = 0;
  Precise product = 0;
  Precise x_square = 0;
  Precise y_square = 0;
  for (std::size_t k = 0; k < it.dimension; ++k) {
    const Precise x = it.x[i * it.dimension + k];
    const Precise y = it.y[j * it.dimension + k];
    square += (x - y) * (x - y);
    product += x * y;
    x_square += x * x;
    y_square += y * y;
  }
  switch (it.metric) {
    case Metric::sqeuclidean: return square;
    case Metric::euclidean: return sqrt(square);
    case Metric::cosine: break;
  }
  const Precise cost = 1 - product / sqrt(x_square * y_square);
  return cost < 1e-60 ? Precise(0) : cost;  // parallel: the rest is rounding
}

/// The lines with mass of a problem divided by epsilon, its total mass scaled to 1.
struct Scaled {
  std::vector<std::size_t> rows, columns;
  std::vector<Real> a, b;
  std::vector<Real> costs;  // rows x columns

  [[nodiscard]] Real cost(std::size_t i, std::size_t j) const { return costs[i * columns.size() + j]; }
};

Scaled scaled(const Case& it, const std::vector<Real>& costs, const Masses& masses) {
  Scaled s;
  for (std::size_t i = 0; i < it.n; ++i) {
    if (masses.a[i] > 0) s.rows.push_back(i);
  }
  for (std::size_t j = 0; j < it.m; ++j) {
    if (masses.b[j] > 0) s.columns.push_back(j);
  }
  for (const std::size_t i : s.rows) {
    s.a.push_back(masses.a[i] / masses.total);
    for (const std::size_t j : s.columns) s.costs.push_back(costs[i * it.m + j] / it.epsilon);
  }
  for (const std::size_t j : s.columns) s.b.push_back(masses.b[j] / masses.total);
  return s;
}

/// With f such that the rows of the plan are right: a function of g alone. heat: epsilon is so many times larger.
struct Point {
  std::vector<Real> plan;
  std::vector<Real> column_sums;
  Real value = 0;  // sum a f + sum b g, to be maximised
  Real error = 0;  // sum |P' 1 - b|
};

Point evaluate(const Scaled& s, const std::vector<Real>& g, Real heat) {
  const std::size_t n = s.rows.size();
  const std::size_t m = s.columns.size();
  Point point{std::vector<Real>(n * m), std::vector<Real>(m), 0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    Real largest = -kRealInfinity;
    for (std::size_t j = 0; j < m; ++j) largest = std::max(largest, (g[j] - s.cost(i, j)) / heat);
    Real sum = 0;
    for (std::size_t j = 0; j < m; ++j) {
      sum += point.plan[i * m + j] = std::exp((g[j] - s.cost(i, j)) / heat - largest);
    }
    for (std::size_t j = 0; j < m; ++j) {
      point.plan[i * m + j] *= s.a[i] / sum;
      point.column_sums[j] += point.plan[i * m + j];
    }
    point.value -= s.a[i] * heat * (largest + std::log(sum));
  }
  for (std::size_t j = 0; j < m; ++j) {
    point.value += s.b[j] * g[j];
    point.error += std::abs(point.column_sums[j] - s.b[j]);
  }
  return point;
}

void sinkhorn_step(const Scaled& s, const Point& point, Real heat, std::vector<Real>& g) {
  for (std::size_t j = 0; j < g.size(); ++j) {
    if (point.column_sums[j] > 0) g[j] += heat * std::log(s.b[j] / point.column_sums[j]);
  }
}

/// Solves A x = r in place by Cholesky; A is symmetric and positive definite.
std::vector<Real> solve_positive(std::vector<Real> matrix, std::vector<Real> r) {
  const std::size_t m = r.size();
  for (std::size_t k = 0; k < m; ++k) {
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t i = k; i < m; ++i) matrix[i * m + k] -= matrix[i * m + l] * matrix[k * m + l];
    }
    const Real root = std::sqrt(matrix[k * m + k]);
    for (std::size_t i = k; i < m; ++i) matrix[i * m + k] /= root;
  }
  for (std::size_t k = 0; k < m; ++k) {
    for (std::size_t l = 0; l < k; ++l) r[k] -= matrix[k * m + l] * r[l];
    r[k] /= matrix[k * m + k];
  }
  for (std::size_t k = m; k-- > 0;) {
    for (std::size_t i = k + 1; i < m; ++i) r[k] -= matrix[i * m + k] * r[i];
    r[k] /= matrix[k * m + k];
  }
  return r;
}

/// Newton's step, kept short enough for its model to hold. Directions in which the function is flat are damped.
std::vector<Real> newton_step(const Scaled& s, const Point& point, Real heat) {
  const std::size_t m = s.columns.size();
  std::vector<Real> hessian(m * m);
  std::vector<Real> gradient(m);
  for (std::size_t j = 0; j < m; ++j) {
    gradient[j] = s.b[j] - point.column_sums[j];
    hessian[j * m + j] += point.column_sums[j] + 1e-3L * point.error * s.b[j] + 1e-16L;
  }
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    const Real* row = point.plan.data() + i * m;
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t k = 0; k < m; ++k) hessian[j * m + k] -= row[j] * row[k] / s.a[i];
    }
  }
  std::vector<Real> step = solve_positive(std::move(hessian), std::move(gradient));
  Real largest = 0;
  for (const Real x : step) largest = std::max(largest, std::abs(x));
  const Real factor = heat * (largest > 4 ? 4 / largest : 1);
  for (Real& x : step) x *= factor;
  return step;
}

/// Until the error is below `wanted` or no step makes it smaller.
void maximise(const Scaled& s, Real heat, Real wanted, int most_steps, std::vector<Real>& g) {
  Point point = evaluate(s, g, heat);
  for (int step = 0; step < most_steps && point.error > wanted; ++step) {
    sinkhorn_step(s, point, heat, g);
    point = evaluate(s, g, heat);
    const std::vector<Real> direction = newton_step(s, point, heat);
    bool is_usable = std::ranges::all_of(direction, [](Real x) { return std::isfinite(x); });
    for (Real length = 1; is_usable && length > 1e-3L; length /= 4) {
      std::vector<Real> next = g;
      for (std::size_t j = 0; j < g.size(); ++j) next[j] += length * direction[j];
      Point there = evaluate(s, next, heat);
      if (there.error < point.error || there.value > point.value) {
        g = std::move(next);
        point = std::move(there);
        is_usable = false;
      }
    }
  }
}

Real largest_finite(const std::vector<Real>& costs) {
  Real largest = 0;
  for (const Real c : costs) {
    if (std::isfinite(c)) largest = std::max(largest, std::abs(c));
  }
  return largest;
}

/// Rows, then columns: the number of the component of each.
std::vector<std::size_t> components(const Case& it, const std::vector<Real>& costs, const Masses& masses) {
  std::vector<std::size_t> label(it.n + it.m);
  std::iota(label.begin(), label.end(), 0U);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < it.n; ++i) {
      for (std::size_t j = 0; j < it.m; ++j) {
        if (!(masses.a[i] > 0 && masses.b[j] > 0 && std::isfinite(costs[i * it.m + j]))) continue;
        const std::size_t least = std::min(label[i], label[it.n + j]);
        changed = changed || label[i] != least || label[it.n + j] != least;
        label[i] = label[it.n + j] = least;
      }
    }
  }
  return label;
}

}  // namespace

std::vector<Real> exact_costs(const Case& it) {
  if (!it.cost.empty()) return {it.cost.begin(), it.cost.end()};
  std::vector<Real> costs;
  for (std::size_t i = 0; i < it.n; ++i) {
    for (std::size_t j = 0; j < it.m; ++j) costs.push_back(exact_cost(it, i, j).convert_to<Real>());
  }
  return costs;
}

double largest_cost(const Case& it) { return static_cast<double>(largest_finite(exact_costs(it))); }

Masses exact_masses(const Case& it, const std::vector<Real>& costs, std::size_t target) {
  Masses masses;
  for (std::size_t i = 0; i < it.n; ++i) masses.a.push_back(it.a.empty() ? 1 / Real(it.n) : it.a[i]);
  for (std::size_t j = 0; j < it.m; ++j) {
    masses.b.push_back(it.b.empty() ? 1 / Real(it.m) : it.b[j * it.targets + target]);
  }
  masses.total = std::accumulate(masses.a.begin(), masses.a.end(), Real(0));
  const std::vector<std::size_t> label = components(it, costs, masses);
  std::vector<Real> rows(label.size());
  std::vector<Real> columns(label.size());
  for (std::size_t i = 0; i < it.n; ++i) rows[label[i]] += masses.a[i];
  for (std::size_t j = 0; j < it.m; ++j) columns[label[it.n + j]] += masses.b[j];
  for (std::size_t j = 0; j < it.m; ++j) {
    const std::size_t component = label[it.n + j];
    if (masses.b[j] > 0 && rows[component] > 0) masses.b[j] *= rows[component] / columns[component];
  }
  return masses;
}

ReferencePlan reference_plan(const Case& it, const std::vector<Real>& costs, const Masses& masses) {
  const Scaled s = scaled(it, costs, masses);
  std::vector<Real> g(s.columns.size());
  for (Real heat = largest_finite(s.costs); heat > 1; heat /= 2) maximise(s, heat, 1e-12L, 100, g);
  const Real rounding = std::numeric_limits<Real>::epsilon() * (1 + largest_finite(s.costs));
  maximise(s, 1, std::max(1e-15L, 4 * rounding), 1000, g);

  const Point point = evaluate(s, g, 1);
  ReferencePlan result{std::vector<Real>(it.n * it.m), point.error * masses.total};
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    for (std::size_t j = 0; j < s.columns.size(); ++j) {
      result.plan[s.rows[i] * it.m + s.columns[j]] = point.plan[i * s.columns.size() + j] * masses.total;
    }
  }
  return result;
}

Real plain_sinkhorn_error(const Case& it, const std::vector<Real>& costs, const Masses& masses,
                          std::int64_t iterations) {
  const Scaled s = scaled(it, costs, masses);
  std::vector<Real> g(s.columns.size());
  for (std::int64_t k = 0; k < iterations; ++k) sinkhorn_step(s, evaluate(s, g, 1), 1, g);
  // After the half-step of g the columns are right. One more half-step of f shows what the rows were off by: it makes
  // them right and carries over their error.
  const Point point = evaluate(s, g, 1);
  std::vector<Real> difference;
  for (std::size_t j = 0; j < g.size(); ++j) difference.push_back((point.column_sums[j] - s.b[j]) * masses.total);
  return norm_of(it.options.norm, difference);
}

Real norm_of(Norm norm, const std::vector<Real>& difference) {
  Real result = 0;
  for (const Real x : difference) {
    if (norm == Norm::l1) result += std::abs(x);
    if (norm == Norm::l2) result = std::hypot(result, x);
    if (norm == Norm::linf) result = std::max(result, std::abs(x));
  }
  return result;
}

}  // namespace fedsinkhorn::torture
