// The obvious way, on the host, for checks and benchmarks of the online operator.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "backend/cuda/online.hpp"

namespace fedsinkhorn::cuda {

/// body(i) for all i < count, by all processors.
template <class Body>
void in_parallel(std::size_t count, const Body& body) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> workers;
  const std::size_t threads = std::min<std::size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  for (std::size_t k = 0; k < threads; ++k) {
    workers.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    });
  }
}

/// C_ij in long double.
inline long double cost_of(const Points& points, std::size_t i, std::size_t j) {
  const double* x = points.x.data() + i * points.dimension;
  const double* y = points.y.data() + j * points.dimension;
  long double sum = 0;
  for (std::size_t c = 0; c < points.dimension; ++c) {
    const long double left = x[c];
    const long double right = y[c];
    sum += points.metric == Metric::cosine ? left * right : (left - right) * (left - right);
  }
  if (points.metric == Metric::cosine) return 1 - sum;
  return points.metric == Metric::euclidean ? std::sqrt(sum) : sum;
}

/// Normal coordinates of variance 1 / dimension, of unit length for cosine.
inline std::vector<double> random_points(std::size_t count, std::size_t dimension, Metric metric,
                                         std::mt19937_64& draw) {
  std::normal_distribution<double> normal(0, 1 / std::sqrt(static_cast<double>(dimension)));
  std::vector<double> points(count * dimension);
  for (double& x : points) x = normal(draw);
  if (metric == Metric::cosine) {
    for (std::size_t i = 0; i < count; ++i) {
      double norm = 0;
      for (std::size_t c = 0; c < dimension; ++c) norm += points[i * dimension + c] * points[i * dimension + c];
      for (std::size_t c = 0; c < dimension; ++c) points[i * dimension + c] /= std::sqrt(norm);
    }
  }
  return points;
}

}  // namespace fedsinkhorn::cuda
