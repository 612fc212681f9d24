#include "report/plan_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "report/svg.hpp"

namespace fedsinkhorn {
namespace {

using svg::escaped;
using svg::grouped;
using svg::kInk;
using svg::kLine;
using svg::kMuted;
using svg::Out;

// Everything is laid out on a fixed canvas; the viewer scales it. Seconds above, the share of communication below.
constexpr double kWidth = 1280;
constexpr double kHeight = 784;
constexpr double kMargin = 56;
constexpr double kLeft = kMargin + 72;
constexpr double kRight = 1032;
constexpr double kTop = 136;
constexpr double kBottom = 546;
constexpr double kShareTop = 590;
constexpr double kShareBottom = 702;
constexpr double kLabelLeft = kRight + 44;
constexpr double kLabelRoom = kWidth - 24 - kLabelLeft;
constexpr const char* kMinorLine = "#f2f4f7";
constexpr double kGlyph = 0.58;  ///< width of a character over the font size, rather too much

/// Colours that colour-blind readers tell apart; dashes and markers tell as much in black and white.
struct Style {
  std::string_view topology;
  const char* colour;
  const char* dashes;
  const char* marker;  ///< a path around 0, 0
};

constexpr std::array kStyles = {
    Style{"row-reduce", "#0b62a8", "none", "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"},
    Style{"all-to-all", "#c2410c", "10 5", "M-4.2-4.2h8.4v8.4h-8.4z"},
    Style{"star", "#6b21a8", "2 5", "M0-5.6L5.3 3.6H-5.3z"},
    Style{"grid", "#0f7b5f", "13 5 2 5", "M0-5.8L5.2 0L0 5.8L-5.2 0z"},
    Style{"centralized", "#475467", "5 4", "M0 5.6L5.3-3.6H-5.3z"},
    Style{"async", "#a16207", "13 5 2 5 2 5", "M-5-2L-2-5L0-3L2-5L5-2L3 0L5 2L2 5L0 3L-2 5L-5 2L-3 0z"},
};

struct Point {
  double clients = 0;  ///< log10
  double seconds = 0;  ///< log10
  double share = 0;    ///< of communication; NaN: not known
};

struct Curve {
  std::string label;
  Style style{};
  std::vector<Point> points;  ///< by clients
  std::size_t turns_at = 0;
};

/// From a range of values to a range of the canvas.
struct Axis {
  double low = 0;
  double high = 1;
  double from = 0;
  double to = 1;

