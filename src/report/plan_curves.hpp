// The curves of a plan and where they lie on the canvas: what plan_picture draws.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fedsinkhorn/cost_model.hpp"

namespace fedsinkhorn::plan_drawing {

// Everything is laid out on a fixed canvas; the viewer scales it. Seconds above, the share of communication below.
inline constexpr double kWidth = 1280;
inline constexpr double kHeight = 784;
inline constexpr double kMargin = 56;
inline constexpr double kLeft = kMargin + 72;
inline constexpr double kRight = 1032;
inline constexpr double kTop = 136;
inline constexpr double kBottom = 546;
inline constexpr double kShareTop = 590;
inline constexpr double kShareBottom = 702;

/// Colours that colour-blind readers tell apart; dashes and markers tell as much in black and white.
struct Style {
  std::string_view topology;
  const char* colour;
  const char* dashes;
  const char* marker;  ///< a path around 0, 0
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

/// Points that a logarithmic plot can show; curves without any are left out. A topology has the same style in all
/// pictures.
[[nodiscard]] std::vector<Curve> drawable(const TopologyPlan& plan);
/// Wide enough for all of them; there must be one.
[[nodiscard]] Axes axes_of(std::span<const Curve> curves);

struct Tick {
  double value = 0;   ///< log10
  std::string label;  ///< empty: a minor line
};
/// Labels at powers of ten; at 2 and 5 times these, or more, if the axis is short. Minor lines between, if there is
/// room.
[[nodiscard]] std::vector<Tick> ticks_of_seconds(const Axis& axis);
/// Powers of two up to a thousand clients or so, 1, 2, 5, 10, ... or powers of ten above. Of one or two neighbouring
/// numbers of clients, these.
[[nodiscard]] std::vector<Tick> ticks_of_clients(const Axis& axis, std::span<const Curve> curves);

}  // namespace fedsinkhorn::plan_drawing
