#include "cost/block_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/exact_sum.hpp"
#include "cost/metric.hpp"
#include "cost/points_input.hpp"

namespace fedsinkhorn {
namespace {

/// If the largest coordinate is between 2^-400 and 2^400, coordinates are squared unscaled: distances of 1e-33 of it
/// still have nonzero squares, and shorter ones are negligible compared with any accepted epsilon.
constexpr int kOrdinaryExponent = 400;

/// The chosen points as doubles, row-major. first_held: the number of the first point in `points`.
std::vector<double> gather(const AnyMatrix& points, const std::vector<std::size_t>& chosen, std::size_t first_held) {
  return std::visit(
      [&](const auto& view) {
        std::vector<double> out(chosen.size() * view.columns);
        for (std::size_t i = 0; i < chosen.size(); ++i) {
          const auto* from = view.row(chosen[i] - first_held);
          for (std::size_t k = 0; k < view.columns; ++k) out[i * view.columns + k] = static_cast<double>(from[k]);
        }
        return out;
      },
      points);
}

/// The mean of all points y, not just the block's: costs must not depend on which client computes them.
std::vector<double> mean_of(const AnyMatrix& points, double unit) {
  return std::visit(
      [unit](const auto& view) {
        std::vector<double> mean(view.columns);
        for (std::size_t i = 0; i < view.rows; ++i) {
          for (std::size_t k = 0; k < view.columns; ++k) mean[k] += static_cast<double>(view(i, k)) / unit;
        }
        for (double& x : mean) x /= static_cast<double>(view.rows);
        return mean;
      },
      points);
}

void subtract(std::vector<double>& points, const std::vector<double>& origin) {
  for (std::size_t first = 0; first < points.size(); first += origin.size()) {
    for (std::size_t k = 0; k < origin.size(); ++k) points[first + k] -= origin[k];
  }
}

double largest_of(std::span<const double> coordinates) {
  double largest = 0;
  for (const double x : coordinates) largest = std::max(largest, std::abs(x));
  return largest;
}

/// The next power of two above; 1 for 0.
double power_above(double largest) {
  int exponent = 0;
  (void)std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::min(exponent, std::numeric_limits<double>::max_exponent - 1));
}

/// A power of two changes no digit of the costs, so each block may choose its own.
double unit_for(const BlockPoints& points) {
  const double unit = power_above(std::max(largest_of(points.x), largest_of(points.y)));
  return std::abs(std::ilogb(unit)) <= kOrdinaryExponent ? 1 : unit;
}

void divide(std::vector<double>& points, double unit) {
  for (double& x : points) x /= unit;
}

/// 1 / |point| as value + rest, to about 32 digits.
ExactSum inverse_length(std::span<const double> point) {
  ExactSum square;
  for (const double x : point) {
    square.add(x * x);
    square.rest += std::fma(x, x, -(x * x));
  }
  // One Newton step from the float64 result. The residual 1 - start^2 |point|^2 is computed without cancellation.
  const double start = 1 / std::sqrt(square.total());
  const double start_square = start * start;
  const double missing = std::fma(-square.value, start_square, 1.0) -
                         square.value * std::fma(start, start, -start_square) - square.rest * start_square;
  return {start, start * missing / 2};
}

/// Returns what rounding left out.
std::vector<double> scale_to_unit_length(std::vector<double>& points, std::size_t dimension) {
  std::vector<double> rest(points.size());
  for (std::size_t first = 0; first < points.size(); first += dimension) {
    const std::span<double> point(points.data() + first, dimension);
    const double unit = power_above(largest_of(point));
    for (double& x : point) x /= unit;
    const ExactSum inverse = inverse_length(point);
    for (std::size_t k = 0; k < dimension; ++k) {
      const double product = point[k] * inverse.value;
      const double left_out = std::fma(point[k], inverse.value, -product) + point[k] * inverse.rest;
      point[k] = product + left_out;
      rest[first + k] = left_out - (point[k] - product);
    }
  }
  return rest;
}

/// Calls use(point) for every point y, scaled to unit length.
template <class Use>
void for_each_direction(const AnyMatrix& points, const Use& use) {
  std::visit(
      [&](const auto& view) {
        std::vector<double> point(view.columns);
        for (std::size_t i = 0; i < view.rows; ++i) {
          std::copy_n(view.row(i), view.columns, point.begin());
          (void)scale_to_unit_length(point, view.columns);
          use(point);
        }
      },
      points);
}

/// See mean_of.
std::vector<double> mean_direction(const AnyMatrix& points, std::size_t dimension) {
  std::vector<double> mean(dimension);
  double count = 0;
  for_each_direction(points, [&](const std::vector<double>& point) {
    for (std::size_t k = 0; k < dimension; ++k) mean[k] += point[k];
    ++count;
  });
  for (double& x : mean) x /= count;
  return mean;
}

double spread_around(const std::vector<double>& origin, const AnyMatrix& points) {
  double spread = 0;
  for_each_direction(points, [&](std::vector<double> point) {
    subtract(point, origin);
    spread = std::max(spread, squared_norms(point, origin.size()).front());
  });
  return spread;
}

/// Adds what rounding leaves out to the rests.
void subtract(std::vector<double>& points, std::vector<double>& rest, const std::vector<double>& origin) {
  for (std::size_t first = 0; first < points.size(); first += origin.size()) {
    for (std::size_t k = 0; k < origin.size(); ++k) {
      const std::size_t i = first + k;
      ExactSum difference{points[i], rest[i]};
      difference.add(-origin[k]);
      points[i] = difference.total();
      rest[i] = difference.rest - (points[i] - difference.value);
    }
  }
}

}  // namespace

std::vector<double> squared_norms(const std::vector<double>& points, std::size_t dimension) {
  std::vector<double> norms(points.size() / dimension);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    for (std::size_t k = 0; k < dimension; ++k) norms[i] += points[i * dimension + k] * points[i * dimension + k];
  }
  return norms;
}

BlockPoints block_points(const CostBlock& block, Centring centring) {
  const PointClouds& clouds = block.costs->points()->clouds();
  BlockPoints points;
  points.dimension = columns_of(clouds.x);
  points.metric = clouds.metric;
  points.x = gather(clouds.x, block.rows, block.first_held);
  points.y = gather(clouds.y, block.columns, 0);
  if (is_of_directions(clouds.metric)) {
    points.x_rest = scale_to_unit_length(points.x, points.dimension);
    points.y_rest = scale_to_unit_length(points.y, points.dimension);
    if (centring == Centring::where_it_pays) {
      const std::vector<double> origin = mean_direction(clouds.y, points.dimension);
      subtract(points.x, points.x_rest, origin);
      subtract(points.y, points.y_rest, origin);
      points.spread = spread_around(origin, clouds.y);
      points.are_centred = true;
    }
    return points;
  }
  if (is_root(clouds.metric)) {
    points.unit = unit_for(points);
    divide(points.x, points.unit);
    divide(points.y, points.unit);
  }
  if (centring == Centring::distances || points.dimension > kDirectDimensions) {
    const std::vector<double> origin = mean_of(clouds.y, points.unit);
    subtract(points.x, origin);
    subtract(points.y, origin);
    points.are_centred = true;
  }
  return points;
}

}  // namespace fedsinkhorn
