// Losses before and after.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "report/risk_panels.hpp"

namespace fedsinkhorn::risk_drawing {
namespace {

using svg::Out;

constexpr double kHistogramTop = 466;  ///< of the panel
constexpr Box kHistogramPlot{118, 532, 628, 700};

double drawable_mass(double mass) { return is_drawable(mass) && mass > 0 ? mass : 0; }

/// Path commands of a staircase over the bins, from the ground to the ground.
std::string staircase(std::span<const double> masses, const LossHistogram& histogram, const Axis& x, const Axis& y) {
  const double width = (histogram.last - histogram.first) / static_cast<double>(masses.size());
  std::string path = fmt::format("M{:.2f} {:.2f}", x.at(histogram.first), y.at(0));
  for (std::size_t k = 0; k < masses.size(); ++k) {
    const double end = x.at(histogram.first + width * static_cast<double>(k + 1));
    path += fmt::format("V{:.2f}H{:.2f}", y.at(100 * drawable_mass(masses[k])), end);
  }
  return path + fmt::format("V{:.2f}", y.at(0));
}

/// A range too narrow to see becomes one bar of a width that can be seen.
LossHistogram visible(const LossHistogram& given, const Axis& x) {
  const double least = 0.02 * (x.high - x.low);
  if (given.last - given.first >= least) return given;
  const auto bar = [](std::span<const double> masses) {
    double sum = 0;
    for (const double mass : masses) sum += drawable_mass(mass);
    return masses.empty() ? std::vector<double>{} : std::vector<double>{sum};
  };
  const double middle = given.first + (given.last - given.first) / 2;
  return {
      .first = middle - least / 2, .last = middle + least / 2, .before = bar(given.before), .after = bar(given.after)};
}

struct Marker {
  double value = 0;
  std::string name;
  const char* colour = kBefore;
};

/// Lines with their names above the plot, each name on its own level and pointing away from the other line.
void write_marker(Out out, const Axis& x, const Marker& marker, double other, int level) {
  if (!is_drawable(marker.value) || marker.value < x.low || marker.value > x.high) return;
  const double at = x.at(marker.value);
  const double top = kHistogramPlot.top - 3 - 15 * level;
  const std::string text = fmt::format("{} {}", marker.name, number_text(marker.value));
  fmt::format_to(out,
                 "<path class=\"marker\" d=\"M{:.1f} {:.1f}V{:.1f}\" stroke=\"{}\" stroke-width=\"1.6\" "
                 "stroke-dasharray=\"7 5\"/>\n",
                 at, kHistogramPlot.bottom, top - 10, marker.colour);
  const double width = kGlyph * 12 * svg::length_of(text);
  const bool has_left = at - 5 - width > kMargin;
  const bool has_right = at + 5 + width < kHistogramPlot.right + 10;
  const bool is_left = has_left && (!has_right || marker.value < other);
  write_text(out, is_left ? at - 5 : at + 5, top, text,
             {.size = 12, .colour = marker.colour, .anchor = is_left ? "end" : "start"});
}

void write_legend(Out out, bool has_before) {
  constexpr double kRow = kHistogramTop - 11;
  fmt::format_to(out, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"11\" fill=\"{}\" opacity=\"0.45\"/>\n",
                 kHistogramPlot.right - 56, kRow, kAfter);
  write_text(out, kHistogramPlot.right - 36, kHistogramTop, "after", {.size = 12.5});
  if (!has_before) return;
  fmt::format_to(out,
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"11\" fill=\"none\" stroke=\"{}\" "
                 "stroke-width=\"1.8\"/>\n",
                 kHistogramPlot.right - 134, kRow, kBefore);
  write_text(out, kHistogramPlot.right - 114, kHistogramTop, "before", {.size = 12.5});
}

void write_bins(Out out, const RiskPictureData& data) {
  const RiskResult& result = data.result;
  const Range losses{result.histogram.first, result.histogram.last};
  const Axis x = linear_axis(losses, kHistogramPlot.left, kHistogramPlot.right, 0.02, 0.02);
  const LossHistogram histogram = visible(result.histogram, x);
  Range shares{0, 0};
  for (const double mass : histogram.before) shares.add(100 * drawable_mass(mass));
  for (const double mass : histogram.after) shares.add(100 * drawable_mass(mass));
  Axis y = linear_axis(shares, kHistogramPlot.bottom, kHistogramPlot.top, 0, 0.06);
  y.low = 0;

  write_axes(out, kHistogramPlot, x, y, "loss", "share of mass (%)");
  if (!histogram.after.empty()) {
    fmt::format_to(out, "<path class=\"after\" d=\"{}Z\" fill=\"{}\" opacity=\"0.45\"/>\n",
                   staircase(histogram.after, histogram, x, y), kAfter);
  }
  if (!histogram.before.empty()) {
    fmt::format_to(out, "<path class=\"before\" d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n",
                   staircase(histogram.before, histogram, x, y), kBefore);
  }
  const bool is_tail = data.cvar_level > 0;
  const std::string name = is_tail ? "VaR" : "mean";
  const double before = is_tail ? result.value_at_risk : result.expected_loss;
  const double after = is_tail ? result.worst.value_at_risk : result.worst.loss;
  write_marker(out, x, {before, name + " before", kBefore}, after, 1);
  write_marker(out, x, {after, name + " after", kAfter}, before, 0);
}

}  // namespace

void write_histogram_panel(Out out, const RiskPictureData& data) {
  const LossHistogram& histogram = data.result.histogram;
  fmt::format_to(out, "<g class=\"histogram\">\n");
  const bool has_bins = (!histogram.before.empty() || !histogram.after.empty()) && is_drawable(histogram.first) &&
                        is_drawable(histogram.last) && histogram.last >= histogram.first;
  write_heading(out, kMargin, kHistogramTop, "Losses before and after",
                has_bins ? "how the mass of all days is spread over losses" : "no losses are known: nothing to draw");
  if (has_bins) {
    write_legend(out, !histogram.before.empty());
    write_bins(out, data);
  }
  fmt::format_to(out, "</g>\n");
}

}  // namespace fedsinkhorn::risk_drawing
