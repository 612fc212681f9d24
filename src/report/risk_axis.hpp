// Axes of the picture of a worst case.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace fedsinkhorn::risk_drawing {

/// Finite, and far from where arithmetic on it would not be.
[[nodiscard]] inline bool is_drawable(double value) { return std::abs(value) < 1e100; }

/// Of all values added that can be drawn.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  [[nodiscard]] bool is_empty() const { return low > high; }
  void add(double value) {
    if (!is_drawable(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// From values to pixels.
struct Axis {
  double low = 0;
  double high = 1;
  double from = 0;  ///< pixels of low
  double to = 1;    ///< and of high
  bool is_log = false;
  int exponent = 0;  ///< labels are in units of 10^exponent

  [[nodiscard]] double at(double value) const;
  /// Pixels by which at() grows with the value, here.
  [[nodiscard]] double slope_at(double value) const;
  /// For the title of the axis: " (× 10⁻⁹)", or nothing.
  [[nodiscard]] std::string unit() const;
};

/// room: parts of the width left free at both ends. An empty range is one around 0, and a very narrow one is widened so
/// that labels need few digits.
[[nodiscard]] Axis linear_axis(Range range, double from, double to, double room_low, double room_high);
/// Of positive values.
[[nodiscard]] Axis log_axis(Range range, double from, double to);

struct Tick {
  double at = 0;      ///< pixels
  std::string label;  ///< empty: a minor one
};

/// labels: at most so many, roughly. They do not overlap below the axis.
[[nodiscard]] std::vector<Tick> ticks_of(const Axis& axis, int labels);

/// Three digits; small and large numbers as m × 10ⁿ; "not known" for what is not a number.
[[nodiscard]] std::string number_text(double value);

/// "12.3 %"
[[nodiscard]] std::string percent_text(double share);

}  // namespace fedsinkhorn::risk_drawing
