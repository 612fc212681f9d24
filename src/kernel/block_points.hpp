// The points of a block, ready to compute costs from.
#pragma once

#include <cstddef>
#include <vector>

#include "core/cost_block.hpp"

namespace fedsinkhorn {

/// Coordinates as float64, point after point. For cosine all have unit length.
struct BlockPoints {
  std::vector<double> x, y;
  /// Cosine: what rounding left out of x and y. Nearly parallel points differ in digits that x and y do not have.
  std::vector<double> x_rest, y_rest;
  std::size_t dimension = 1;
  Metric metric = Metric::sqeuclidean;
  bool are_centred = false;  ///< around the mean of all y
  /// Euclidean: coordinates are in units of this power of two. It is 1 unless they are so large or so small that their
  /// squares overflow or vanish.
  double unit = 1;
};

/// Up to this many coordinates costs are summed from differences, which loses no digits to cancellation. Beyond,
/// products
/// (|x|^2 + |y|^2 - 2 x.y on centred points, 1 - x.y) halve the work; where the two points are close, and that loses
/// digits, the cost is summed from differences all the same.
inline constexpr std::size_t kDirectDimensions = 16;

/// where_it_pays: distances of many coordinates, which are best had from products.
enum class Centring { where_it_pays, always };

/// Cosines are about the origin: their points are never centred.
[[nodiscard]] BlockPoints block_points(const CostBlock& block, Centring centring = Centring::where_it_pays);

[[nodiscard]] std::vector<double> squared_norms(const std::vector<double>& points, std::size_t dimension);

}  // namespace fedsinkhorn
