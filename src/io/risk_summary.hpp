// summary.json, worst-case.csv, radius.csv and days.csv of a worst case.
#pragma once

#include <span>
#include <string>

#include "core/risk_words.hpp"
#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn {

/// What the result does not hold.
struct RiskSummaryData {
  double epsilon = 0;
  double cvar_level = 0;  ///< as RiskProblem::cvar_level
  double tolerance = 0;
  std::string cost;  ///< its name, such as "mahalanobis"
  std::string loss;  ///< where it comes from, such as "weights"
  RiskLabels labels{};
};

/// The text of summary.json: numbers with all digits, null for what is not a finite number, two-space indentation, a
/// final newline. Labels may be any bytes.
[[nodiscard]] std::string risk_summary_json(const RiskResult& result, const RiskSummaryData& data);

/// One line per scenario: scenario,label,weight,loss.
[[nodiscard]] std::string worst_case_csv(const RiskResult& result, std::span<const std::string> scenario_labels = {});

/// One line per radius of the sweep, or one for the chosen radius if there was none:
/// radius,worst_case_loss,lambda,transport_cost,dual,duality_gap,status.
[[nodiscard]] std::string radius_csv(const RiskResult& result);

/// One line per day: day,label,mass,loss_before,loss_after,cost,scenario,scenario_label,share,stays. A day that most
/// likely stays has no scenario.
[[nodiscard]] std::string days_csv(const RiskResult& result, const RiskLabels& labels = {});

}  // namespace fedsinkhorn
