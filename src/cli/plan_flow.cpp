#include "cli/plan_flow.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "report/transport_picture.hpp"

namespace fedsinkhorn {
namespace {

/// Points that move.
constexpr std::size_t kMostFlowPoints = 1200;
/// Blocks of pixels that move: 64 x 64.
constexpr std::size_t kMostBlocks = 4096;

std::size_t ceiling(std::size_t all, std::size_t part) { return (all + part - 1) / part; }

std::vector<double> points_at(const AnyMatrix& points, std::size_t step) {
  std::vector<double> some;
  std::visit(
      [&](const auto& view) {
        for (std::size_t i = 0; i < view.rows; i += step) {
          for (std::size_t k = 0; k < 2; ++k) some.push_back(static_cast<double>(view.data[2 * i + k]));
        }
      },
      points);
  return some;
}

/// Every so many points, and where the mass of each goes on average.
class PointFlow : public FlowCollector {
 public:
  explicit PointFlow(const PointClouds& clouds)
      : step_(std::max<std::size_t>(1, ceiling(rows_of(clouds.x), kMostFlowPoints))), targets_(points_at(clouds.y, 1)) {
    flow_.source = points_at(clouds.x, step_);
    flow_.target = points_at(clouds.y, std::max<std::size_t>(1, ceiling(rows_of(clouds.y), kMostFlowPoints)));
  }

  [[nodiscard]] bool wants(std::size_t row) const override { return row % step_ == 0; }

  void add(std::size_t /*row*/, std::span<const double> plan) override {
    std::array<double, 2> moved{};
    barycentric_projection(plan, targets_, moved);
    flow_.moved.insert(flow_.moved.end(), moved.begin(), moved.end());
  }

  [[nodiscard]] report::PlanFlow flow() override { return std::move(flow_); }

 private:
  std::size_t step_;
  std::vector<double> targets_;
  report::PlanFlow flow_;
};

/// An image in square blocks of pixels, few enough to be drawn.
class Blocks {
 public:
  Blocks(std::size_t height, std::size_t width) : width_(width) {
    while (ceiling(height, side_) * ceiling(width, side_) > kMostBlocks) ++side_;
    across_ = ceiling(width, side_);
    count_ = across_ * ceiling(height, side_);
    pixel_ = static_cast<double>(side_) / static_cast<double>(std::max(height, width));
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  /// The side of a block, in units of the image's longer side.
  [[nodiscard]] double pixel() const { return pixel_; }
  [[nodiscard]] std::size_t of(std::size_t index) const {
    return index / width_ / side_ * across_ + index % width_ / side_;
  }

 private:
  std::size_t width_;
  std::size_t side_ = 1;
  std::size_t across_ = 0;
  std::size_t count_ = 0;
  double pixel_ = 0;
};

/// Mass and its centre, block by block.
struct Weighted {
  explicit Weighted(std::size_t count) : mass(count), sum(2 * count) {}

  void add(std::size_t block, double m, double x, double y) {
    mass[block] += m;
    sum[2 * block] += m * x;
    sum[2 * block + 1] += m * y;
  }
  std::vector<double> mass, sum;
};

class ImageFlow : public FlowCollector {
 public:
  ImageFlow(const PointClouds& clouds, const ImageShapes& shapes, std::span<const double> b)
      : x_(points_at(clouds.x, 1)),
        y_(points_at(clouds.y, 1)),
        source_blocks_(shapes.a_height, shapes.a_width),
        target_blocks_(shapes.b_height, shapes.b_width),
        source_(source_blocks_.count()),
        moved_(source_blocks_.count()),
        target_(target_blocks_.count()) {
    for (std::size_t j = 0; j < b.size(); ++j) target_.add(target_blocks_.of(j), b[j], y_[2 * j], y_[2 * j + 1]);
  }

  [[nodiscard]] bool wants(std::size_t /*row*/) const override { return true; }

  void add(std::size_t row, std::span<const double> plan) override {
    const std::size_t block = source_blocks_.of(row);
    double mass = 0;
    for (std::size_t j = 0; j < plan.size(); ++j) {
      if (plan[j] == 0) continue;
      mass += plan[j];
      moved_.add(block, plan[j], y_[2 * j], y_[2 * j + 1]);
    }
    source_.add(block, mass, x_[2 * row], x_[2 * row + 1]);
  }

  [[nodiscard]] report::PlanFlow flow() override {
    report::PlanFlow flow;
    flow.pixels = report::FlowPixels{{}, {}, source_blocks_.pixel(), target_blocks_.pixel()};
    for (std::size_t k = 0; k < source_.mass.size(); ++k) {
      if (!(source_.mass[k] > 0)) continue;
      flow.pixels->source_mass.push_back(source_.mass[k]);
      for (std::size_t axis = 0; axis < 2; ++axis) {
        flow.source.push_back(source_.sum[2 * k + axis] / source_.mass[k]);
        flow.moved.push_back(moved_.sum[2 * k + axis] / source_.mass[k]);
      }
    }
    for (std::size_t k = 0; k < target_.mass.size(); ++k) {
      if (!(target_.mass[k] > 0)) continue;
      flow.pixels->target_mass.push_back(target_.mass[k]);
      for (std::size_t axis = 0; axis < 2; ++axis) flow.target.push_back(target_.sum[2 * k + axis] / target_.mass[k]);
    }
    return flow;
  }

 private:
  std::vector<double> x_, y_;
  Blocks source_blocks_, target_blocks_;
  Weighted source_, moved_, target_;
};

}  // namespace

std::unique_ptr<FlowCollector> make_flow_collector(const Problem& problem, const std::optional<ImageShapes>& images) {
  const auto* const clouds = std::get_if<PointClouds>(&problem.cost);
  if (clouds == nullptr || columns_of(clouds->x) != 2 || columns_of(clouds->y) != 2) return nullptr;
  if (!images) return std::make_unique<PointFlow>(*clouds);
  return std::make_unique<ImageFlow>(*clouds, *images, std::span(problem.b.data, problem.b.rows));
}

}  // namespace fedsinkhorn
