// The worst case against the radius.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "core/risk_words.hpp"
#include "report/risk_curve.hpp"
#include "report/risk_panels.hpp"

namespace fedsinkhorn::risk_drawing {
namespace {

using svg::kMuted;
using svg::Out;

constexpr double kRadiusTop = 132;  ///< of the panel
constexpr Box kRadiusPlot{118, 172, 628, 392};

struct Drawing {
  std::vector<CurvePoint> points;
  Axis radius;
  Axis loss;

  /// One of the two curves in pixels, with limited slopes.
  [[nodiscard]] std::vector<Knot> knots(double CurvePoint::*value) const {
    std::vector<Knot> knots;
    for (const CurvePoint& point : points) {
      const double slope = point.lambda * loss.slope_at(point.*value) / radius.slope_at(point.radius);
      knots.push_back({radius.at(point.radius), loss.at(point.*value), slope});
    }
    limit_slopes(knots);
    return knots;
  }
};

Axis radius_axis(std::span<const CurvePoint> points) {
  Range range;
  Range positive;
  for (const CurvePoint& point : points) {
    range.add(point.radius);
    if (point.radius > 0) positive.add(point.radius);
  }
  if (!positive.is_empty() && positive.high > 10 * positive.low)
    return log_axis(positive, kRadiusPlot.left, kRadiusPlot.right);
  if (points.size() == 1) range.add(0);  // one point alone: with room on both sides
  const bool is_alone = points.size() == 1;
  Axis axis = linear_axis(range, kRadiusPlot.left, kRadiusPlot.right, is_alone ? 0 : 0.03, is_alone ? 1 : 0.04);
  axis.low = std::max(axis.low, 0.0);
  return axis;
}

/// The upper bounds may be far above the losses: they get at most as much room as these.
Axis loss_axis(std::span<const CurvePoint> points, double expected) {
  Range losses;
  Range duals;
  losses.add(expected);
  for (const CurvePoint& point : points) {
    losses.add(point.loss);
    duals.add(point.dual);
  }
  const double width = losses.high - losses.low;
  if (!duals.is_empty()) losses.add(width > 0 ? std::min(duals.high, losses.high + 0.6 * width) : duals.high);
  return linear_axis(losses, kRadiusPlot.bottom, kRadiusPlot.top, 0.1, 0.08);
}

Drawing drawing_of(const RiskResult& result) {
  Drawing drawing;
  drawing.points = curve_points(result);
  drawing.radius = radius_axis(drawing.points);
  if (drawing.radius.is_log) std::erase_if(drawing.points, [](const CurvePoint& point) { return point.radius <= 0; });
  drawing.loss = loss_axis(drawing.points, result.expected_loss);
  return drawing;
}

void write_band(Out out, std::span<const Knot> below, std::span<const Knot> above) {
  std::vector<Knot> back(above.rbegin(), above.rend());
  fmt::format_to(out, "<path class=\"band\" d=\"M{:.2f} {:.2f}{}L{:.2f} {:.2f}{}Z\" fill=\"{}\" opacity=\"0.13\"/>\n",
                 below.front().x, below.front().y, curve_commands(below), back.front().x, back.front().y,
                 curve_commands(back), kAfter);
}

/// Without other points: the bounds, and the tangent, below which the curve lies.
void write_tangent(Out out, const Drawing& drawing) {
  const CurvePoint& point = drawing.points.front();
  if (!is_drawable(point.lambda)) return;
  const double slope = point.lambda * drawing.loss.slope_at(point.loss) / drawing.radius.slope_at(point.radius);
  const double x = drawing.radius.at(point.radius);
  const double y = drawing.loss.at(point.loss);
  fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}V{:.1f}\" stroke=\"{}\" stroke-width=\"9\" opacity=\"0.25\"/>\n", x, y,
                 drawing.loss.at(point.dual), kAfter);
  const double part = std::min(1.0, 30 / std::max(1e-9, std::abs(slope * 120)));
  const double dx = 120 * part;
  fmt::format_to(out,
                 "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"2 "
                 "4\"/>\n",
                 x - dx, y - dx * slope, x + dx, y + dx * slope, kAfter);
}

