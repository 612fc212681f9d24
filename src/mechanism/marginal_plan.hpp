// How a budget is spent on releases of the columns' plan mass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// What is public about the problem.
struct MarginalShape {
  double largest_mass = 0;  ///< of a record, unless the options name a bound
  std::size_t targets = 1;
  std::size_t clients = 1;
  std::span<const double> b;  ///< targets x columns; total 1 each
};

struct MarginalPlan {
  std::int64_t releases = 0;    ///< of the plan mass
  double record_mass = 0;       ///< A: no record has more
  double sensitivity = 0;       ///< of the plan mass: sqrt(2 N) A
  double sigma = 0;             ///< of the sum over clients that do not collude, asked for
  double share = 0;             ///< of each client's noise: sigma / sqrt(clients - colluding)
  double cost_sensitivity = 0;  ///< 0: the cost is not released
  double cost_sigma = 0;        ///< of the sum, like sigma
};

/// Throws InputError if numbers have no room for the noise (see checked_sigma).
[[nodiscard]] MarginalPlan plan_marginal(const Options& options, const MarginalShape& shape);

/// omega of release t of T, counted from 0: g moves by omega epsilon log(b / rho). The first half goes fast, with
/// overrelaxation; then steps become shorter, which averages the noise of the second half.
[[nodiscard]] double step_length(std::int64_t t, std::int64_t releases);

/// `releases` auto: the number of releases with the least expected error, by a model that reads nothing but public
/// numbers (docs/differential-privacy.md). sigma_of_one: the noise if the whole budget went into one release.
[[nodiscard]] std::int64_t best_number_of_releases(double sigma_of_one, const MarginalShape& shape);

}  // namespace fedsinkhorn
