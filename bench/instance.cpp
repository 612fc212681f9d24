#include "instance.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

namespace fedsinkhorn::bench {
namespace {

/// Fractional part of (i + 1) sqrt(number): evenly spread, and the same bits wherever IEEE 754 holds.
double spread(std::size_t i, double number) {
  const double x = static_cast<double>(i + 1) * std::sqrt(number);
  return x - std::floor(x);
}

void scale_to_total_one(std::vector<double>& masses) {
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  for (double& mass : masses) mass /= total;
}

Points drawn(SyntheticSpec spec) {
  spec.seed = 1;
  spec.random_marginals = true;
  SyntheticProblem problem = generate(spec);
  return {spec.dimension, std::move(problem.x), std::move(problem.y), std::move(problem.a), std::move(problem.b)};
}

}  // namespace

Points random_points(CloudKind kind, std::size_t n, std::size_t dimension, std::size_t targets) {
  SyntheticSpec spec;
  spec.kind = kind;
  spec.rows = n;
  spec.dimension = dimension;
  spec.targets = targets;
  return drawn(spec);
}

Points rectangle_of_points(std::size_t n, std::size_t m) {
  SyntheticSpec spec;
  spec.rows = n;
  spec.columns = m;
  return drawn(spec);
}

Points formula_points(std::size_t n) {
  Points points;
  for (std::size_t i = 0; i < n; ++i) {
    for (const double number : {2.0, 3.0}) points.x.push_back(spread(i, number));
    for (const double number : {5.0, 7.0}) points.y.push_back(spread(i, number));
    points.a.push_back(0.5 + spread(i, 11.0));
    points.b.push_back(0.5 + spread(i, 13.0));
  }
  scale_to_total_one(points.a);
  scale_to_total_one(points.b);
  return points;
}

Instance::Instance(Points points, double epsilon, int threads, const cpu::Simd& simd)
    : points_(std::move(points)),
      problem_{
          PointClouds{MatrixView<double>{points_.x.data(), points_.a.size(), points_.dimension},
                      MatrixView<double>{points_.y.data(), points_.y.size() / points_.dimension, points_.dimension}},
          epsilon, points_.a,
          MatrixView<double>{points_.b.data(), points_.y.size() / points_.dimension,
                             points_.b.size() * points_.dimension / points_.y.size()}},
      checked_(check_problem(problem_, Feasibility::skip, threads)),
      simd_(simd),
      cost_(make_cost_source(checked_.block(), simd_)) {}

Iteration::Iteration(const Instance& instance, Kernel& kernel)
    : problem_(instance.checked()),
      kernel_(kernel),
      u_(instance.targets() * instance.n()),
      q_(instance.targets() * instance.n()),
      v_(instance.targets() * instance.m(), 1.0),
      r_(instance.targets() * instance.m()) {}

void Iteration::fused() {
  kernel_.fused(problem_.targets, {problem_.a}, v_.data(), q_.data(), u_.data(), r_.data());
  update_v();
}

void Iteration::two_passes() {
  kernel_.apply(problem_.targets, v_.data(), q_.data());
  for (std::size_t i = 0; i < u_.size(); ++i) u_[i] = problem_.a[i % problem_.n()] / q_[i];
  kernel_.apply_transposed(problem_.targets, u_.data(), r_.data());
  update_v();
}

void Iteration::update_v() {
  for (std::size_t j = 0; j < v_.size(); ++j) v_[j] = problem_.b[j] / r_[j];
}

void require_close(const char* what, const std::vector<double>& x, const std::vector<double>& y, double tolerance) {
  if (x.size() != y.size()) throw std::runtime_error(fmt::format("{}: {} against {} values", what, x.size(), y.size()));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(x[i] - y[i]) / std::abs(y[i]);
    if (!(error <= worst)) worst = error;
    if (!(worst <= tolerance)) {
      throw std::runtime_error(fmt::format("{}: {} against {} at {}: wrong by {:.2g}, allowed is {:.2g}", what, x[i],
                                           y[i], i, worst, tolerance));
    }
  }
}

}  // namespace fedsinkhorn::bench