/// Those that can be told apart, from each other and from the chosen one.
void write_dots(Out out, std::span<const Knot> knots, double chosen) {
  constexpr double kApart = 5;
  double last = -kApart;
  for (const Knot& knot : knots) {
    if (knot.x - last < kApart || (std::abs(knot.x - chosen) < 2 * kApart && knot.x != chosen)) continue;
    last = knot.x;
    fmt::format_to(out, "<circle class=\"point\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"2.6\" fill=\"{}\"/>\n", knot.x, knot.y,
                   kAfter);
  }
}

struct Place {
  double x = 0;
  double y = 0;
};

constexpr double kStep = 4;  ///< pixels between places of a line
constexpr int kAcross = static_cast<int>((kRadiusPlot.right - kRadiusPlot.left) / kStep);

/// Where labels would hide something: along the curve and the line of the loss before.
std::vector<Place> taken_places(std::span<const Knot> knots, std::optional<double> line) {
  std::vector<Place> places;
  for (std::size_t k = 0; k < knots.size(); ++k) {
    constexpr int kSteps = 60;
    const Knot& next = knots[std::min(k + 1, knots.size() - 1)];
    for (int step = 0; step < kSteps; ++step) {
      const double t = static_cast<double>(step) / kSteps;
      places.push_back({std::lerp(knots[k].x, next.x, t), std::lerp(knots[k].y, next.y, t)});
    }
  }
  for (int k = 0; line && k < kAcross; ++k) places.push_back({kRadiusPlot.left + kStep * k, *line});
  return places;
}

/// The label of a point goes where it covers least; taken grows by it.
void write_point_label(Out out, Place at, const std::string& text, std::vector<Place>& taken) {
  const double width = kGlyph * 13 * svg::length_of(text);
  Box best;
  double least = std::numeric_limits<double>::infinity();
  for (const double dy : {20.0, -20.0, 36.0, -36.0, 60.0, -60.0, 90.0, -90.0}) {
    for (const double dx : {0.5, -0.5, 0.0, 0.25, -0.25}) {
      const double middle =
          std::clamp(at.x + dx * (width + 20), kRadiusPlot.left + width / 2 + 6, kRadiusPlot.right - width / 2 - 2);
      const Box box{middle - width / 2, at.y + dy - 9, middle + width / 2, at.y + dy + 9};
      if (box.top < kRadiusPlot.top || box.bottom > kRadiusPlot.bottom) continue;
      const auto covered = std::ranges::count_if(taken, [&](const Place& place) {
        return place.x >= box.left && place.x <= box.right && place.y >= box.top && place.y <= box.bottom;
      });
      const double cost = static_cast<double>(covered) + std::abs(dy) / 50;
      if (cost >= least) continue;
      least = cost;
      best = box;
    }
  }
  if (std::isinf(least)) return;
  for (int k = 0; best.left + kStep * k <= best.right; ++k) {
    for (const double y : {best.top, (best.top + best.bottom) / 2, best.bottom}) {
      taken.push_back({best.left + kStep * k, y});
    }
  }
  fmt::format_to(out,
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"13\" font-weight=\"600\" "
                 "fill=\"{}\" stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>\n",
                 (best.left + best.right) / 2, best.bottom - 5, kAfter, text);
}

/// Above or below its line, at the end where the label covers less.
void write_before(Out out, double y, const std::string& text, std::span<const Place> taken) {
  fmt::format_to(
      out,
      "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\" stroke-width=\"1.6\" stroke-dasharray=\"7 5\" fill=\"none\"/>\n",
      kRadiusPlot.left, y, kRadiusPlot.right, kBefore);
  const double width = kGlyph * 12.5 * svg::length_of(text);
  double least = std::numeric_limits<double>::infinity();
  Place best;
  for (const bool is_right : {true, false}) {
    for (const double dy : {-6.0, 15.0}) {
      const double left = is_right ? kRadiusPlot.right - 6 - width : kRadiusPlot.left + 6;
      const Box box{left, y + dy - 11, left + width, y + dy + 3};
      if (box.top < kRadiusPlot.top || box.bottom > kRadiusPlot.bottom) continue;
      const auto covered = std::ranges::count_if(taken, [&](const Place& place) {
        return place.y != y && place.x >= box.left && place.x <= box.right && place.y >= box.top &&
               place.y <= box.bottom;
      });
      if (static_cast<double>(covered) >= least) continue;
      least = static_cast<double>(covered);
      best = {left, y + dy};
    }
  }
  if (std::isinf(least)) return;
  fmt::format_to(out,
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"12.5\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"3\" "
                 "paint-order=\"stroke\">{}</text>\n",
                 best.x, best.y, kBefore, text);
}

