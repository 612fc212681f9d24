// The worst case as a function of the radius, between the radii it is known at.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn::risk_drawing {

struct CurvePoint {
  double radius = 0;
  double loss = 0;
  double dual = 0;    ///< at least the loss
  double lambda = 0;  ///< the slope of the loss
};

/// By radius, each once: those of the sweep or, if there are fewer than two, those the search has visited near the
/// chosen radius; and the chosen one. From largest_radius on the curve is flat.
[[nodiscard]] std::vector<CurvePoint> curve_points(const RiskResult& result);

/// One point of a curve in pixels. slope: NaN if not known.
struct Knot {
  double x = 0;
  double y = 0;
  double slope = 0;
};

/// Limits the slopes so that the cubic Hermite curve has no bumps between its knots: a slope has the sign of the
/// secants on both sides and is at most three times the smaller one (de Boor and Swartz, 1977). Knots are in order of
/// x.
void limit_slopes(std::span<Knot> knots);

/// SVG path commands of the Hermite curve, from the first knot on; the caller has moved there.
[[nodiscard]] std::string curve_commands(std::span<const Knot> knots);

}  // namespace fedsinkhorn::risk_drawing
