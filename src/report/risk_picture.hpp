// The picture of a worst case.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn {

/// Views only.
struct RiskPictureData {
  std::string title;
  const RiskResult& result;
  double epsilon = 0;
  double cvar_level = 0;  ///< as RiskProblem::cvar_level
  std::span<const std::string> day_labels{};
  std::size_t first_day = 0;  ///< the row that day_labels[0] is the name of
  std::span<const std::string> scenario_labels{};
};

/// An SVG of three panels: the worst case against the radius, the losses before and after, and the days that are moved
/// most. Labels may be any bytes; what is not a finite number is left out or said in words.
[[nodiscard]] std::string risk_picture(const RiskPictureData& data);

}  // namespace fedsinkhorn
