#include "report/plan_curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace fedsinkhorn::plan_drawing {
namespace {

constexpr std::array kStyles = {
    Style{"row-reduce", "#0b62a8", "none", "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"},
    Style{"all-to-all", "#c2410c", "10 5", "M-4.2-4.2h8.4v8.4h-8.4z"},
    Style{"star", "#6b21a8", "2 5", "M0-5.6L5.3 3.6H-5.3z"},
    Style{"grid", "#0f7b5f", "13 5 2 5", "M0-5.8L5.2 0L0 5.8L-5.2 0z"},
    Style{"centralized", "#475467", "5 4", "M0 5.6L5.3-3.6H-5.3z"},
    Style{"async", "#a16207", "13 5 2 5 2 5", "M-5-2L-2-5L0-3L2-5L5-2L3 0L5 2L2 5L0 3L-2 5L-5 2L-3 0z"},
};

/// A topology has the same style in all pictures; a new one gets a style that no other has, while there are any.
std::vector<Style> styles_of(const TopologyPlan& plan) {
  std::vector<Style> free(kStyles.begin(), kStyles.end());
  for (const TopologyCurve& curve : plan.curves) {
    std::erase_if(free, [&](const Style& style) { return style.topology == curve.topology; });
  }
  std::vector<Style> styles;
  std::size_t taken = 0;
  for (const TopologyCurve& curve : plan.curves) {
    const auto* const known =
        std::ranges::find_if(kStyles, [&](const Style& style) { return style.topology == curve.topology; });
    if (known != kStyles.end()) {
      styles.push_back(*known);
    } else {
      styles.push_back(taken < free.size() ? free[taken] : kStyles[taken % kStyles.size()]);
      ++taken;
    }
  }
  return styles;
}

/// Of all curves, widened to a least width, with some room on both sides.
Axis axis_of(std::span<const Curve> curves, double Point::*coordinate, double least, double room) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Curve& curve : curves) {
    for (const Point& point : curve.points) {
      low = std::min(low, point.*coordinate);
      high = std::max(high, point.*coordinate);
    }
  }
  const double missing = std::max(0.0, least - (high - low)) / 2;
  low -= missing;
  high += missing;
  return {.low = low - room * (high - low), .high = high + room * (high - low)};
}

}  // namespace

std::vector<Curve> drawable(const TopologyPlan& plan) {
  const std::vector<Style> styles = styles_of(plan);
  std::vector<Curve> curves;
  for (std::size_t c = 0; c < plan.curves.size(); ++c) {
    const TopologyCurve& given = plan.curves[c];
    Curve curve{.label = given.topology, .style = styles[c], .points = {}, .turns_at = given.turns_at};
    for (std::size_t k = 0; k < std::min(given.clients.size(), given.seconds.size()); ++k) {
      const double seconds = given.seconds[k];
      if (given.clients[k] == 0 || !(seconds > 0) || !std::isfinite(seconds)) continue;
      double share = std::numeric_limits<double>::quiet_NaN();
      if (k < given.communication.size() && std::isfinite(given.communication[k])) {
        share = std::clamp(given.communication[k] / seconds, 0.0, 1.0);
      }
      curve.points.push_back({std::log10(static_cast<double>(given.clients[k])), std::log10(seconds), share});
    }
    std::ranges::stable_sort(curve.points, {}, &Point::clients);
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

Axes axes_of(std::span<const Curve> curves) {
  Axes axes;
  axes.clients = axis_of(curves, &Point::clients, std::log10(2.0), 0.03);
  axes.clients.from = kLeft;
  axes.clients.to = kRight;
  axes.seconds = axis_of(curves, &Point::seconds, 0.7, 0.06);
  axes.seconds.from = kBottom;
  axes.seconds.to = kTop;
  return axes;
}

}  // namespace fedsinkhorn::plan_drawing