void write_curve(Out out, const RiskResult& result, const Drawing& drawing) {
  const std::vector<Knot> knots = drawing.knots(&CurvePoint::loss);
  fmt::format_to(out,
                 "<clipPath id=\"radius-plot\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>"
                 "</clipPath>\n<g clip-path=\"url(#radius-plot)\">\n",
                 kRadiusPlot.left, kRadiusPlot.top - 4, kRadiusPlot.right - kRadiusPlot.left + 6,
                 kRadiusPlot.bottom - kRadiusPlot.top + 4);
  write_band(out, knots, drawing.knots(&CurvePoint::dual));
  if (knots.size() == 1) write_tangent(out, drawing);
  fmt::format_to(out,
                 "<path class=\"curve\" d=\"M{:.2f} {:.2f}{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\"/>\n",
                 knots.front().x, knots.front().y, curve_commands(knots), kAfter);
  write_dots(out, knots, drawing.radius.at(is_drawable(result.worst.radius) ? result.worst.radius : -1));
  fmt::format_to(out, "</g>\n");

  const bool has_before = is_drawable(result.expected_loss);
  const double line = has_before ? drawing.loss.at(result.expected_loss) : 0;
  std::vector<Place> taken = taken_places(knots, has_before ? std::optional(line) : std::nullopt);
  const WorstCase& worst = result.worst;
  const bool is_on_axis = is_drawable(worst.radius) && is_drawable(worst.loss) &&
                          (worst.radius > 0 || (!drawing.radius.is_log && worst.radius == 0));
  if (is_on_axis) {
    const Place at{drawing.radius.at(worst.radius), drawing.loss.at(worst.loss)};
    fmt::format_to(out,
                   "<circle class=\"chosen\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"6\" fill=\"{}\" stroke=\"#fff\" "
                   "stroke-width=\"2\"/>\n",
                   at.x, at.y, kAfter);
    write_point_label(out, at, fmt::format("{} at radius {}", number_text(worst.loss), number_text(worst.radius)),
                      taken);
  }
  if (has_before) write_before(out, line, "before: " + number_text(result.expected_loss), taken);
}

void write_sentence(Out out, const RiskResult& result, double cvar_level) {
  constexpr double kLeading = 24;
  write_heading(out, kMargin, kRadiusTop, "Both marginals are fixed",
                "days and scenarios are coupled; losses stay as given");
  double y = kRadiusTop + 66;
  for (const std::string& line : wrapped(fixed_loss_sentence(number_text(result.worst.loss), cvar_level), 62)) {
    write_text(out, kMargin, y, line, {.size = 15.5});
    y += kLeading;
  }
  y += kLeading / 2;
  for (const auto& [name, value] : {std::pair{"transport cost", result.worst.transport_cost},
                                    {"multiplier λ of the transport cost", result.worst.lambda}}) {
    write_text(out, kMargin, y, name, {.size = 15, .colour = kMuted});
    write_text(out, kMargin + 460, y, number_text(value), {.size = 15, .anchor = "end", .weight = "600"});
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}h460\" stroke=\"{}\"/>\n", kMargin, y + 10, svg::kLine);
    y += kLeading + 10;
  }
}

}  // namespace

void write_radius_panel(Out out, const RiskPictureData& data) {
  const RiskResult& result = data.result;
  fmt::format_to(out, "<g class=\"radius\">\n");
  if (result.coupling) {
    write_sentence(out, result, data.cvar_level);
  } else if (const Drawing drawing = drawing_of(result); !drawing.points.empty()) {
    write_heading(out, kMargin, kRadiusTop, "Worst case against the radius",
                  drawing.points.size() > 1
                      ? "shaded: up to the bound on what any distribution within the radius can lose"
                      : "one radius; shaded: up to the upper bound; dotted: the slope, λ");
    write_axes(out, kRadiusPlot, drawing.radius, drawing.loss, "radius (largest mean cost of moving a day)",
               measure_text(data.cvar_level));
    write_curve(out, result, drawing);
  } else {
    write_heading(out, kMargin, kRadiusTop, "Worst case against the radius", "no worst case is known: nothing to draw");
  }
  fmt::format_to(out, "</g>\n");
}

}  // namespace fedsinkhorn::risk_drawing
