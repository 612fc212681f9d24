// The ticks of a plan's axes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/printable.hpp"
#include "report/plan_curves.hpp"
#include "report/svg.hpp"

namespace fedsinkhorn::plan_drawing {
namespace {

double width_of(const Axis& axis) { return axis.high - axis.low; }

/// 0.001, 5,000 or 2 × 10⁻⁶
std::string tick_label(double factor, int exponent, bool is_plain) {
  if (!is_plain) return (factor > 1 ? fmt::format("{:g} × ", factor) : "") + svg::power_of_ten(exponent);
  const double value = factor * std::pow(10.0, exponent);
  return value < 1000 ? fmt::format("{:g}", value) : grouped(fmt::format("{:.0f}", value));
}

}  // namespace

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

}  // namespace fedsinkhorn::plan_drawing