  [[nodiscard]] double at(double value) const { return from + (to - from) * (value - low) / (high - low); }
};

struct Axes {
  Axis clients;
  Axis seconds;
  Axis share{0, 1, kShareBottom, kShareTop};
};

// --------------------------------------------------------------------------------------------------- numbers

std::string clients_text(double clients) {
  return grouped(fmt::format("{:.0f}", clients)) + (clients == 1 ? " client" : " clients");
}

/// Three digits and a unit.
std::string duration(double log_seconds) {
  const double seconds = std::stod(fmt::format("{:.2e}", std::pow(10.0, log_seconds)));
  if (!(seconds >= 1e-9) || seconds >= 1e6) return svg::power_of_ten(static_cast<int>(std::lround(log_seconds))) + " s";
  if (seconds >= 1000) return grouped(fmt::format("{:.0f}", seconds)) + " s";
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", 1e3 * seconds);
  if (seconds >= 1e-6) return fmt::format("{:.3g} µs", 1e6 * seconds);
  return fmt::format("{:.3g} ns", 1e9 * seconds);
}

/// Characters of a UTF-8 text.
double length_of(std::string_view text) {
  return static_cast<double>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// ---------------------------------------------------------------------------------------------------- curves

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

/// Points that a logarithmic plot can show; curves without any are left out.
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

// ------------------------------------------------------------------------------------------------------ axes

struct Tick {
  double value = 0;   ///< log10
  std::string label;  ///< empty: a minor line
};

double width_of(const Axis& axis) { return axis.high - axis.low; }

/// 0.001, 5,000 or 2 × 10⁻⁶
std::string tick_label(double factor, int exponent, bool is_plain) {
  if (!is_plain) return (factor > 1 ? fmt::format("{:g} × ", factor) : "") + svg::power_of_ten(exponent);
  const double value = factor * std::pow(10.0, exponent);
  return value < 1000 ? fmt::format("{:g}", value) : grouped(fmt::format("{:.0f}", value));
}

/// Labels at powers of ten; at 2 and 5 times these, or more, if the axis is short. Minor lines between, if there is
/// room.
std::vector<Tick> ticks_of_seconds(const Axis& axis) {
  constexpr std::array kFactors = {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0};
  const double width = width_of(axis);
  const bool is_plain = axis.low > -4.5 && axis.high < 4.5;  // the same for all labels
  const int step = std::max(1, static_cast<int>(std::ceil(width / 12)));
  const auto has_label = [&](double factor, int exponent) {
    if (factor == 1) return exponent % step == 0;
    if (factor == 2 || factor == 5) return width < 2.5;
    return (factor == 3 || factor == 7) && width < 1;
  };
  std::vector<Tick> ticks;
  for (int exponent = static_cast<int>(std::floor(axis.low)); exponent <= axis.high; ++exponent) {
    for (const double factor : kFactors) {
      const double value = exponent + std::log10(factor);
      if (value < axis.low || value > axis.high || (factor == 1.5 && width > 2.5)) continue;
      if (has_label(factor, exponent)) {
        ticks.push_back({value, tick_label(factor, exponent, is_plain)});
      } else if (width < (factor == 1 ? 24 : 7)) {
        ticks.push_back({value, ""});
      }
    }
  }
  return ticks;
}

/// Powers of two up to a thousand clients or so, 1, 2, 5, 10, ... or powers of ten above. Of one or two neighbouring
/// numbers of clients, these.
std::vector<Tick> ticks_of_clients(const Axis& axis, std::span<const Curve> curves) {
  const double width = width_of(axis);
  std::vector<Tick> ticks;
  const auto add = [&](double clients, bool has_label) {
    const double value = std::log10(clients);
    if (value < axis.low || value > axis.high) return;
    ticks.push_back({value, has_label ? grouped(fmt::format("{:.0f}", clients)) : ""});
  };
  if (width < 0.33) {
    std::set<double> numbers;
    for (const Curve& curve : curves) {
      for (const Point& point : curve.points) numbers.insert(std::round(std::pow(10.0, point.clients)));
    }
    const bool is_crowded = numbers.size() > 12;
    for (const double clients : numbers) add(clients, !is_crowded || clients == *numbers.begin());
  } else if (width < 3.2) {
    for (double clients = 1; std::log10(clients) <= axis.high; clients *= 2) add(clients, true);
  } else {
    const int step = static_cast<int>(std::ceil(width / 8));
    for (int exponent = 0; exponent <= axis.high; ++exponent) {
      for (int factor = 1; factor <= 9; ++factor) {
        const bool has_label = factor == 1 ? exponent % step == 0 : width < 4.5 && (factor == 2 || factor == 5);
        add(factor * std::pow(10.0, exponent), has_label);
      }
    }
  }
  return ticks;
}

void write_line(Out out, double x, double y, std::string_view command, double to, const char* colour) {
  fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}{}{:.1f}\" stroke=\"{}\"/>\n", x, y, command, to, colour);
}

void write_tick_label(Out out, double x, double y, const char* anchor, std::string_view label) {
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"14\" fill=\"{}\">{}</text>\n", x,
                 y, anchor, kMuted, label);
}

void write_note(Out out, double x, double y, std::string_view text) {
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"15\" fill=\"{}\">{}</text>\n", x, y, kMuted, text);
}

void write_axis_title(Out out, double middle, std::string_view title) {
  fmt::format_to(out,
                 "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\" "
                 "font-size=\"15\">{}</text>\n",
                 kMargin - 8, middle, title);
}

