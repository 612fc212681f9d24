#include "cost/points_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "cost/block_points.hpp"
#include "cost/metric.hpp"
#include "cost/points_cost.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// sqrt(sum of squares) of coordinates of any size: no square overflows, and none that matters vanishes.
double length_of(std::span<const double> coordinates) {
  double largest = 0;
  for (const double x : coordinates) largest = std::max(largest, std::abs(x));
  if (largest == 0 || std::isinf(largest)) return largest;
  double squares = 0;
  for (const double x : coordinates) squares += (x / largest) * (x / largest);
  return largest * std::sqrt(squares);
}

/// Metrics of directions: the point is scaled to unit length.
template <class T>
std::vector<double> place_of(const MatrixView<T>& points, std::size_t i, Metric metric) {
  std::vector<double> place(points.row(i), points.row(i) + points.columns);
  if (!is_of_directions(metric)) return place;
  const double length = length_of(place);
  for (double& x : place) x /= length;
  return place;
}

template <class T>
Reach reach_of(const MatrixView<T>& points, Range rows, const std::string& name, Metric metric,
               std::span<const double> place) {
  Reach reach;
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    std::vector<double> point(points.row(i), points.row(i) + points.columns);
    for (std::size_t k = 0; k < point.size(); ++k) {
      if (!std::isfinite(point[k])) {
        throw InputError(name, fmt::format("coordinate {} of point {} is {}", k, i, point[k]),
                         "coordinates must be finite");
      }
    }
    const double length = length_of(point);
    if (is_of_directions(metric) && !(length > 0)) {
      throw InputError(name, fmt::format("point {} has no length", i), "the cosine metric needs a direction");
    }
    if (!is_of_directions(metric) && std::isinf(cost_at(metric, length))) {
      throw InputError(name, fmt::format("point {} is too far out for float64", i));
    }
    reach.from_origin = std::max(reach.from_origin, is_of_directions(metric) ? 1 : length);
    point = place_of(points, i, metric);
    for (std::size_t k = 0; k < place.size(); ++k) point[k] -= place[k];
    reach.from_place = std::max(reach.from_place, length_of(point));
  }
  return reach;
}

/// Goes from a place to the point that is farthest from it, if that is farther than `far`.
template <class T>
bool step_away(const MatrixView<T>& points, Metric metric, std::vector<double>& from, double& far) {
  std::size_t farthest = points.rows;
  std::vector<double> away(from.size());
  for (std::size_t i = 0; i < points.rows; ++i) {
    std::copy_n(points.row(i), away.size(), away.begin());
    const double unit = is_of_directions(metric) ? length_of(away) : 1;
    for (std::size_t k = 0; k < away.size(); ++k) away[k] = away[k] / unit - from[k];
    const double length = length_of(away);
    if (!(length > far)) continue;
    far = length;
    farthest = i;
  }
  if (farthest == points.rows) return false;
  from = place_of(points, farthest, metric);
  return true;
}

const void* data_of(const AnyMatrix& matrix) {
  return std::visit([](const auto& view) { return static_cast<const void*>(view.data); }, matrix);
}

}  // namespace

CostShape PointsInput::shape() const { return {rows_of(clouds_.x), rows_of(clouds_.y), columns_of(clouds_.x)}; }

void PointsInput::check_shape(const InputNames& names, const Parts& parts, bool /*is_needed*/) const {
  const auto& [x, y, metric] = clouds_;
  if (rows_of(x) == 0 && !parts.rows) throw InputError(names.x, "has no points");
  if (rows_of(y) == 0 && !parts.columns) throw InputError(names.y, "has no points");
  if (columns_of(x) == 0) throw InputError(names.x, "has points without coordinates");
  if (columns_of(x) != columns_of(y)) {
    throw InputError(names.y, fmt::format("points have {} coordinates", columns_of(y)),
                     fmt::format("those of {} have {}", names.x, columns_of(x)));
  }
}

std::unique_ptr<CostSource> PointsInput::source(const CostBlock& block, const cpu::Simd& simd) const {
  return make_points_cost(block_points(block), simd);
}

void PointsInput::check_coordinates(const InputNames& names) const {
  const auto check = [&](const AnyMatrix& cloud, const std::string& name) {
    std::visit([&](const auto& view) { (void)reach_of(view, {0, view.rows}, name, clouds_.metric, {}); }, cloud);
  };
  check(clouds_.x, names.x);
  check(clouds_.y, names.y);
}

std::array<Reach, 2> PointsInput::reach(Range x, Range y, const InputNames& names) const {
  const std::vector<double> place =
      std::visit([&](const auto& view) { return place_of(view, 0, clouds_.metric); }, clouds_.y);
  const auto reach = [&](const AnyMatrix& cloud, Range rows, const std::string& name) {
    return std::visit([&](const auto& view) { return reach_of(view, rows, name, clouds_.metric, place); }, cloud);
  };
  return {reach(clouds_.x, x, names.x), reach(clouds_.y, y, names.y)};
}

// Distances from any one place bound those between x and y. The origin gives a good bound unless it is far from all
// points (or the points are nearly parallel): then the bound would reject an epsilon that is not small compared with
// any cost.
double PointsInput::largest_possible_cost(const Reach& x, const Reach& y) const {
  constexpr double far = 8;
  const double by_origin = x.from_origin + y.from_origin;
  const double by_place = x.from_place + y.from_place;
  return cost_at(clouds_.metric, far * by_place < by_origin ? by_place : by_origin);
}

double PointsInput::far_cost() const {
  constexpr int kMostSteps = 8;
  std::vector<double> from = std::visit([&](const auto& y) { return place_of(y, 0, clouds_.metric); }, clouds_.y);
  double far = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const bool is_farther = std::visit([&](const auto& cloud) { return step_away(cloud, clouds_.metric, from, far); },
                                       step % 2 == 0 ? clouds_.x : clouds_.y);
    if (!is_farther) break;
  }
  return cost_at(clouds_.metric, far);
}

bool PointsInput::rows_are_columns() const {
  return data_of(clouds_.x) == data_of(clouds_.y) && rows_of(clouds_.x) == rows_of(clouds_.y);
}

std::shared_ptr<const PointsInput> PointsInput::with_columns(std::vector<double> y, bool rows_too) const {
  const auto changed = std::make_shared<PointsInput>(clouds_);
  const std::size_t dimension = shape().dimension;
  changed->gathered_ = std::move(y);
  changed->clouds_.y = MatrixView<double>{changed->gathered_.data(), changed->gathered_.size() / dimension, dimension};
  if (rows_too) changed->clouds_.x = changed->clouds_.y;
  return changed;
}

}  // namespace fedsinkhorn
