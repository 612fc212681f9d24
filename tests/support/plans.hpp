// Plans as a whole, for problems small enough.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn::testing {

inline std::vector<double> whole_plan(const Problem& problem, const Result& result, std::size_t target = 0) {
  std::vector<double> plan(result.rows * result.columns);
  Plan(problem, result, 1).rows(0, result.rows, target, plan);
  return plan;
}

inline double l1_distance(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = x.size() == y.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < x.size() && k < y.size(); ++k) sum += std::abs(x[k] - y[k]);
  return sum;
}

inline double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = x.size() == y.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < x.size() && k < y.size(); ++k) {
    if (x[k] == y[k]) continue;  // infinite ones too
    const double difference = std::abs(x[k] - y[k]);
    largest = std::max(largest, std::isnan(difference) ? INFINITY : difference);
  }
  return largest;
}

/// Largest error of the plan's row sums and column sums, in L1.
inline double plan_error(const std::vector<double>& plan, const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> rows(a.size());
  std::vector<double> columns(b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      rows[i] += plan[i * b.size() + j];
      columns[j] += plan[i * b.size() + j];
    }
  }
  return std::max(l1_distance(rows, a), l1_distance(columns, b));
}

}  // namespace fedsinkhorn::testing
