// Costs given as two clouds of points.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/range.hpp"
#include "cost/cost_input.hpp"

namespace fedsinkhorn {

/// The largest distances of some points from the origin and from a place known to all clients, the first point y.
struct Reach {
  double from_origin = 0;
  double from_place = 0;
};

class PointsInput final : public CostInput {
 public:
  explicit PointsInput(const PointClouds& clouds) : clouds_(clouds) {}

  [[nodiscard]] CostShape shape() const override;
  void check_shape(const InputNames& names, const Parts& parts, bool is_needed) const override;
  [[nodiscard]] std::unique_ptr<CostSource> source(const CostBlock& block, const cpu::Simd& simd) const override;
  [[nodiscard]] const PointsInput* points() const override { return this; }

  [[nodiscard]] const PointClouds& clouds() const { return clouds_; }

  /// Throws InputError if a given coordinate is unusable. For parts, before other clients see them.
  void check_coordinates(const InputNames& names) const;
  /// The reach of these points x, numbered as held here, and of these points y. Also checks them.
  [[nodiscard]] std::array<Reach, 2> reach(Range x, Range y, const InputNames& names) const;
  /// An upper bound of all costs, from the reach of all points x and y.
  [[nodiscard]] double largest_possible_cost(const Reach& x, const Reach& y) const;

  /// The cost of a pair of these points that is rarely far below the largest: from a point y to the farthest x, from
  /// there to the farthest y, and so on until that is no farther. Needs checked coordinates.
  [[nodiscard]] double far_cost() const;

  /// Whether x and y are the same points, in the same memory.
  [[nodiscard]] bool rows_are_columns() const;
  /// A copy with other points y. rows_too: they are the points x as well.
  [[nodiscard]] std::shared_ptr<const PointsInput> with_columns(std::vector<double> y, bool rows_too) const;

 private:
  PointClouds clouds_;
  std::vector<double> gathered_;  // what clouds_ refers to, unless that is the caller's
};

}  // namespace fedsinkhorn
