#include "report/transport_picture.hpp"
#include "core/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "report/svg.hpp"

namespace fedsinkhorn {
namespace transport_drawing {
namespace {

using svg::kInk;
using svg::kLine;
using svg::kMuted;
using svg::Out;
using svg::power_of_ten;
using svg::scientific;

// Everything is laid out on a fixed canvas; the viewer scales it.
constexpr double kWidth = 1280;
constexpr double kHeight = 736;
constexpr double kMargin = 56;
constexpr double kContent = kWidth - 2 * kMargin;

constexpr std::size_t kFrames = 5;
constexpr std::array<const char*, kFrames> kFrameLabels{"t = 0", "t = 1/4", "t = 1/2", "t = 3/4", "t = 1"};
constexpr double kFrameGap = 16;
constexpr double kFrameSize = (kContent - (kFrames - 1) * kFrameGap) / kFrames;
constexpr double kFrameTop = 112;

constexpr double kPlotLeft = kMargin + 66;
constexpr double kPlotRight = 880;
constexpr double kPlotTop = 442;
constexpr double kPlotBottom = 654;
constexpr double kFiguresLeft = 944;

constexpr const char* kGhost = "#dfe3ea";
constexpr const char* kAccent = "#4f46e5";
constexpr const char* kTolerance = "#c2410c";

// ---------------------------------------------------------------------------------------------------- colours

/// OKLab (Ottosson 2020): equal steps look equally large, so only neighbours in the source look alike.
struct Lab {
  double lightness = 0;
  double a = 0;
  double b = 0;
};

std::array<double, 3> linear_rgb(Lab lab) {
  const double l = std::pow(lab.lightness + 0.3963377774 * lab.a + 0.2158037573 * lab.b, 3);
  const double m = std::pow(lab.lightness - 0.1055613458 * lab.a - 0.0638541728 * lab.b, 3);
  const double s = std::pow(lab.lightness - 0.0894841775 * lab.a - 1.2914855480 * lab.b, 3);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

std::string hex(Lab lab) {
  std::string text = "#";
  for (const double linear : linear_rgb(lab)) {
    const double c = std::clamp(linear, 0.0, 1.0);
    const double encoded = c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<int>(std::lround(255 * encoded)));
  }
  return text;
}

/// A square of colours, with u and v in [0, 1]: from left to right (u) the hue turns from blue over magenta and red to
/// amber; upwards (v) the lightness increases.
Lab place_colour(double u, double v) {
  const double hue = (262 + 178 * u) * std::numbers::pi / 180;
  const double chroma = 0.175;
  return {0.56 + 0.2 * v, chroma * std::cos(hue), chroma * std::sin(hue)};
}

// ----------------------------------------------------------------------------------------------------- frames

struct Box {
  double left = std::numeric_limits<double>::infinity();
  double right = -std::numeric_limits<double>::infinity();
  double bottom = std::numeric_limits<double>::infinity();
  double top = -std::numeric_limits<double>::infinity();

  void include(std::span<const double> points) {
    for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
      if (!std::isfinite(points[i]) || !std::isfinite(points[i + 1])) continue;
      left = std::min(left, points[i]);
      right = std::max(right, points[i]);
      bottom = std::min(bottom, points[i + 1]);
      top = std::max(top, points[i + 1]);
    }
  }
  /// Position of a value between two ends; the middle if they coincide.
  static double position(double value, double low, double high) {
    return high > low ? (value - low) / (high - low) : 0.5;
  }
};

/// Points of one colour form one path of round dots: a quarter of the size of as many circles. The strokes have a tiny,
/// invisible length, since some viewers drop strokes of length 0.
class Dots {
 public:
  explicit Dots(double radius) : radius_(radius) {}

  void add(const std::string& colour, double x, double y) {
    if (std::isfinite(x) && std::isfinite(y))
      fmt::format_to(std::back_inserter(paths_[colour]), "M{:.1f} {:.1f}h.01", x, y);
  }
  void write(Out out) const {
    fmt::format_to(out, "<g fill=\"none\" stroke-linecap=\"round\" stroke-width=\"{:.2f}\">\n", 2 * radius_);
    for (const auto& [colour, path] : paths_) fmt::format_to(out, "<path stroke=\"{}\" d=\"{}\"/>\n", colour, path);
    fmt::format_to(out, "</g>\n");
  }

