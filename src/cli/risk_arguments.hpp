// The arguments of `fedsinkhorn risk`, as typed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/risk_inputs.hpp"
#include "cli/solve_arguments.hpp"

namespace fedsinkhorn {

struct RiskArguments {
  SolveArguments solve;  ///< clients, how to solve a coupling, where results go
  RiskFiles files;
  std::optional<double> radius;
  std::optional<double> lambda;
  std::vector<std::string> sweep;  ///< of --radius-sweep; empty: not given
  bool gains = false;
  bool stay = false;
  bool tolerance_given = false;
  std::vector<std::string> coupling_flags;  ///< those given that only matter with a stress marginal
};

/// The radii of a sweep: "1e-4,1e-3,1e-2", "1e-4:1e-2:20" (20 of them, evenly spaced in logs), or "auto" (20 from a
/// tenth to ten times the radius). Throws InputError.
[[nodiscard]] std::vector<double> radii_of(const std::string& word, double radius);

}  // namespace fedsinkhorn
