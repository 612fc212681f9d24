#include "report/plan_picture.hpp"
#include "core/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "report/plan_curves.hpp"
#include "report/svg.hpp"

namespace fedsinkhorn {
namespace plan_drawing {
namespace {

using svg::escaped;
using svg::kInk;
using svg::kLine;
using svg::kMuted;
using svg::length_of;
using svg::Out;

constexpr double kLabelLeft = kRight + 44;
constexpr double kLabelRoom = kWidth - 24 - kLabelLeft;
constexpr const char* kMinorLine = "#f2f4f7";
constexpr double kGlyph = 0.58;  ///< width of a character over the font size, rather too much

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

std::string drawn(const TopologyPlan& plan, const std::string& title) {
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

}  // namespace
}  // namespace plan_drawing

std::string plan_picture(const TopologyPlan& plan, const std::string& title) {
  return plan_drawing::drawn(plan, title);
}

}  // namespace fedsinkhorn