void write_axes(Out out, const Axes& axes, std::span<const Curve> curves) {
  fmt::format_to(out, "<g class=\"axes\">\n");
  for (const bool is_major : {false, true}) {  // so that minor lines are below
    for (const Tick& tick : ticks_of_clients(axes.clients, curves)) {
      if (tick.label.empty() == is_major) continue;
      const double x = axes.clients.at(tick.value);
      write_line(out, x, kTop, "V", kBottom, is_major ? kLine : kMinorLine);
      write_line(out, x, kShareTop, "V", kShareBottom, is_major ? kLine : kMinorLine);
      if (is_major) write_tick_label(out, x, kShareBottom + 22, "middle", tick.label);
    }
    for (const Tick& tick : ticks_of_seconds(axes.seconds)) {
      if (tick.label.empty() == is_major) continue;
      const double y = axes.seconds.at(tick.value);
      write_line(out, kLeft, y, "H", kRight, is_major ? kLine : kMinorLine);
      if (is_major) write_tick_label(out, kLeft - 9, y + 5, "end", tick.label);
    }
  }
  for (const int percent : {0, 25, 50, 75, 100}) {
    const double y = axes.share.at(percent / 100.0);
    write_line(out, kLeft, y, "H", kRight, percent == 50 ? "#98a2b3" : percent % 50 == 0 ? kLine : kMinorLine);
    if (percent % 50 == 0) write_tick_label(out, kLeft - 9, y + 5, "end", fmt::format("{} %", percent));
  }
  for (const auto& [top, bottom] : {std::pair{kTop, kBottom}, std::pair{kShareTop, kShareBottom}}) {
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"{}\"/>\n", kLeft, top, bottom,
                   kRight, kMuted);
  }
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"15\">clients</text>\n",
                 (kLeft + kRight) / 2, kShareBottom + 52);
  write_axis_title(out, (kTop + kBottom) / 2, "seconds per iteration");
  write_axis_title(out, (kShareTop + kShareBottom) / 2, "communication");
  fmt::format_to(out, "</g>\n");
}

// ---------------------------------------------------------------------------------------------- what is drawn

struct Place {
  double x = 0;
  double y = 0;
};

void write_marker(Out out, const Style& style, Place at) {
  fmt::format_to(
      out, "<path transform=\"translate({:.1f} {:.1f})\" d=\"{}\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"1\"/>\n",
      at.x, at.y, style.marker, style.colour);
}

void write_curve(Out out, const Style& style, std::span<const Place> places, double width) {
  fmt::format_to(out,
                 "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\" "
                 "stroke-linejoin=\"round\" points=\"",
                 style.colour, width, style.dashes);
  for (const Place& place : places) fmt::format_to(out, "{:.1f},{:.1f} ", place.x, place.y);
  fmt::format_to(out, "\"/>\n");
  for (const Place& place : places) write_marker(out, style, place);
}

std::vector<Place> places_of_seconds(const Curve& curve, const Axes& axes) {
  std::vector<Place> places;
  for (const Point& point : curve.points) {
    places.push_back({axes.clients.at(point.clients), axes.seconds.at(point.seconds)});
  }
  return places;
}

std::vector<Place> places_of_share(const Curve& curve, const Axes& axes) {
  std::vector<Place> places;
  for (const Point& point : curve.points) {
    if (!std::isnan(point.share)) places.push_back({axes.clients.at(point.clients), axes.share.at(point.share)});
  }
  return places;
}

// ------------------------------------------------------------------------------------- labels at the right end

/// The least moves, in squares, after which neighbours are `apart` from each other, between top and bottom. Sorted.
std::vector<double> spread_out(std::span<const double> wanted, double apart, double top, double bottom) {
  struct Block {
    double sum = 0;
    double count = 0;
    [[nodiscard]] double mean() const { return sum / count; }
  };
  // With k x apart taken off the k-th, the places have to be monotone: pool adjacent violators.
  std::vector<Block> blocks;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    blocks.push_back({wanted[k] - apart * static_cast<double>(k), 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().count += last.count;
    }
  }
  const double lowest = std::max(top, bottom - apart * static_cast<double>(wanted.size() - 1));
  std::vector<double> places;
  for (const Block& block : blocks) {
    for (int k = 0; k < static_cast<int>(block.count); ++k) {
      places.push_back(std::clamp(block.mean(), top, lowest) + apart * static_cast<double>(places.size()));
    }
  }
  return places;
}

/// What the times of the labels are of.
std::string common_end(std::span<const Curve> curves) {
  const double most = curves.front().points.back().clients;
  const bool is_common =
      std::ranges::all_of(curves, [&](const Curve& curve) { return curve.points.back().clients == most; });
  return is_common ? "with " + clients_text(std::round(std::pow(10.0, most))) + ":" : "with most clients:";
}

