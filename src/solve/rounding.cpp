#include "solve/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/agreement.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kRoundoff = std::numeric_limits<double>::epsilon() / 2;

/// In the log domain, potentials are single doubles, off by half a unit in the last place. The plan inherits that
/// error.
double largest_potentials(const Collectives& clients, std::span<const Outcome> outcomes) {
  double largest_f = 0;
  double largest_g = 0;
  for (const Outcome& outcome : outcomes) {
    largest_f = std::max(largest_f, largest_magnitude(outcome.f.value));
    largest_g = std::max(largest_g, largest_magnitude(outcome.g.value));
  }
  return greatest_of_all(clients, largest_f) + greatest_of_all(clients, largest_g);
}

double relative_floor(const Collectives& clients, const CheckedProblem& problem, const Options& options,
                      std::span<const Outcome> outcomes) {
  switch (options.precision) {
    case Precision::digits50: return 1e-48;
    // Costs in tf32 are off by 2^-11 of the products of coordinates, but by the same amount in every round.
    case Precision::tf32:
    case Precision::float32:
    case Precision::mixed: return std::numeric_limits<float>::epsilon() / 2;
    case Precision::bfloat16: return 0x1p-9;
    case Precision::float64: break;
  }
  if (options.stabilization == Stabilization::log) {
    return kRoundoff * (4 + largest_potentials(clients, outcomes) / problem.epsilon);
  }
  // The exponent of an entry is rounded once, relative to itself: it is the logarithm of that entry.
  const auto pairs = static_cast<double>(problem.rows.size()) * static_cast<double>(problem.columns.size());
  return kRoundoff * (4 + std::log(pairs));
}

/// That a converged plan may have. In the units of the checked problem, floor in those of the given masses.
double largest_exact_error(const CheckedProblem& problem, const Options& options, double floor) {
  // Not the entries alone are rounded, but costs (tf32) or exponents (devices, from points): at a small epsilon that
  // moves the plan by any amount, which is reported.
  const bool rounds_exponents =
      is_reduced(options.precision) && options.backend != "cpu" && options.kernel == KernelKind::online;
  if (rounds_exponents) return std::numeric_limits<double>::max();
  // In float64, kernels that are stretched or that several targets share have exponents of some hundred (safe_scaling).
  const double few = is_reduced(options.precision) ? 4 : 64;
  return problem.mass * options.tolerance + few * std::ldexp(floor, -problem.mass_exponent);
}

}  // namespace

double error_floor(const Collectives& clients, const CheckedProblem& problem, const Options& options,
                   std::span<const Outcome> outcomes) {
  return problem.as_given(problem.mass * relative_floor(clients, problem, options, outcomes));
}

void require_exact_errors(const CheckedProblem& problem, const Options& options, double floor,
                          std::span<const Evaluation> evaluations, std::span<Outcome> outcomes) {
  const double largest = largest_exact_error(problem, options, floor);
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const bool is_borne_out = worse(evaluations[k].error.a, evaluations[k].error.b) <= largest;
    if (outcomes[k].status == Status::converged && !is_borne_out) outcomes[k].status = Status::diverged;
  }
}

RestSizes rest_sizes(const CheckedProblem& problem, std::span<const Outcome> outcomes) {
  RestSizes sizes;
  for (const Outcome& outcome : outcomes) {
    const Potential& f = outcome.whole ? outcome.whole->f : outcome.f;
    const Potential& g = outcome.whole ? outcome.whole->g : outcome.g;
    sizes.f = std::max(sizes.f, largest_magnitude(f.rest) / problem.epsilon);
    sizes.g = std::max(sizes.g, largest_magnitude(g.rest) / problem.epsilon);
  }
  return sizes;
}

RestSizes rest_sizes_of_all(const Collectives& clients, const RestSizes& own) {
  std::vector<double> sizes = {own.f, own.g};
  greatest_of_all(clients, sizes);
  return {sizes[0], sizes[1]};
}

double rounding_error(const CheckedProblem& problem, const RestSizes& sizes) {
  return problem.as_given(problem.mass * std::expm1(sizes.f + sizes.g));
}

}  // namespace fedsinkhorn
