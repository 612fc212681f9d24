#include "cost/points_cost.hpp"

#include <cmath>
#include <vector>

#include "core/buffer.hpp"
#include "cost/metric.hpp"

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

/// Converts squared distances, in units of unit^2, to distances.
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

/// 1 - x.y = |x - y|^2 / 2 for points of unit length. They are centred, so costs have an error of about 1e-16 of the
/// largest cost, even if all points are nearly parallel. For costs that are small even compared with that, the rests
/// keep the digits: no cost has a relative error above 1e-11.
class Cosine final : public PointsCost {
 public:
  Cosine(const BlockPoints& points, const cpu::Simd& simd)
      : PointsCost(points.x, points.y, points.dimension, simd),
        x_norms_(squared_norms(points.x, points.dimension)),
        y_norms_(squared_norms(points.y, points.dimension)),
        x_rest_(points.x_rest),
        y_rest_(pack(points.y_rest, points.dimension)),
        close_(kClose * points.spread) {
    y_norms_.resize(panels(y_norms_.size()) * cpu::kPanel);
  }
  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    const std::size_t count = panels(column_count);
    if (dimension_ <= kDirectDimensions) {
      ops_.squared_distance(x(row), row_count, dimension_, panel(column), count, out, stride);
      for (std::size_t k = 0; k < row_count; ++k) {
        double* costs = out + k * stride;
        if (ops_.halve(close_, count * cpu::kPanel, costs)) {
          recompute(row + k, column, count * cpu::kPanel, costs, [&](std::size_t j) { return costs[j] < close_; });
        }
      }
      return;
    }
    ops_.inner_product(x(row), row_count, dimension_, panel(column), count, out, stride);
    for (std::size_t k = 0; k < row_count; ++k) {
      double* costs = out + k * stride;
      const double* y_norms = y_norms_.data() + column;
      const double x_norm = x_norms_[row + k];
      const bool cancelled = ops_.distance_from_product(x_norm, y_norms, count * cpu::kPanel, costs);
      (void)ops_.halve(0, count * cpu::kPanel, costs);
      if (!cancelled) continue;
      recompute(row + k, column, count * cpu::kPanel, costs,
                [&](std::size_t j) { return 2 * costs[j] < cpu::kCancelled * (x_norm + y_norms[j]); });
    }
  }

 private:
  static constexpr double kClose = 0x1p-30;

  template <class IsClose>
  void recompute(std::size_t row, std::size_t column, std::size_t count, double* costs, const IsClose& is_close) const {
    const double* from = x(row);
    const double* from_rest = x_rest_.data() + row * dimension_;
    for (std::size_t j = 0; j < count; ++j) {
      if (!is_close(j)) continue;
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

  std::vector<double> x_norms_;
  std::vector<double> y_norms_;
  std::vector<double> x_rest_;
  Buffer<double> y_rest_;
  double close_;
};

template <bool Root>
std::unique_ptr<CostSource> make_distance(BlockPoints points, const cpu::Simd& simd) {
  if (points.are_centred) return std::make_unique<ProductDistance<Root>>(points, simd);
  return std::make_unique<DirectDistance<Root>>(std::move(points), simd);
}

}  // namespace

std::unique_ptr<CostSource> make_points_cost(BlockPoints points, const cpu::Simd& simd) {
  switch (points.metric) {
    case Metric::sqeuclidean: return make_distance<false>(std::move(points), simd);
    case Metric::euclidean: return make_distance<true>(std::move(points), simd);
    case Metric::cosine: return std::make_unique<Cosine>(points, simd);
  }
  refuse_metric();
}

}  // namespace fedsinkhorn
