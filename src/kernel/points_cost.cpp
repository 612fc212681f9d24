#include "kernel/points_cost.hpp"

#include <cmath>
#include <vector>

#include "core/buffer.hpp"

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

std::vector<double> squared_norms(const std::vector<double>& points, std::size_t dimension) {
  std::vector<double> norms(points.size() / dimension);
  for (std::size_t i = 0; i < points.size(); ++i) norms[i / dimension] += points[i] * points[i];
  return norms;
}

void scale_to_unit_length(std::vector<double>& points, std::size_t dimension) {
  const std::vector<double> norms = squared_norms(points, dimension);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] /= std::sqrt(norms[i / dimension]);
}

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

/// sum_k (x_k - y_k)^2, and its root.
template <bool Root>
class DirectDistance final : public PointsCost {
 public:
  using PointsCost::PointsCost;
  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    const std::size_t count = panels(column_count);
    ops_.squared_distance(x(row), row_count, dimension_, panel(column), count, out, stride);
    if constexpr (Root) {
      for (std::size_t k = 0; k < row_count; ++k) ops_.square_root(count * cpu::kPanel, out + k * stride);
    }
  }
};

/// |x|^2 + |y|^2 - 2 x.y, and its root.
template <bool Root>
class ProductDistance final : public PointsCost {
 public:
  ProductDistance(std::vector<double> x, const std::vector<double>& y, std::size_t dimension, const cpu::Simd& simd)
      : PointsCost(x, y, dimension, simd),
        x_norms_(squared_norms(x, dimension)),
        y_norms_(squared_norms(y, dimension)) {
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
      if constexpr (Root) ops_.square_root(count * cpu::kPanel, costs);
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

  std::vector<double> x_norms_;
  std::vector<double> y_norms_;
};

/// 1 - x.y for points of unit length.
class Cosine final : public PointsCost {
 public:
  using PointsCost::PointsCost;
  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
            std::size_t stride) const override {
    const std::size_t count = panels(column_count);
    ops_.inner_product(x(row), row_count, dimension_, panel(column), count, out, stride);
    for (std::size_t k = 0; k < row_count; ++k) ops_.one_minus(count * cpu::kPanel, out + k * stride);
  }
};

template <bool Root>
std::unique_ptr<CostSource> make_distance(const PointClouds& clouds, std::vector<double> x, std::vector<double> y,
                                          const cpu::Simd& simd) {
  const std::size_t dimension = columns_of(clouds.y);
  if (dimension <= kDirectDimensions) {
    return std::make_unique<DirectDistance<Root>>(std::move(x), y, dimension, simd);
  }
  const std::vector<double> origin = mean_of(clouds.y);
  subtract(x, origin);
  subtract(y, origin);
  return std::make_unique<ProductDistance<Root>>(std::move(x), y, dimension, simd);
}

}  // namespace

std::unique_ptr<CostSource> make_points_cost(const CostBlock& block, const cpu::Simd& simd) {
  const auto& clouds = std::get<PointClouds>(block.input->cost);
  const std::size_t dimension = columns_of(clouds.x);
  std::vector<double> x = gather(clouds.x, block.rows, block.first_held);
  std::vector<double> y = gather(clouds.y, block.columns, 0);
  switch (clouds.metric) {
    case Metric::sqeuclidean: return make_distance<false>(clouds, std::move(x), std::move(y), simd);
    case Metric::euclidean: return make_distance<true>(clouds, std::move(x), std::move(y), simd);
    case Metric::cosine: break;
  }
  scale_to_unit_length(x, dimension);
  scale_to_unit_length(y, dimension);
  return std::make_unique<Cosine>(std::move(x), y, dimension, simd);
}

}  // namespace fedsinkhorn
