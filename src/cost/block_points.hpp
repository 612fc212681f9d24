// The points of a block, ready to compute costs from.
#pragma once

#include <cstddef>
#include <vector>

#include "cost/cost_block.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

/// Coordinates as float64, point by point. For cosine, points have unit length, and the cost is |x - y|^2 / 2.
struct BlockPoints {
  std::vector<double> x, y;
  /// Cosine: what rounding left out of x and y. Nearly parallel points differ in digits that x and y may not have.
  std::vector<double> x_rest, y_rest;
  std::size_t dimension = 1;
  Metric metric = Metric::sqeuclidean;
  bool are_centred = false;  ///< around the mean of all y (cosine: scaled to unit length)
  double spread = 0;         ///< cosine, centred: the largest |y|^2 of all y, not just the block's
  /// Euclidean: the unit of the coordinates, a power of two. It is 1 unless their squares would overflow or vanish.
  double unit = 1;
};

/// Up to this many coordinates, costs are summed from differences, which loses no digits to cancellation. Beyond that,
/// |x|^2 + |y|^2 - 2 x.y on centred points halves the work. Where two points are so close that this loses digits, the
/// cost is still summed from differences.
inline constexpr std::size_t kDirectDimensions = 16;

/// where_it_pays: distances in many dimensions, which are best computed from products, and cosines, so that nearly
/// parallel points keep their digits. distances: in any dimension, but not cosines, whose points keep unit length.
enum class Centring { where_it_pays, distances };

/// The block's costs must come from points.
[[nodiscard]] BlockPoints block_points(const CostBlock& block, Centring centring = Centring::where_it_pays);

[[nodiscard]] std::vector<double> squared_norms(const std::vector<double>& points, std::size_t dimension);

}  // namespace fedsinkhorn
