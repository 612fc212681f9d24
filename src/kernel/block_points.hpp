// The points of a block, ready to compute costs from.
#pragma once

#include <cstddef>
#include <vector>

#include "core/cost_block.hpp"

namespace fedsinkhorn {

/// Coordinates as float64, point after point. For cosine all have unit length.
struct BlockPoints {
  std::vector<double> x, y;
  std::size_t dimension = 1;
  Metric metric = Metric::sqeuclidean;
  bool are_centred = false;  ///< around the mean of all y
};

/// where_it_pays: distances of many coordinates, which are best had from products.
enum class Centring { where_it_pays, always };

/// Cosines are about the origin: their points are never centred.
[[nodiscard]] BlockPoints block_points(const CostBlock& block, Centring centring = Centring::where_it_pays);

[[nodiscard]] std::vector<double> squared_norms(const std::vector<double>& points, std::size_t dimension);

}  // namespace fedsinkhorn
