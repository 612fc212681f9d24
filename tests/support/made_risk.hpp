// A worst case made up by hand: loss(r) = m + |w| sqrt(r), as that of a linear loss and squared distances is.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn::testing {

struct MadeRisk {
  double before = 0.0004;
  double norm = 0.11;  ///< |w|
  double radius = 0.02;
  double bound = 0.002;  ///< dual - loss
  std::size_t days = 250;
  std::size_t scenarios = 40;
  std::size_t visited = 12;

  [[nodiscard]] WorstCase at(double r) const {
    WorstCase worst;
    worst.radius = r;
    worst.loss = before + norm * std::sqrt(r);
    worst.lambda = norm / (2 * std::sqrt(r));
    worst.transport_cost = r;
    worst.dual = worst.loss + bound;
    worst.entropic_primal = worst.entropic_dual = worst.loss + bound / 2;
    worst.value_at_risk = std::nan("");
    worst.status = Status::converged;
    worst.passes = 7;
    return worst;
  }

  [[nodiscard]] RiskResult result() const {
    RiskResult made;
    made.status = Status::converged;
    made.expected_loss = before;
    made.value_at_risk = std::nan("");
    made.worst = at(radius);
    for (std::size_t k = 0; k < visited; ++k) {
      made.visited.push_back(at(radius * std::pow(10.0, 1.3 - 0.25 * static_cast<double>(k))));
    }
    std::ranges::sort(made.visited, {}, &WorstCase::radius);
    made.largest_radius = 50 * radius;
    made.rows = days;
    made.columns = scenarios;
    made.dimension = 3;
    made.passes = 20;
    made.seconds = 0.125;
    made.policy = "open";
    made.simd = "AVX2";
    made.clients.resize(1);
    made.clients[0].last_row = days;
    const double scale = made.worst.loss - before;
    for (std::size_t j = 0; j < scenarios; ++j) {
      made.scenario_weights.push_back(1.0 / static_cast<double>(scenarios));
      made.scenario_losses.push_back(before + scale * (static_cast<double>(j % 17) / 5 - 1));
    }
    for (std::size_t i = 0; i < days; ++i) {
      DayMove move;
      move.day = i;
      move.mass = 1.0 / static_cast<double>(days);
      move.cost = radius * static_cast<double>((i * 37) % days + 1) * 2 / static_cast<double>(days + 1);
      move.loss_before = before + scale * (static_cast<double>((i * 11) % 23) / 23 - 0.5);
      move.loss_after = move.loss_before + norm * std::sqrt(move.cost);
      move.scenario = (i * 7) % scenarios;
      move.share = 1 / (1 + static_cast<double>(i % 4));
      made.moves.push_back(move);
    }
    made.histogram = bins(scale);
    return made;
  }

 private:
  [[nodiscard]] LossHistogram bins(double scale) const {
    LossHistogram histogram;
    constexpr std::size_t kBins = 48;
    histogram.first = before - 3 * scale;
    histogram.last = before + 4 * scale;
    const auto bell = [](double x, double middle, double width) {
      return std::exp(-std::pow((x - middle) / width, 2) / 2) / (std::sqrt(2 * std::acos(-1.0)) * width);
    };
    for (std::size_t k = 0; k < kBins; ++k) {
      const double x = -3 + 7 * (static_cast<double>(k) + 0.5) / kBins;
      histogram.before.push_back(bell(x, 0, 0.7) * 7 / kBins);
      histogram.after.push_back(bell(x, 1, 0.9) * 7 / kBins);
    }
    return histogram;
  }
};

[[nodiscard]] inline std::vector<std::string> made_days(std::size_t count) {
  std::vector<std::string> labels;
  for (std::size_t k = 0; k < count; ++k) {
    labels.push_back(fmt::format("20{:02}-{:02}-{:02}", 10 + k / 336, k / 28 % 12 + 1, k % 28 + 1));
  }
  return labels;
}

[[nodiscard]] inline std::vector<std::string> made_scenarios(std::size_t count) {
  std::vector<std::string> labels;
  for (std::size_t k = 0; k < count; ++k) labels.push_back(fmt::format("crash of {}", 1950 + k));
  return labels;
}

}  // namespace fedsinkhorn::testing
