// Derivatives of the value with respect to points: sum_j P_ij dC_ij/dx_i. For distances these are weighted sums of x_i
// - y_j, for cosines of y_j, so products with the plan give them.
#include <algorithm>
#include <cmath>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/gradients.hpp"
#include "solve/plan_state.hpp"

namespace fedsinkhorn {
namespace {

/// Points as float64, row-major.
struct GradientPoints {
  std::vector<double> data;
  std::size_t dimension = 0;

  [[nodiscard]] std::size_t count() const { return dimension == 0 ? 0 : data.size() / dimension; }
  [[nodiscard]] MatrixView<double> view() const { return {data.data(), count(), dimension}; }
};

GradientPoints points_in_float64(const AnyMatrix& given, std::size_t first, std::size_t count) {
  return std::visit(
      [&](const auto& view) {
        const auto* begin = view.row(first);
        return GradientPoints{std::vector<double>(begin, begin + count * view.columns), view.columns};
      },
      given);
}

/// Moves both clouds by the same vector, to where the differences of coordinates lose no digits.
void centre(GradientPoints& x, GradientPoints& y) {
  const std::size_t d = y.dimension;
  const double weight = 1 / static_cast<double>(y.count());
  std::vector<double> mean(d);
  for (std::size_t j = 0; j < y.count(); ++j) {
    for (std::size_t c = 0; c < d; ++c) mean[c] += weight * y.data[j * d + c];
  }
  for (GradientPoints* points : {&x, &y}) {
    for (std::size_t i = 0; i < points->count(); ++i) {
      for (std::size_t c = 0; c < d; ++c) points->data[i * d + c] -= mean[c];
    }
  }
}

/// To length 1; returns the lengths they had.
std::vector<double> scale_to_unit(GradientPoints& points) {
  std::vector<double> lengths(points.count());
  for (std::size_t i = 0; i < points.count(); ++i) {
    double* point = points.data.data() + i * points.dimension;
    // By the largest coordinate first, as squares could overflow.
    double largest = 0;
    for (std::size_t c = 0; c < points.dimension; ++c) largest = std::max(largest, std::abs(point[c]));
    double squares = 0;
    for (std::size_t c = 0; c < points.dimension; ++c) squares += (point[c] / largest) * (point[c] / largest);
    lengths[i] = largest * std::sqrt(squares);
    for (std::size_t c = 0; c < points.dimension; ++c) point[c] = point[c] / largest / std::sqrt(squares);
  }
  return lengths;
}

using Product = void (*)(const Plan::State&, std::size_t, EntryWeight, MatrixView<double>, std::span<double>);

/// factor * sum_j w_ij (x_i - y_j) for every point of `own`; `product` sums over the points of `other`.
std::vector<double> weighted_differences(const Plan::State& state, std::size_t target, EntryWeight weight,
                                         Product product, const GradientPoints& own, const GradientPoints& other,
                                         double factor) {
  // One product: the sums of a last coordinate of 1 are the totals.
  const std::size_t d = own.dimension;
  const std::vector<double> extended = with_ones(other.view());
  std::vector<double> sums(own.count() * (d + 1));
  product(state, target, weight, {extended.data(), other.count(), d + 1}, sums);
  std::vector<double> gradients(own.data.size());
  for (std::size_t i = 0; i < own.count(); ++i) {
    const double* of_point = sums.data() + i * (d + 1);
    for (std::size_t c = 0; c < d; ++c) {
      gradients[i * d + c] = factor * (of_point[d] * own.data[i * d + c] - of_point[c]);
    }
  }
  return gradients;
}

/// Cosine: -(s - (x.s) x) / |x| with s = sum_j P_ij y_j, for x and y of unit length.
std::vector<double> cosine_gradients(const Plan::State& state, std::size_t target, Product product,
                                     const GradientPoints& own, const std::vector<double>& lengths,
                                     const GradientPoints& other) {
  std::vector<double> sums(own.data.size());
  product(state, target, EntryWeight::one, other.view(), sums);
  for (std::size_t i = 0; i < own.count(); ++i) {
    const double* x = own.data.data() + i * own.dimension;
    double* s = sums.data() + i * own.dimension;
    double along = 0;
    for (std::size_t c = 0; c < own.dimension; ++c) along += x[c] * s[c];
    for (std::size_t c = 0; c < own.dimension; ++c) s[c] = -(s[c] - along * x[c]) / lengths[i];
  }
  return sums;
}

}  // namespace

PointGradients point_gradients(const Problem& problem, const Result& result, std::size_t target, int threads) {
  const auto* clouds = std::get_if<PointClouds>(&problem.cost);
  if (clouds == nullptr) throw InputError("gradients", "costs are not from points", "use the plan: dV/dC is P");
  if (target >= result.targets) throw InputError("gradients", "there is no such target");
  const Plan plan(problem, result, threads);
  const Plan::State& state = plan.state();
  GradientPoints x = points_in_float64(clouds->x, problem.parts.rows ? 0 : result.first_row, state.rows_here());
  GradientPoints y = points_in_float64(clouds->y, 0, result.columns);
  const auto by_differences = [&](EntryWeight weight, double factor) {
    centre(x, y);
    return PointGradients{weighted_differences(state, target, weight, multiply, x, y, factor),
                          weighted_differences(state, target, weight, multiply_transposed, y, x, factor)};
  };
  switch (clouds->metric) {
    case Metric::sqeuclidean: return by_differences(EntryWeight::one, 2);
    case Metric::euclidean: return by_differences(EntryWeight::inverse_cost, 1);
    case Metric::cosine: break;
  }
  const std::vector<double> x_lengths = scale_to_unit(x);
  const std::vector<double> y_lengths = scale_to_unit(y);
  return {cosine_gradients(state, target, multiply, x, x_lengths, y),
          cosine_gradients(state, target, multiply_transposed, y, y_lengths, x)};
}

}  // namespace fedsinkhorn