 private:
  double radius_;
  std::map<std::string, std::string> paths_;
};

/// Colours by place of origin, in steps too small to see, so that points can share them.
std::vector<std::string> source_colours(std::span<const double> source) {
  constexpr double kSteps = 24;
  Box box;
  box.include(source);
  std::vector<std::string> colours;
  colours.reserve(source.size() / 2);
  for (std::size_t i = 0; i < source.size(); i += 2) {
    const double u = Box::position(source[i], box.left, box.right);
    const double v = Box::position(source[i + 1], box.bottom, box.top);
    colours.push_back(std::isfinite(u) && std::isfinite(v)
                          ? hex(place_colour(std::round(u * kSteps) / kSteps, std::round(v * kSteps) / kSteps))
                          : kGhost);
  }
  return colours;
}

void write_frames(Out out, const TransportPictureData& data) {
  constexpr double kPadding = 12;
  Box box;
  for (const std::span<const double> points : {data.source, data.moved, data.target}) box.include(points);
  const double extent = std::max({box.right - box.left, box.top - box.bottom, 1e-300});
  const double scale = (kFrameSize - 2 * kPadding) / extent;
  const std::vector<std::string> colours = source_colours(data.source);
  // Neighbouring dots just touch if a cloud covers a third of its frame.
  const auto count = static_cast<double>(std::max<std::size_t>(colours.size(), 1));
  const double radius = std::clamp(0.32 * kFrameSize / std::sqrt(count), 0.5, 6.0);

  for (std::size_t frame = 0; frame < kFrames; ++frame) {
    const double t = static_cast<double>(frame) / (kFrames - 1);
    const double left = kMargin + static_cast<double>(frame) * (kFrameSize + kFrameGap);
    const double centre_x = left + kFrameSize / 2;
    const double centre_y = kFrameTop + kFrameSize / 2;
    const auto screen_x = [&](double x) { return centre_x + scale * (x - (box.left + box.right) / 2); };
    const auto screen_y = [&](double y) { return centre_y - scale * (y - (box.bottom + box.top) / 2); };

    fmt::format_to(out, "<g class=\"frame\">\n");
    fmt::format_to(out,
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"10\" fill=\"#fafbfc\" "
                   "stroke=\"{}\"/>\n",
                   left, kFrameTop, kFrameSize, kFrameSize, kLine);
    // Only in the last frame: elsewhere it would show through the gaps and blur the moving shape.
    if (frame + 1 == kFrames) {
      Dots target(radius);
      for (std::size_t j = 0; j < data.target.size(); j += 2) {
        target.add(kGhost, screen_x(data.target[j]), screen_y(data.target[j + 1]));
      }
      target.write(out);
    }
    Dots dots(radius);
    for (std::size_t i = 0; i < colours.size(); ++i) {
      const double x = (1 - t) * data.source[2 * i] + t * data.moved[2 * i];
      const double y = (1 - t) * data.source[2 * i + 1] + t * data.moved[2 * i + 1];
      dots.add(colours[i], screen_x(x), screen_y(y));
    }
    dots.write(out);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"15\">{}</text>\n", centre_x,
                   kFrameTop + kFrameSize + 26, kFrameLabels[frame]);
    fmt::format_to(out, "</g>\n");
  }
}

// ------------------------------------------------------------------------------------------------ convergence

/// The smallest of 1, 2, 5, 10, 20, 50, ... that cuts the length into at most `most` steps.
std::int64_t nice_step(std::int64_t length, std::int64_t most) {
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (length <= factor * power * most) return factor * power;
    }
  }
}

struct ErrorPoint {
  double iteration = 0;
  double log_error = 0;
};

/// log10 of the errors. Long traces are thinned to what the plot's width can show; both ends are kept.
std::vector<ErrorPoint> error_curve(std::span<const TraceRow> trace) {
  constexpr std::size_t kMost = 800;
  std::vector<ErrorPoint> curve;
  const std::size_t step = trace.size() / kMost + 1;
  for (std::size_t k = 0; k < trace.size(); ++k) {
    const double error = trace[k].error_b;  // the error compared with the tolerance
    if ((k % step != 0 && k + 1 != trace.size()) || !(error > 0) || !std::isfinite(error)) continue;
    curve.push_back({static_cast<double>(trace[k].iteration), std::log10(error)});
  }
  return curve;
}

