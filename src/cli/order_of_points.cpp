#include "cli/order_of_points.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace fedsinkhorn {
namespace {

/// More points would not change the direction much.
constexpr std::size_t kMostForDirection = 4000;
/// A rough direction is good enough to look at.
constexpr int kPowerSteps = 50;

/// Calls visit(point) for every step-th point.
template <typename Visit>
void for_each_point(const AnyMatrix& points, std::size_t step, const Visit& visit) {
  std::visit(
      [&](const auto& view) {
        std::vector<double> point(view.columns);
        for (std::size_t i = 0; i < view.rows; i += step) {
          for (std::size_t k = 0; k < view.columns; ++k)
            point[k] = static_cast<double>(view.data[i * view.columns + k]);
          visit(std::span<const double>(point));
        }
      },
      points);
}

double product(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The first principal axis of both clouds, by power iteration.
std::vector<double> main_direction(const AnyMatrix& x, const AnyMatrix& y) {
  const std::size_t d = columns_of(x);
  const std::size_t step = std::max<std::size_t>(1, (rows_of(x) + rows_of(y)) / kMostForDirection);
  std::vector<double> mean(d);
  double count = 0;
  const auto for_both = [&](const auto& visit) {
    for_each_point(x, step, visit);
    for_each_point(y, step, visit);
  };
  for_both([&](std::span<const double> point) {
    for (std::size_t k = 0; k < d; ++k) mean[k] += point[k];
    ++count;
  });
  for (double& entry : mean) entry /= count;
  std::vector<double> direction(d);
  for (std::size_t k = 0; k < d; ++k) direction[k] = 1.0 / static_cast<double>(k + 1);  // along no axis of symmetry
  for (int round = 0; round < kPowerSteps; ++round) {
    std::vector<double> next(d);
    const double at_mean = product(mean, direction);
    for_both([&](std::span<const double> point) {
      const double along = product(point, direction) - at_mean;
      for (std::size_t k = 0; k < d; ++k) next[k] += along * (point[k] - mean[k]);
    });
    const double length = std::sqrt(product(next, next));
    if (!(length > 0)) break;
    for (std::size_t k = 0; k < d; ++k) direction[k] = next[k] / length;
  }
  return direction;
}

std::vector<std::size_t> places_along(const AnyMatrix& points, std::span<const double> direction) {
  std::vector<double> along;
  for_each_point(points, 1, [&](std::span<const double> point) { along.push_back(product(point, direction)); });
  std::vector<std::size_t> order(along.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return along[i]; });
  std::vector<std::size_t> places(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) places[order[k]] = k;
  return places;
}

}  // namespace

OrderOfPoints order_of_points(const AnyMatrix& x, const AnyMatrix& y) {
  const std::vector<double> direction = main_direction(x, y);
  return {places_along(x, direction), places_along(y, direction)};
}

}  // namespace fedsinkhorn
