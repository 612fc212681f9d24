// From files to a risk problem.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/number_table.hpp"
#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn {

/// As typed. "{client}" in a name stands for the client's number: each client then has its own file.
struct RiskFiles {
  std::string returns;
  std::string scenarios;
  std::string weights;
  std::string a;
  std::string cost = "sqeuclidean";  ///< the name of a cost, or a file
  std::string covariance;
  std::string loss = "linear";  ///< linear, cvar:LEVEL, or a file
  std::string return_losses;
  std::string stress_marginal;

  [[nodiscard]] bool in_parts() const;
  /// The names of all files for that client.
  [[nodiscard]] std::vector<std::string> paths(std::size_t client) const;
};

/// One client's files, and the problem that refers to them.
struct RiskInputs {
  std::vector<std::unique_ptr<NumberTable>> tables;
  std::vector<double> weights;
  std::vector<double> a;
  std::vector<double> covariance;
  std::vector<double> scenario_losses;
  std::vector<double> return_losses;
  std::vector<double> stress_marginal;
  std::vector<std::string> day_labels;  ///< of the rows given; empty: there are none
  std::vector<std::string> scenario_labels;
  RiskProblem problem;
};

/// Opens that client's files. Settings of the problem that are no files are left alone. Throws InputError.
[[nodiscard]] std::unique_ptr<RiskInputs> open_risk_inputs(const RiskFiles& files, std::size_t client);

/// The level of "cvar:0.95", 0 for "linear", none for anything else. Throws InputError if the level is no number.
[[nodiscard]] std::optional<double> level_of_loss(const std::string& loss);

}  // namespace fedsinkhorn