/// Dotted lines where a level of epsilon begins, the first one excepted: there the error jumps.
void write_levels(Out out, std::span<const TraceRow> trace, const std::function<double(double)>& screen_x) {
  std::string lines;
  for (std::size_t k = 1; k < trace.size(); ++k) {
    if (trace[k].epsilon == trace[k - 1].epsilon) continue;
    const double x = screen_x(static_cast<double>(trace[k].iteration));
    lines += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, kPlotTop, kPlotBottom);
  }
  if (lines.empty()) return;
  fmt::format_to(out, "<path class=\"levels\" d=\"{}\" stroke=\"{}\" stroke-dasharray=\"2 3\"/>\n", lines, kMuted);
  fmt::format_to(
      out,
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" font-size=\"13\" fill=\"{}\">dotted: a new level of "
      "ε begins</text>\n",
      kPlotRight, kPlotTop - 12, kMuted);
}

void write_convergence(Out out, const TransportPictureData& data) {
  const std::vector<ErrorPoint> curve = error_curve(data.trace);
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const ErrorPoint& point : curve) {
    low = std::min(low, point.log_error);
    high = std::max(high, point.log_error);
  }
  const bool has_tolerance = data.tolerance > 0;
  if (has_tolerance) {
    low = std::min(low, std::log10(data.tolerance));
    high = std::max(high, std::log10(data.tolerance));
  }
  if (!(low <= high)) {  // nothing to draw: an empty plot of one decade
    low = -1;
    high = 0;
  }
  const int bottom = static_cast<int>(std::floor(low - 0.15));  // keeps the tolerance line off the axis
  const int top = std::max(static_cast<int>(std::ceil(high)), bottom + 1);
  const auto last =
      std::max<std::int64_t>(1, curve.empty() ? data.iterations : static_cast<std::int64_t>(curve.back().iteration));
  const auto screen_x = [&](double iteration) {
    return kPlotLeft + (kPlotRight - kPlotLeft) * iteration / static_cast<double>(last);
  };
  const auto screen_y = [&](double log_error) {
    return kPlotBottom - (kPlotBottom - kPlotTop) * (log_error - bottom) / (top - bottom);
  };

  fmt::format_to(out, "<g class=\"convergence\">\n");
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"16\" font-weight=\"600\">Convergence</text>\n",
                 kMargin, kPlotTop - 26);
  const auto step_y = static_cast<int>(nice_step(top - bottom, 6));
  for (int exponent = bottom; exponent <= top; ++exponent) {
    if (exponent % step_y != 0) continue;
    const double y = screen_y(exponent);
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\"/>", kPlotLeft, y, kPlotRight, kLine);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" font-size=\"13\" fill=\"{}\">{}</text>\n",
                   kPlotLeft - 10, y + 4.5, kMuted, power_of_ten(exponent));
  }
  const std::int64_t step_x = nice_step(last, 8);
  for (std::int64_t iteration = 0; iteration <= last; iteration += step_x) {
    const double x = screen_x(static_cast<double>(iteration));
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}v5\" stroke=\"{}\"/>", x, kPlotBottom, kMuted);
    fmt::format_to(out,
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"13\" fill=\"{}\">{}</text>\n", x,
                   kPlotBottom + 21, kMuted, grouped(static_cast<std::uint64_t>(iteration)));
  }
  fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"{}\"/>\n", kPlotLeft, kPlotTop,
                 kPlotBottom, kPlotRight, kMuted);
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"14\">iteration</text>\n",
                 (kPlotLeft + kPlotRight) / 2, kPlotBottom + 46);
  fmt::format_to(out,
                 "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\" font-size=\"14\">L1 "
                 "error (log₁₀ scale)</text>\n",
                 kMargin + 6, (kPlotTop + kPlotBottom) / 2);
  write_levels(out, data.trace, screen_x);
  if (has_tolerance) {
    // The label is at the left, where the curve is still far above.
    const double y = screen_y(std::log10(data.tolerance));
    fmt::format_to(out,
                   "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\" stroke-width=\"1.5\" stroke-dasharray=\"6 5\"/>",
                   kPlotLeft, y, kPlotRight, kTolerance);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"13\" fill=\"{}\">tolerance {}</text>\n",
                   kPlotLeft + 12, y - 7, kTolerance, scientific(data.tolerance));
  }
  if (!curve.empty()) {
    fmt::format_to(
        out, "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\" stroke-linejoin=\"round\" points=\"", kAccent);
    for (const ErrorPoint& point : curve) {
      fmt::format_to(out, "{:.1f},{:.1f} ", screen_x(point.iteration), screen_y(point.log_error));
    }
    fmt::format_to(out,
                   "\"/>\n<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\" stroke=\"#fff\" "
                   "stroke-width=\"1.5\"/>\n",
                   screen_x(curve.back().iteration), screen_y(curve.back().log_error), kAccent);
  }
  fmt::format_to(out, "</g>\n");
}

