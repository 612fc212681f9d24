#include "report/risk_axis.hpp"
#include "core/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "report/svg.hpp"

namespace fedsinkhorn::risk_drawing {
namespace {

constexpr double kLabelGlyph = 7.5;  ///< pixels per character of a label
constexpr double kFar = 1e4;         ///< pixels; nothing is drawn farther away

/// With a minus sign instead of a hyphen.
std::string with_minus(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

/// Thousands are grouped; decimals: digits after the point.
std::string plain_text(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t point = std::min(text.find('.'), text.size());
  text = grouped(text.substr(0, point)) + text.substr(point);
  const bool is_zero = text.find_first_of("123456789") == std::string::npos;
  return value < 0 && !is_zero ? "−" + text : text;
}

int exponent_of(double value) { return static_cast<int>(std::floor(std::log10(value))); }

/// 1, 2 or 5 times a power of ten, with at most `labels` steps in the width.
double nice_step(double width, int labels) {
  const double least = width / labels;
  const double power = std::pow(10.0, exponent_of(least));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<Tick> linear_ticks(const Axis& axis, int labels) {
  const double unit = std::pow(10.0, axis.exponent);
  const double low = axis.low / unit;
  const double high = axis.high / unit;
  const double step = nice_step(high - low, labels);
  const int decimals = std::clamp(-exponent_of(step * (1 + 1e-9)), 0, 9);
  std::vector<Tick> ticks;
  const double first = std::ceil(low / step - 1e-9);
  for (int k = 0; k <= 2 * labels; ++k) {
    const double value = (first + k) * step;
    if (value > high + 1e-9 * step) break;
    ticks.push_back({axis.at(value * unit), plain_text(value, decimals)});
  }
  return ticks;
}

/// 0.001, 5,000 or 2 × 10⁻⁶
std::string log_label(int factor, int exponent, bool is_plain) {
  if (!is_plain) return (factor > 1 ? fmt::format("{} × ", factor) : "") + svg::power_of_ten(exponent);
  return plain_text(factor * std::pow(10.0, exponent), std::max(0, -exponent));
}

std::vector<Tick> log_ticks(const Axis& axis, int labels) {
  const double decades = std::log10(axis.high / axis.low);
  const bool is_plain = axis.low >= 0.9e-4 && axis.high <= 1.1e5;
  const int step = std::max(1, static_cast<int>(std::ceil(decades / labels)));
  std::vector<Tick> ticks;
  std::vector<std::pair<double, double>> taken;  // by labels, in pixels
  const auto add = [&](int factor, int exponent) {
    const double value = factor * std::pow(10.0, exponent);
    if (value < axis.low || value > axis.high) return;
    Tick tick{axis.at(value), ""};
    const std::string label = log_label(factor, exponent, is_plain);
    const double half = kLabelGlyph * (is_plain ? static_cast<double>(label.size()) : factor > 1 ? 8 : 5) / 2;
    const bool is_free = std::ranges::none_of(taken, [&](const std::pair<double, double>& other) {
      return tick.at - half < other.second + 6 && tick.at + half > other.first - 6;
    });
    const bool is_wanted = factor == 1 ? exponent % step == 0 : (factor == 2 || factor == 5) && decades < 3.5;
    if (is_wanted && is_free) {
      tick.label = label;
      taken.emplace_back(tick.at - half, tick.at + half);
    }
    if (!tick.label.empty() || decades < (factor == 1 ? 40 : 8)) ticks.push_back(tick);
  };
  const int first = exponent_of(axis.low);
  const int last = exponent_of(axis.high);
  for (const int factor : {1, 2, 5, 3, 4, 6, 7, 8, 9}) {  // the important ones choose their places first
    for (int exponent = first; exponent <= last; ++exponent) add(factor, exponent);
  }
  return ticks;
}

}  // namespace

double Axis::at(double value) const {
  const double share =
      is_log ? std::log(std::max(value, low * 1e-9) / low) / std::log(high / low) : (value - low) / (high - low);
  const double place = from + (to - from) * share;
  return std::clamp(place, std::min(from, to) - kFar, std::max(from, to) + kFar);
}

double Axis::slope_at(double value) const {
  return is_log ? (to - from) / (std::log(high / low) * value) : (to - from) / (high - low);
}

std::string Axis::unit() const { return exponent == 0 ? "" : fmt::format(" (× {})", svg::power_of_ten(exponent)); }

Axis linear_axis(Range range, double from, double to, double room_low, double room_high) {
  if (range.is_empty()) range = {0, 0};
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  const double least = largest < 1e-100 ? 1 : 1e-4 * largest;
  const double missing = std::max(0.0, least - (range.high - range.low)) / 2;
  range = {range.low - missing, range.high + missing};
  const double width = range.high - range.low;
  Axis axis{.low = range.low - room_low * width, .high = range.high + room_high * width, .from = from, .to = to};
  const double most = std::max(std::abs(axis.low), std::abs(axis.high));
  if (most < 2e-3 || most >= 1e5) axis.exponent = exponent_of(most);
  return axis;
}

Axis log_axis(Range range, double from, double to) {
  const double room = std::pow(range.high / range.low, 0.03);
  return {.low = range.low / room, .high = range.high * room, .from = from, .to = to, .is_log = true};
}

std::vector<Tick> ticks_of(const Axis& axis, int labels) {
  return axis.is_log ? log_ticks(axis, labels) : linear_ticks(axis, labels);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "not known";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  const double size = std::abs(value);
  if (size >= 999.5 && size < 1e5) return plain_text(value, 0);
  if (size >= 1e-4 && size < 1e-3) return with_minus(fmt::format("{:.3g}", value));
  return with_minus(svg::scientific(value));
}

std::string percent_text(double share) {
  if (!std::isfinite(share)) return "not known";
  const double percent = 100 * share;
  if (percent > 0 && percent < 5e-4) return "under 0.001 %";
  if (percent > 0 && percent < 0.95) return fmt::format("{:.2g} %", percent);
  return percent >= 99.95 ? fmt::format("{:.0f} %", percent) : fmt::format("{:.1f} %", percent);
}

}  // namespace fedsinkhorn::risk_drawing
