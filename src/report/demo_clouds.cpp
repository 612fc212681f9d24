#include "report/demo_clouds.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>

#include "core/random.hpp"

namespace fedsinkhorn {
namespace {

struct Point {
  double x = 0;
  double y = 0;
};

using Shape = std::function<bool(Point)>;

double squared_distance(Point p, Point q) { return (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y); }

bool in_ellipse(Point p, Point centre, double half_width, double half_height) {
  const double u = (p.x - centre.x) / half_width;
  const double v = (p.y - centre.y) / half_height;
  return u * u + v * v <= 1;
}

/// A disc with two eyes and a mouth left empty.
bool in_face(Point p) {
  if (!in_ellipse(p, {0, 0}, 0.92, 0.92)) return false;
  if (in_ellipse(p, {-0.32, 0.28}, 0.11, 0.17) || in_ellipse(p, {0.32, 0.28}, 0.11, 0.17)) return false;
  // The mouth lies between the lower lip, an ellipse, and the upper lip, a flatter parabola with the same corners.
  constexpr double kMouthWidth = 0.58;
  const double across = p.x / kMouthWidth;
  const bool mouth = in_ellipse(p, {0, -0.10}, kMouthWidth, 0.52) && p.y < -0.16 - 0.20 * (1 - across * across);
  return !mouth;
}

std::array<Point, 10> star_corners() {
  constexpr double kInner = 0.46;  // thicker than the pentagram's 0.38: the tips keep enough points to be visible
  constexpr double kDrop = 0.08;   // a star reaches farther up than down: centres its bounding box
  std::array<Point, 10> corners;
  for (std::size_t k = 0; k < corners.size(); ++k) {
    const double angle = std::numbers::pi * (0.5 + static_cast<double>(k) / 5);
    const double radius = k % 2 == 0 ? 1.0 : kInner;
    corners[k] = {radius * std::cos(angle), radius * std::sin(angle) - kDrop};
  }
  return corners;
}

/// A point is inside when a ray to the right crosses the outline an odd number of times.
bool in_polygon(Point p, std::span<const Point> corners) {
  bool inside = false;
  Point from = corners.back();
  for (const Point& to : corners) {
    if ((from.y > p.y) != (to.y > p.y) && p.x < from.x + (to.x - from.x) * (p.y - from.y) / (to.y - from.y)) {
      inside = !inside;
    }
    from = to;
  }
  return inside;
}

/// Mitchell's best candidate: of several random points in the shape, the one farthest from those already placed.
std::vector<double> fill(const Shape& inside, std::size_t count, Random random) {
  constexpr int kCandidates = 40;
  std::vector<Point> points;
  points.reserve(count);
  const auto draw = [&] {
    for (;;) {
      const double x = random.uniform(-1, 1);
      const double y = random.uniform(-1, 1);
      if (inside({x, y})) return Point{x, y};
    }
  };
  while (points.size() < count) {
    Point best;
    double best_gap = -1;
    for (int k = 0; k < kCandidates; ++k) {
      const Point candidate = draw();
      double gap = 8;  // squared diagonal of the box: farther than any point
      for (const Point& point : points) {
        gap = std::fmin(gap, squared_distance(candidate, point));
        if (gap <= best_gap) break;
      }
      if (gap > best_gap) {
        best = candidate;
        best_gap = gap;
      }
    }
    points.push_back(best);
  }
  std::vector<double> coordinates;
  coordinates.reserve(2 * count);
  for (const Point& point : points) coordinates.insert(coordinates.end(), {point.x, point.y});
  return coordinates;
}

}  // namespace

DemoClouds demo_clouds(std::size_t points, std::uint64_t seed) {
  const std::array<Point, 10> star = star_corners();
  const auto in_star = [&](Point p) { return in_polygon(p, star); };
  return {fill(in_face, points, Random(seed, 0)), fill(in_star, points, Random(seed, 1))};
}

}  // namespace fedsinkhorn
