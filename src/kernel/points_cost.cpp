#include "kernel/points_cost.hpp"

#include <cmath>
#include <vector>

#include "core/buffer.hpp"
#include "kernel/block_points.hpp"

namespace fedsinkhorn {
namespace {

/// Panels of cpu::kPanel points, coordinate by coordinate (see cpu::PairwiseOps); missing points are zero.
Buffer<double> pack(const std::vector<double>& points, std::size_t dimension) {
  const std::size_t count = points.size() / dimension;
  const std::size_t panels = (count + cpu::kPanel - 1) / cpu::kPanel;
  Buffer<double> packed(panels * dimension * cpu::kPanel);
  for (std::size_t j = 0; j < panels * cpu::kPanel; ++j) {
    for (std::size_t k = 0; k < dimension; ++k) {
      packed[(j / cpu::kPanel * dimension + k) * cpu::kPanel + j % cpu::kPanel] =
          j < count ? points[j * dimension + k] : 0.0;
    }
  }
  return packed;
}

class PointsCost : public CostSource {
 public:
  PointsCost(std::vector<double> x, const std::vector<double>& y, std::size_t dimension, const cpu::Simd& simd)
      : ops_(simd.pairwise),
        dimension_(dimension),
        columns_(y.size() / dimension),
        x_(std::move(x)),
        y_(pack(y, dimension)) {}

  [[nodiscard]] std::size_t rows() const override { return x_.size() / dimension_; }
  [[nodiscard]] std::size_t columns() const override { return columns_; }

 protected:
  [[nodiscard]] const double* x(std::size_t row) const { return x_.data() + row * dimension_; }
  [[nodiscard]] const double* panel(std::size_t column) const { return y_.data() + column * dimension_; }
  [[nodiscard]] static std::size_t panels(std::size_t column_count) {
    return (column_count + cpu::kPanel - 1) / cpu::kPanel;
  }

  const cpu::PairwiseOps ops_;
  const std::size_t dimension_;

 private:
  std::size_t columns_;
  std::vector<double> x_;
  Buffer<double> y_;
};

/// From squares of distances in units to distances.
void take_roots(const cpu::PairwiseOps& ops, std::size_t count, double unit, double* out) {
  ops.square_root(count, out);
  if (unit == 1) return;
  for (std::size_t j = 0; j < count; ++j) out[j] *= unit;
}

/// sum_k (x_k - y_k)^2, and its root.
template <bool Root>
class DirectDistance final : public PointsCost {
 public:
  DirectDistance(BlockPoints points, const cpu::Simd& simd)
      : PointsCost(std::move(points.x), points.y, points.dimension, simd), unit_(points.unit) {}
  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    const std::size_t count = panels(column_count);
    ops_.squared_distance(x(row), row_count, dimension_, panel(column), count, out, stride);
    if constexpr (Root) {
      for (std::size_t k = 0; k < row_count; ++k) take_roots(ops_, count * cpu::kPanel, unit_, out + k * stride);
    }
  }

 private:
  double unit_;
};

/// |x|^2 + |y|^2 - 2 x.y, and its root.
template <bool Root>
class ProductDistance final : public PointsCost {
 public:
  ProductDistance(const BlockPoints& points, const cpu::Simd& simd)
      : PointsCost(points.x, points.y, points.dimension, simd),
        unit_(points.unit),
        x_norms_(squared_norms(points.x, points.dimension)),
        y_norms_(squared_norms(points.y, points.dimension)) {
    y_norms_.resize(panels(y_norms_.size()) * cpu::kPanel);
  }
  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    const std::size_t count = panels(column_count);
    ops_.inner_product(x(row), row_count, dimension_, panel(column), count, out, stride);
    for (std::size_t k = 0; k < row_count; ++k) {
      double* costs = out + k * stride;
      if (ops_.distance_from_product(x_norms_[row + k], y_norms_.data() + column, count * cpu::kPanel, costs)) {
        recompute_close_pairs(row + k, column, count * cpu::kPanel, costs);
      }
      if constexpr (Root) take_roots(ops_, count * cpu::kPanel, unit_, costs);
    }
  }

