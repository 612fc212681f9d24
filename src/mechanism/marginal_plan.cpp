#include "mechanism/marginal_plan.hpp"

#include <cmath>
#include <numbers>

#include "mechanism/mechanism.hpp"
#include "privacy/grid_noise.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kOverrelaxation = 1.5;
constexpr std::int64_t kFewReleases = 3;
/// Logarithms and exponentials are rounded: a column's plan mass is right to this share of itself, if costs are at most
/// kMostPrivateRatio times epsilon. Columns have a mass of 1 in all.
constexpr double kRounding = 0x1p-36;

}  // namespace

double step_length(std::int64_t t, std::int64_t releases) {
  if (releases < kFewReleases) return 1;
  const std::int64_t half = releases / 2;
  return t < half ? kOverrelaxation : kOverrelaxation / static_cast<double>(t - half + 1);
}

// Expected L1 error after T releases:
//   sum_j sqrt(2/pi) s (1 + (sigma_T / b_j)^2)   noise: sigma_T = sigma_1 sqrt(T) each, of which the second half is
//                                                averaged, so s = sqrt(2) sigma_1 whatever T is; but where the noise
//                                                of a single release is not small beside b_j, logarithms make it worse
//   + 2 kappa^T                                  what Sinkhorn's iteration leaves
std::int64_t best_number_of_releases(double sigma_of_one, const MarginalShape& shape) {
  constexpr double kContraction = 0.75;
  constexpr std::int64_t kMost = 64;
  std::int64_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t releases = 1; releases <= kMost; ++releases) {
    const double of_each = sigma_of_one * std::sqrt(static_cast<double>(releases));
    double error = 2 * static_cast<double>(shape.targets) * std::pow(kContraction, static_cast<double>(releases));
    for (const double b : shape.b) {
      if (b <= 0) continue;
      const double ratio = std::min(1.0, of_each / b);
      error += std::sqrt(2 / std::numbers::pi) * std::numbers::sqrt2 * sigma_of_one * (1 + ratio * ratio);
    }
    if (error < least) {
      least = error;
      best = releases;
    }
  }
  return best;
}

MarginalPlan plan_marginal(const Options& options, const MarginalShape& shape) {
  MarginalPlan plan;
  const auto targets = static_cast<double>(shape.targets);
  plan.record_mass = options.record_mass > 0 ? options.record_mass : shape.largest_mass;
  plan.sensitivity = std::sqrt(2 * targets) * plan.record_mass + std::sqrt(targets) * kRounding;
  if (options.cost_bound > 0) {
    plan.cost_sensitivity = std::sqrt(targets) * options.cost_bound * (plan.record_mass + kRounding);
  }
  const double extra = options.cost_bound > 0 ? 1 : 0;
  plan.sigma = options.noise;
  plan.releases = static_cast<std::int64_t>(options.releases);
  if (plan.sigma <= 0) {
    const Budget budget = budget_of(options);
    const double of_one = calibrated_sigma(budget.epsilon, budget.delta, plan.sensitivity, 1);
    if (plan.releases == 0) plan.releases = best_number_of_releases(of_one, shape);
    plan.sigma =
        calibrated_sigma(budget.epsilon, budget.delta, plan.sensitivity, static_cast<double>(plan.releases) + extra);
    // Rounding to the grid moves a release a little, too: see GridNoise.
    plan.sigma = GridNoise::with_room(plan.sigma, plan.sensitivity, shape.b.size());
  }
  plan.sigma = checked_sigma(options, plan.sigma, 1);
  const auto honest = static_cast<double>(shape.clients - options.colluding);
  plan.share = plan.sigma / std::sqrt(honest);
  // The same number of standard deviations for the cost as for a release of the plan mass.
  if (plan.cost_sensitivity > 0) {
    plan.cost_sigma =
        checked_sigma(options, plan.cost_sensitivity * (plan.sigma / plan.sensitivity), options.cost_bound);
  }
  return plan;
}

}  // namespace fedsinkhorn
