// The points of a block, ready to compute costs from.
#pragma once

#include <cstddef>
#include <vector>

#include "cost/cost_block.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

/// Coordinates as float64, point after point. For cosine they are those of points of unit length, and the cost is
/// |x - y|^2 / 2.
struct BlockPoints {
  std::vector<double> x, y;
  /// Cosine: what rounding left out of x and y. Nearly parallel points differ in digits that x and y may not have.
  std::vector<double> x_rest, y_rest;
  std::size_t dimension = 1;
  Metric metric = Metric::sqeuclidean;
  bool are_centred = false;  ///< around the mean of all y (cosine: scaled to unit length)
  double spread = 0;         ///< cosine, centred: the largest |y|^2 of all y, whichever of them the block has
  /// Euclidean: coordinates are in units of this power of two. It is 1 unless they are so large or so small that their
  /// squares overflow or vanish.
  double unit = 1;
};

/// Up to this many coordinates costs are summed from differences, which loses no digits to cancellation. Beyond,
/// |x|^2 + |y|^2 - 2 x.y on centred points halves the work; where the two points are close, and that loses digits, the
/// cost is summed from differences all the same.
inline constexpr std::size_t kDirectDimensions = 16;

/// where_it_pays: distances of many coordinates, which are best had from products, and cosines, so that nearly parallel
/// points keep their digits. distances: of any number of coordinates, but not cosines, which stay points of unit
/// length.
enum class Centring { where_it_pays, distances };

/// The block is one of points.
[[nodiscard]] BlockPoints block_points(const CostBlock& block, Centring centring = Centring::where_it_pays);

[[nodiscard]] std::vector<double> squared_norms(const std::vector<double>& points, std::size_t dimension);

}  // namespace fedsinkhorn