 private:
  void recompute_close_pairs(std::size_t row, std::size_t column, std::size_t count, double* costs) const {
    const double* from = x(row);
    for (std::size_t j = 0; j < count; ++j) {
      if (!(costs[j] < cpu::kCancelled * (x_norms_[row] + y_norms_[column + j]))) continue;
      const double* point = panel(column + j / cpu::kPanel * cpu::kPanel) + j % cpu::kPanel;
      double sum = 0;
      for (std::size_t c = 0; c < dimension_; ++c) {
        const double difference = from[c] - point[c * cpu::kPanel];
        sum += difference * difference;
      }
      costs[j] = sum;
    }
  }

  double unit_;
  std::vector<double> x_norms_;
  std::vector<double> y_norms_;
};

/// 1 - x.y = |x - y|^2 / 2 for points of unit length. Rounding x and y leaves an error of about 1e-16 |x - y| in it,
/// too much where they are nearly parallel: there their rests join in, and 1e-11 of the cost is the most that is lost.
class Cosine final : public PointsCost {
 public:
  Cosine(BlockPoints points, const cpu::Simd& simd)
      : PointsCost(std::move(points.x), points.y, points.dimension, simd),
        formula_(points.dimension <= kDirectDimensions ? Formula{ops_.squared_distance, 0, 0.5, kCloseByDifferences}
                                                       : Formula{ops_.inner_product, 1, -1, kCloseByProducts}),
        x_rest_(std::move(points.x_rest)),
        y_rest_(pack(points.y_rest, points.dimension)) {}
  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    const std::size_t count = panels(column_count);
    formula_.sum(x(row), row_count, dimension_, panel(column), count, out, stride);
    for (std::size_t k = 0; k < row_count; ++k) {
      double* costs = out + k * stride;
      if (ops_.cosine_cost(formula_.offset, formula_.factor, formula_.close, count * cpu::kPanel, costs)) {
        recompute_close_pairs(row + k, column, count * cpu::kPanel, costs);
      }
    }
  }

 private:
  static constexpr double kCloseByDifferences = 0x1p-30;
  static constexpr double kCloseByProducts = 0x1p-14;
  /// offset + factor sum is the cost; below `close` it has lost digits.
  struct Formula {
    decltype(cpu::PairwiseOps::inner_product) sum;
    double offset;
    double factor;
    double close;
  };

  void recompute_close_pairs(std::size_t row, std::size_t column, std::size_t count, double* costs) const {
    const double* from = x(row);
    const double* from_rest = x_rest_.data() + row * dimension_;
    for (std::size_t j = 0; j < count; ++j) {
      if (!(costs[j] < formula_.close)) continue;
      const std::size_t at = (column + j / cpu::kPanel * cpu::kPanel) * dimension_ + j % cpu::kPanel;
      const double* to = panel(0) + at;
      const double* to_rest = y_rest_.data() + at;
      double sum = 0;
      for (std::size_t c = 0; c < dimension_; ++c) {
        const double difference = (from[c] - to[c * cpu::kPanel]) + (from_rest[c] - to_rest[c * cpu::kPanel]);
        sum += difference * difference;
      }
      costs[j] = sum / 2;
    }
  }

  Formula formula_;
  std::vector<double> x_rest_;
  Buffer<double> y_rest_;
};

template <bool Root>
std::unique_ptr<CostSource> make_distance(BlockPoints points, const cpu::Simd& simd) {
  if (points.are_centred) return std::make_unique<ProductDistance<Root>>(points, simd);
  return std::make_unique<DirectDistance<Root>>(std::move(points), simd);
}

}  // namespace

std::unique_ptr<CostSource> make_points_cost(const CostBlock& block, const cpu::Simd& simd) {
  BlockPoints points = block_points(block);
  switch (points.metric) {
    case Metric::sqeuclidean: return make_distance<false>(std::move(points), simd);
    case Metric::euclidean: return make_distance<true>(std::move(points), simd);
    case Metric::cosine: break;
  }
  return std::make_unique<Cosine>(std::move(points), simd);
}

}  // namespace fedsinkhorn
