#include "report/risk_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "report/risk_axis.hpp"

namespace fedsinkhorn::risk_drawing {
namespace {

/// The search may have tried radii far from the chosen one; a curve over many decades shows little.
constexpr double kFarFactor = 100;

bool is_near(double radius, double chosen) {
  return !(chosen > 0) || (radius >= chosen / kFarFactor && radius <= chosen * kFarFactor);
}

std::optional<CurvePoint> point_of(const WorstCase& one) {
  if (!is_drawable(one.radius) || !is_drawable(one.loss) || one.radius < 0) return std::nullopt;
  const double dual = is_drawable(one.dual) ? std::max(one.dual, one.loss) : one.loss;
  return CurvePoint{one.radius, one.loss, dual, one.is_binding ? one.lambda : 0};
}

/// Where the flat part begins, if one of the points is beyond it.
std::optional<CurvePoint> begin_of_flat(const RiskResult& result, std::span<const CurvePoint> points) {
  if (!is_drawable(result.largest_radius) || !(result.largest_radius > 0)) return std::nullopt;
  const auto beyond = std::ranges::find_if(
      points, [&](const CurvePoint& point) { return point.radius > result.largest_radius && point.lambda == 0; });
  if (beyond == points.end()) return std::nullopt;
  return CurvePoint{result.largest_radius, beyond->loss, beyond->dual, 0};
}

double limited(double slope, double before, double after) {
  if (!(before * after > 0)) return 0;
  if (std::isnan(slope)) slope = 2 / (1 / before + 1 / after);
  const double most = 3 * std::min(std::abs(before), std::abs(after));
  return before > 0 ? std::clamp(slope, 0.0, most) : std::clamp(slope, -most, 0.0);
}

}  // namespace

std::vector<CurvePoint> curve_points(const RiskResult& result) {
  std::vector<CurvePoint> points;
  const auto add = [&](const WorstCase& one) {
    if (const std::optional<CurvePoint> point = point_of(one)) points.push_back(*point);
  };
  add(result.worst);  // first: it is the one to keep of two at the same radius
  std::ranges::for_each(result.sweep, add);
  if (result.sweep.size() < 2) {
    for (const WorstCase& one : result.visited) {
      if (is_near(one.radius, result.worst.radius)) add(one);
    }
  }
  std::ranges::stable_sort(points, {}, &CurvePoint::radius);
  if (const std::optional<CurvePoint> flat = begin_of_flat(result, points)) {
    points.insert(std::ranges::upper_bound(points, flat->radius, {}, &CurvePoint::radius), *flat);
  }
  const auto same = [](const CurvePoint& one, const CurvePoint& next) {
    return next.radius - one.radius <= 1e-9 * next.radius;
  };
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  return points;
}

void limit_slopes(std::span<Knot> knots) {
  const auto secant = [&](std::size_t k) { return (knots[k + 1].y - knots[k].y) / (knots[k + 1].x - knots[k].x); };
  for (std::size_t k = 0; k < knots.size() && knots.size() > 1; ++k) {
    const double before = secant(k > 0 ? k - 1 : 0);
    const double after = secant(k + 1 < knots.size() ? k : k - 1);
    knots[k].slope = limited(knots[k].slope, before, after);
  }
}

std::string curve_commands(std::span<const Knot> knots) {
  std::string commands;
  for (std::size_t k = 1; k < knots.size(); ++k) {
    const Knot& from = knots[k - 1];
    const Knot& to = knots[k];
    const double third = (to.x - from.x) / 3;
    commands += fmt::format("C{:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f}", from.x + third, from.y + third * from.slope,
                            to.x - third, to.y - third * to.slope, to.x, to.y);
  }
  return commands;
}

}  // namespace fedsinkhorn::risk_drawing