// ---------------------------------------------------------------------------------------------------- figures

void write_figures(Out out, const TransportPictureData& data) {
  constexpr double kRowHeight = 36;
  const double right = kWidth - kMargin;
  const std::array<std::array<std::string, 2>, 6> rows{{
      {"source points n", grouped(data.source.size() / 2)},
      {"target points m", grouped(data.target.size() / 2)},
      {"regularisation ε", scientific(data.epsilon)},
      {"iterations", grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(data.iterations, 0)))},
      {"marginal error (L1)", scientific(data.error)},
      {"transport cost ⟨P, C⟩", fmt::format("{:.6g}", data.linear_cost)},
  }};
  fmt::format_to(out, "<g class=\"figures\">\n");
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"16\" font-weight=\"600\">This run</text>\n",
                 kFiguresLeft, kPlotTop - 26);
  double y = kPlotTop + 24;
  for (const auto& [name, value] : rows) {
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"15\" fill=\"{}\">{}</text>", kFiguresLeft, y,
                   kMuted, name);
    fmt::format_to(out,
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"15\" font-weight=\"600\" text-anchor=\"end\">{}</text>",
                   right, y, value);
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\"/>\n", kFiguresLeft, y + 12, right, kLine);
    y += kRowHeight;
  }
  fmt::format_to(out, "</g>\n");
}

/// The start of a document of this height, of which only what is below `top` is seen.
std::string canvas(const TransportPictureData& data, double top, double height) {
  if (data.source.size() % 2 != 0 || data.target.size() % 2 != 0 || data.moved.size() != data.source.size()) {
    throw std::invalid_argument("transport_picture: points are pairs of coordinates, and every source point is moved");
  }
  std::string svg;
  const Out out = std::back_inserter(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {3:.0f} {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
                 "height=\"{1:.0f}\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, "
                 "'Helvetica Neue', Arial, sans-serif\" fill=\"{2}\">\n",
                 kWidth, height, kInk, top);
  fmt::format_to(out, "<title>{}</title>\n", svg::escaped(data.title));
  // An opaque background, so that the picture looks the same in a dark viewer.
  fmt::format_to(out, "<rect y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"14\" fill=\"#ffffff\"/>\n", top,
                 kWidth, height);
  return svg;
}

std::string drawn(const TransportPictureData& data) {
  std::string svg = canvas(data, 0, kHeight);
  const Out out = std::back_inserter(svg);
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"58\" font-size=\"26\" font-weight=\"700\">{}</text>\n", kMargin,
                 svg::escaped(data.title));
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"86\" font-size=\"15\" fill=\"{}\">{}</text>\n", kMargin, kMuted,
                 svg::escaped(data.subtitle));
  write_frames(out, data);
  write_convergence(out, data);
  write_figures(out, data);
  svg += "</svg>\n";
  return svg;
}

std::string drawn_frames(const TransportPictureData& data) {
  constexpr double kAbove = 20;
  constexpr double kBelow = 48;  // the labels are there
  std::string svg = canvas(data, kFrameTop - kAbove, kFrameSize + kAbove + kBelow);
  write_frames(std::back_inserter(svg), data);
  return svg + "</svg>\n";
}

}  // namespace
}  // namespace transport_drawing

std::string transport_picture(const TransportPictureData& data) { return transport_drawing::drawn(data); }

std::string transport_frames(const TransportPictureData& data) { return transport_drawing::drawn_frames(data); }

void barycentric_projection(std::span<const double> plan_rows, std::span<const double> target,
                            std::span<double> moved) {
  const std::size_t columns = target.size() / 2;
  if (target.size() % 2 != 0 || moved.size() % 2 != 0 || plan_rows.size() != moved.size() / 2 * columns) {
    throw std::invalid_argument(
        "barycentric_projection: the plan needs a row a moved point and a column a target point");
  }
  for (std::size_t i = 0; i < moved.size() / 2; ++i) {
    double mass = 0;
    double x = 0;
    double y = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const double p = plan_rows[i * columns + j];
      mass += p;
      x += p * target[2 * j];
      y += p * target[2 * j + 1];
    }
    moved[2 * i] = x / mass;
    moved[2 * i + 1] = y / mass;
  }
}

}  // namespace fedsinkhorn
