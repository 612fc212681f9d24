// Random problems for tests, small and awkward.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/problem.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn::testing {

/// Owns what a Problem only refers to.
struct OwnedProblem {
  std::size_t n = 0;
  std::size_t m = 0;
  std::size_t targets = 1;
  std::vector<double> cost;
  std::vector<double> a;
  std::vector<double> b;  // m x targets
  double epsilon = 1;

  [[nodiscard]] Problem view() const {
    Problem problem;
    problem.cost = CostMatrix{MatrixView<double>{cost.data(), n, m}};
    problem.a = a;
    problem.b = {b.data(), m, targets};
    problem.epsilon = epsilon;
    return problem;
  }
};

inline void normalise(std::vector<double>& masses, std::size_t column = 0, std::size_t stride = 1) {
  double sum = 0;
  for (std::size_t i = column; i < masses.size(); i += stride) sum += masses[i];
  for (std::size_t i = column; i < masses.size(); i += stride) masses[i] /= sum;
}

/// Costs uniform in [0, 1), masses in [0.1, 1.1) normalised.
inline OwnedProblem random_problem(std::size_t n, std::size_t m, double epsilon, std::uint64_t seed,
                                   std::size_t targets = 1) {
  Random random(seed);
  OwnedProblem problem{n, m, targets, {}, {}, {}, epsilon};
  for (std::size_t k = 0; k < n * m; ++k) problem.cost.push_back(random.uniform());
  for (std::size_t i = 0; i < n; ++i) problem.a.push_back(0.1 + random.uniform());
  for (std::size_t j = 0; j < m * targets; ++j) problem.b.push_back(0.1 + random.uniform());
  normalise(problem.a);
  for (std::size_t k = 0; k < targets; ++k) normalise(problem.b, k, targets);
  return problem;
}

/// Groups of rows and columns that are far from each other: mass that must go from one to another moves slowly, so
/// Sinkhorn's iteration needs thousands of iterations.
inline OwnedProblem block_problem(std::size_t n, std::size_t m, double epsilon, std::uint64_t seed) {
  constexpr std::size_t kBlocks = 3;
  OwnedProblem problem = random_problem(n, m, epsilon, seed);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      double& cost = problem.cost[i * m + j];
      cost = 0.3 * cost + (i % kBlocks == j % kBlocks ? 0 : 1);
    }
  }
  return problem;
}

/// Costs become squared distances of points in the plane, x of n x 2 and y of m x 2, scaled to a largest of 1.
inline void set_distances(OwnedProblem& problem, const std::vector<double>& x, const std::vector<double>& y) {
  double largest = 0;
  for (std::size_t i = 0; i < problem.n; ++i) {
    for (std::size_t j = 0; j < problem.m; ++j) {
      const double dx = x[2 * i] - y[2 * j];
      const double dy = x[2 * i + 1] - y[2 * j + 1];
      problem.cost[i * problem.m + j] = dx * dx + dy * dy;
      largest = std::max(largest, problem.cost[i * problem.m + j]);
    }
  }
  for (double& cost : problem.cost) cost /= largest;
}

/// Points all over a square, which converge faster at small epsilon than random costs.
inline OwnedProblem point_problem(std::size_t n, std::size_t m, double epsilon, std::uint64_t seed) {
  OwnedProblem problem = random_problem(n, m, epsilon, seed);
  Random random(seed, 1);
  std::vector<double> x(2 * n);
  std::vector<double> y(2 * m);
  for (double& coordinate : x) coordinate = random.uniform();
  for (double& coordinate : y) coordinate = random.uniform();
  set_distances(problem, x, y);
  return problem;
}

}  // namespace fedsinkhorn::testing
