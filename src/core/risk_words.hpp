// What the picture, the summary and the table of a worst case have in common.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn {

/// Names of days and scenarios, as far as they are known; views only.
struct RiskLabels {
  std::span<const std::string> days{};
  std::size_t first_day = 0;  ///< the row that days[0] is the name of
  std::span<const std::string> scenarios{};

  /// Empty if not known.
  [[nodiscard]] std::string given_day(std::size_t row) const {
    return row >= first_day && row - first_day < days.size() ? days[row - first_day] : "";
  }
  [[nodiscard]] std::string given_scenario(std::size_t column) const {
    return column < scenarios.size() ? scenarios[column] : "";
  }
  /// If not known: by number.
  [[nodiscard]] std::string day(std::size_t row) const {
    const std::string given = given_day(row);
    return given.empty() ? fmt::format("day {}", row) : given;
  }
  [[nodiscard]] std::string scenario(std::size_t column) const {
    const std::string given = given_scenario(column);
    return given.empty() ? fmt::format("scenario {}", column) : given;
  }
};

/// A day's part of the transport cost; 0 if it is not a number.
[[nodiscard]] inline double part_of_cost(const DayMove& move) {
  const double part = move.mass * move.cost;
  return std::isfinite(part) && part > 0 ? part : 0;
}

/// The day most likely stays where it is.
[[nodiscard]] inline bool stays(const DayMove& move, const RiskResult& result) {
  return move.scenario >= result.columns;
}

/// The days with the largest parts of the transport cost, `most` of them at most; days that are not moved are left out.
[[nodiscard]] inline std::vector<DayMove> most_moved(std::span<const DayMove> moves, std::size_t most) {
  std::vector<DayMove> days;
  std::ranges::copy_if(moves, std::back_inserter(days), [](const DayMove& move) { return part_of_cost(move) > 0; });
  const std::size_t count = std::min(most, days.size());
  std::ranges::partial_sort(days, days.begin() + static_cast<std::ptrdiff_t>(count),
                            [](const DayMove& one, const DayMove& other) {
                              const double part = part_of_cost(one);
                              const double other_part = part_of_cost(other);
                              return part == other_part ? one.day < other.day : part > other_part;
                            });
  days.resize(count);
  return days;
}

/// Of stressed_plan.
[[nodiscard]] inline std::string fixed_loss_sentence(const std::string& loss, double cvar_level) {
  return fmt::format("With both marginals fixed the {} = {} for every plan: no search over plans can change it.",
                     cvar_level > 0 ? "CVaR is that of b" : "expected loss is sum_j b_j l_j", loss);
}

}  // namespace fedsinkhorn