void write_labels(Out out, std::span<const Curve> curves, const Axes& axes) {
  std::vector<std::size_t> order(curves.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto end_of = [&](std::size_t c) { return places_of_seconds(curves[c], axes).back(); };
  std::ranges::stable_sort(order, {}, [&](std::size_t c) { return end_of(c).y; });
  std::vector<double> wanted(order.size());
  std::ranges::transform(order, wanted.begin(), [&](std::size_t c) { return end_of(c).y; });
  const double apart = std::min(24.0, (kBottom - kTop) / static_cast<double>(curves.size()));
  const std::vector<double> places = spread_out(wanted, apart, kTop, kBottom);

  fmt::format_to(out, "<g class=\"labels\">\n");
  write_note(out, kLabelLeft, places.front() - 24, common_end(curves));
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Curve& curve = curves[order[k]];
    const Place end = end_of(order[k]);
    const std::string time = duration(curve.points.back().seconds);
    const double size =
        std::min({16.0, 0.75 * apart, kLabelRoom / (kGlyph * (length_of(curve.label) + length_of(time) + 1))});
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"0.8\"/>\n", end.x + 7,
                   end.y, kLabelLeft - 17, places[k], curve.style.colour);
    write_marker(out, curve.style, {kLabelLeft - 10, places[k]});
    fmt::format_to(out,
                   "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" font-weight=\"600\" "
                   "fill=\"{}\">{}<tspan dx=\"6\" font-weight=\"400\" fill=\"{}\">{}</tspan></text>\n",
                   kLabelLeft, places[k] + 0.35 * size, size, curve.style.colour, escaped(curve.label), kMuted, time);
  }
  fmt::format_to(out, "</g>\n");
}

// --------------------------------------------------------------------- where communication begins to dominate

constexpr double kRing = 9;  ///< radius

struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  [[nodiscard]] bool contains(Place at) const { return at.x >= left && at.x <= right && at.y >= top && at.y <= bottom; }
};

/// The place of a curve at a number of clients, if it reaches that far.
std::optional<Place> place_at(std::span<const Place> places, double x) {
  constexpr double kSlack = 1e-6;
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (std::abs(places[k].x - x) < kSlack) return places[k];
    if (k == 0 || x < places[k - 1].x || x > places[k].x) continue;
    const double share = (x - places[k - 1].x) / (places[k].x - places[k - 1].x);
    return Place{x, std::lerp(places[k - 1].y, places[k].y, share)};
  }
  return std::nullopt;
}

/// Dense enough that no curve passes a label unseen.
std::vector<Place> samples_of(std::span<const Place> places) {
  constexpr int kSteps = 40;
  std::vector<Place> samples(places.begin(), places.end());
  for (std::size_t k = 1; k < places.size(); ++k) {
    for (int step = 1; step < kSteps; ++step) {
      const double t = static_cast<double>(step) / kSteps;
      samples.push_back({std::lerp(places[k - 1].x, places[k].x, t), std::lerp(places[k - 1].y, places[k].y, t)});
    }
  }
  return samples;
}

/// Where a label of this width around a place covers least of what is drawn.
Box free_box(Place around, double width, std::span<const Place> taken) {
  constexpr double kTall = 18;
  Box best;
  double least = std::numeric_limits<double>::infinity();
  for (const double distance : {13.0, 22.0, 34.0}) {
    for (const auto& [dx, dy] : {std::pair{0, 1}, {0, -1}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}, {1, 0}, {-1, 0}}) {
      const double x = around.x + dx * (distance + width / 2) * (dy == 0 ? 1 : 0.75);
      const double y = around.y + dy * (distance + kTall / 2) * (dx == 0 ? 1 : 0.75);
      const Box box{x - width / 2, y - kTall / 2, x + width / 2, y + kTall / 2};
      if (box.left < kLeft + 3 || box.right > kRight || box.top < kTop - 20 || box.bottom > kBottom - 2) continue;
      const auto covered = std::ranges::count_if(taken, [&](const Place& place) { return box.contains(place); });
      const double cost = static_cast<double>(covered) + distance / 10;
      if (cost < least) {
        least = cost;
        best = box;
      }
    }
  }
  return best;
}

void write_ring(Out out, Place at, const char* colour) {
  fmt::format_to(out,
                 "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n",
                 at.x, at.y, kRing, colour);
}

struct Turn {
  Place at;
  std::string label;
  const char* colour = kInk;
};

std::vector<Turn> turns_of(std::span<const Curve> curves, const Axes& axes) {
  std::vector<Turn> turns;
  for (const Curve& curve : curves) {
    if (curve.turns_at == 0) continue;
    const double x = axes.clients.at(std::log10(static_cast<double>(curve.turns_at)));
    const std::optional<Place> at = place_at(places_of_seconds(curve, axes), x);
    if (!at) continue;
    turns.push_back({*at, clients_text(static_cast<double>(curve.turns_at)), curve.style.colour});
  }
  return turns;
}

