#include "kernel/block_points.hpp"

#include <cmath>

namespace fedsinkhorn {
namespace {

/// Up to this many coordinates distances are summed from differences, which loses no digits to cancellation. Beyond,
/// |x|^2 + |y|^2 - 2 x.y on centred points halves the work; where the two are close, and that loses digits, the
/// distance is summed from differences all the same.
constexpr std::size_t kDirectDimensions = 16;

/// The chosen points as doubles, row-major. The first one held is number first_held.
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

/// The mean of all points y, whichever of them a block has: costs must not depend on who computes them.
std::vector<double> mean_of(const AnyMatrix& points) {
  return std::visit(
      [](const auto& view) {
        std::vector<double> mean(view.columns);
        for (std::size_t i = 0; i < view.rows; ++i) {
          for (std::size_t k = 0; k < view.columns; ++k) mean[k] += static_cast<double>(view(i, k));
        }
        for (double& x : mean) x /= static_cast<double>(view.rows);
        return mean;
      },
      points);
}

void subtract(std::vector<double>& points, const std::vector<double>& origin) {
  for (std::size_t i = 0; i < points.size(); ++i) points[i] -= origin[i % origin.size()];
}

void scale_to_unit_length(std::vector<double>& points, std::size_t dimension) {
  const std::vector<double> norms = squared_norms(points, dimension);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] /= std::sqrt(norms[i / dimension]);
}

}  // namespace

std::vector<double> squared_norms(const std::vector<double>& points, std::size_t dimension) {
  std::vector<double> norms(points.size() / dimension);
  for (std::size_t i = 0; i < points.size(); ++i) norms[i / dimension] += points[i] * points[i];
  return norms;
}

BlockPoints block_points(const CostBlock& block, Centring centring) {
  const auto& clouds = std::get<PointClouds>(block.input->cost);
  BlockPoints points;
  points.dimension = columns_of(clouds.x);
  points.metric = clouds.metric;
  points.x = gather(clouds.x, block.rows, block.first_held);
  points.y = gather(clouds.y, block.columns, 0);
  if (clouds.metric == Metric::cosine) {
    scale_to_unit_length(points.x, points.dimension);
    scale_to_unit_length(points.y, points.dimension);
  } else if (centring == Centring::always || points.dimension > kDirectDimensions) {
    const std::vector<double> origin = mean_of(clouds.y);
    subtract(points.x, origin);
    subtract(points.y, origin);
    points.are_centred = true;
  }
  return points;
}

}  // namespace fedsinkhorn
