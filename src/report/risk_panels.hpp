// The panels of the picture of a worst case, and what they have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/risk_axis.hpp"
#include "report/risk_picture.hpp"
#include "report/svg.hpp"

namespace fedsinkhorn::risk_drawing {

inline constexpr double kWidth = 1200;
inline constexpr double kHeight = 760;
inline constexpr double kMargin = 40;
inline constexpr const char* kBefore = "#0b62a8";
inline constexpr const char* kAfter = "#c2410c";
inline constexpr const char* kMinorLine = "#f2f4f7";
inline constexpr double kGlyph = 0.6;  ///< width of a character over the font size, rather too much

struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

struct TextStyle {
  double size = 13;
  const char* colour = svg::kInk;
  const char* anchor = "start";
  const char* weight = "400";
};

/// The text is ours, or has been through label_text().
void write_text(svg::Out out, double x, double y, std::string_view text, TextStyle style = {});

/// A title, and below it what the panel shows.
void write_heading(svg::Out out, double x, double y, std::string_view title, std::string_view caption);

/// Lines at the ticks, labels, titles and the two axes themselves.
void write_axes(svg::Out out, const Box& plot, const Axis& x, const Axis& y, std::string_view x_title,
                std::string_view y_title);

/// Lines of at most so many characters, broken at blanks.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t most);

/// Pixels, rather too many; fonts differ.
[[nodiscard]] double width_of(std::string_view text, double size);

/// A text from a file: any bytes, shortened to so many pixels, ready for XML.
[[nodiscard]] std::string label_text(std::string_view text, double size, double room);

/// "expected loss" or "CVaR 95 % of the loss"
[[nodiscard]] std::string measure_text(double cvar_level);

/// For both marginals fixed: a sentence instead.
void write_radius_panel(svg::Out out, const RiskPictureData& data);
void write_histogram_panel(svg::Out out, const RiskPictureData& data);
void write_days_panel(svg::Out out, const RiskPictureData& data);

}  // namespace fedsinkhorn::risk_drawing