void write_turns(Out out, std::span<const Turn> turns, std::span<const Curve> curves, const Axes& axes) {
  std::vector<Place> taken;
  const auto take = [&](std::span<const Place> line) {
    std::ranges::copy(samples_of(line), std::back_inserter(taken));
  };
  const auto take_box = [&](const Box& box) {
    take(std::array{Place{box.left, box.top}, Place{box.right, box.top}, Place{box.right, box.bottom},
                    Place{box.left, box.bottom}, Place{box.left, box.top}});
  };
  for (const Curve& curve : curves) take(places_of_seconds(curve, axes));
  for (const auto& [at, label, colour] : turns) take_box({at.x - kRing, at.y - kRing, at.x + kRing, at.y + kRing});

  fmt::format_to(out, "<g class=\"turns\">\n");
  for (const auto& [at, label, colour] : turns) {
    write_ring(out, at, colour);
    const Box box = free_box(at, kGlyph * 13 * length_of(label), taken);
    take_box(box);
    fmt::format_to(out,
                   "<text class=\"turn\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"13\" fill=\"{}\" "
                   "stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>\n",
                   (box.left + box.right) / 2, box.bottom - 5, colour, label);
  }
  fmt::format_to(out, "</g>\n");
}

// ---------------------------------------------------------------------------------------------------- the whole

std::string described(std::span<const Curve> curves) {
  std::string text = "Predicted seconds per iteration against the number of clients, both on logarithmic axes.";
  for (const Curve& curve : curves) {
    const auto clients = [](const Point& point) { return clients_text(std::round(std::pow(10.0, point.clients))); };
    const Point& first = curve.points.front();
    const Point& last = curve.points.back();
    text += fmt::format(" {}: {} with {}, {} with {}", curve.label, duration(first.seconds), clients(first),
                        duration(last.seconds), clients(last));
    text += curve.turns_at == 0 ? "."
                                : fmt::format("; communication takes longer than computing from {} on.",
                                              clients_text(static_cast<double>(curve.turns_at)));
  }
  return text;
}

void write_curves(Out out, std::span<const Curve> curves) {
  const Axes axes = axes_of(curves);
  const std::vector<Turn> turns = turns_of(curves, axes);
  write_note(out, kMargin, 86, "Predicted time per iteration; below, the share of it spent on communication");
  if (!turns.empty()) {
    write_ring(out, {kMargin + kRing, 107}, kInk);
    write_note(out, kMargin + 26, 112, "from here on, communication takes longer than computing");
  }
  write_axes(out, axes, curves);
  for (const Curve& curve : curves) {
    fmt::format_to(out, "<g class=\"curve\">\n");
    write_curve(out, curve.style, places_of_seconds(curve, axes), 2.5);
    write_curve(out, curve.style, places_of_share(curve, axes), 1.5);
    fmt::format_to(out, "</g>\n");
  }
  write_turns(out, turns, curves, axes);
  write_labels(out, curves, axes);
}

}  // namespace

std::string plan_picture(const TopologyPlan& plan, const std::string& title) {
  const std::vector<Curve> curves = drawable(plan);
  const std::string sentence = "No curves to draw: no topology with several clients is feasible.";
  std::string svg;
  const Out out = std::back_inserter(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
                 "height=\"{1:.0f}\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, "
                 "'Helvetica Neue', Arial, sans-serif\" fill=\"{2}\">\n",
                 kWidth, kHeight, kInk);
  fmt::format_to(out, "<title>{}</title>\n<desc>{}</desc>\n", escaped(title),
                 escaped(curves.empty() ? sentence : described(curves)));
  // An opaque background, so that the picture looks the same in a dark viewer.
  fmt::format_to(out, "<rect width=\"{:.0f}\" height=\"{:.0f}\" rx=\"14\" fill=\"#ffffff\"/>\n", kWidth, kHeight);
  const double size = std::min(26.0, (kWidth - 2 * kMargin) / (kGlyph * std::max(1.0, length_of(title))));
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"58\" font-size=\"{:.1f}\" font-weight=\"700\">{}</text>\n", kMargin, size,
                 escaped(title));
  if (curves.empty()) {
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"18\">{}</text>\n",
                   kWidth / 2, kHeight / 2, sentence);
  } else {
    write_curves(out, curves);
  }
  svg += "</svg>\n";
  return svg;
}

}  // namespace fedsinkhorn
