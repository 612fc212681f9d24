#include "solve/evaluate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "comm/agreement.hpp"
#include "core/special_numbers.hpp"
#include "iteration/stopping.hpp"

namespace fedsinkhorn {
namespace {

// Scalings relative to a shared base stay within exp(+-this) of the masses: far from overflow, and what underflows is
// negligible.
constexpr double kCloseEnough = 100;

// Densities P_ij / (a_i b_j) are at most 1 / max(a_i, b_j). Smaller masses are replaced by this one.
constexpr double kLeastMass = 1e-140;

double log_of_mass(double mass) { return std::log(std::max(mass, kLeastMass)); }

/// Of one target: P_ij = a_i b_j exp((phi_i + psi_j - C_ij) / epsilon). At large epsilon, potentials are nearly epsilon
/// log a_i, and costs are a tiny part of them. To keep the digits of the costs, epsilon log a_i is taken out here, and
/// so is the constant that can be moved from f to g.
struct Density {
  Potential phi;
  Potential psi;
};

using SideOfDensity = Potential Density::*;

/// potential - epsilon log(mass), which needs more digits of the logarithm than a double has.
Potential relative_to(const Potential& potential, const double* mass, double epsilon) {
  Potential result = potential;
  for (std::size_t i = 0; i < result.value.size(); ++i) {
    if (!std::isfinite(potential.value[i])) continue;
    const long double x = epsilon * std::log(static_cast<long double>(std::max(mass[i], kLeastMass)));
    const auto high = static_cast<double>(x);
    ExactSum sum{potential.value[i], potential.rest[i]};
    sum.add(-high);
    sum.add(static_cast<double>(high - x));
    result.value[i] = sum.total();
    result.rest[i] = (sum.value - result.value[i]) + sum.rest;
  }
  return result;
}

std::vector<Density> densities(const CheckedProblem& problem, const Collectives& clients,
                               std::span<const Outcome> outcomes) {
  std::vector<Density> result;
  std::vector<ExactSum> means(outcomes.size());
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    result.push_back({relative_to(outcomes[k].f, problem.a.data(), problem.epsilon),
                      relative_to(outcomes[k].g, problem.target(outcomes[k].target), problem.epsilon)});
    for (std::size_t i = 0; i < problem.n(); ++i) means[k].add(problem.a[i] / problem.mass * result[k].phi.value[i]);
  }
  add_up_of_all(clients, means, Payload::result);
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const double mean = means[k].total();
    if (!std::isfinite(mean)) continue;
    shift(result[k].phi, {-mean, 0});
    shift(result[k].psi, {mean, 0});
  }
  return result;
}

/// The middle of the potentials of some targets, on a grid (see potentials.hpp).
std::vector<double> middle(std::span<const Density> targets, std::span<const std::size_t> group, SideOfDensity side,
                           double grid) {
  std::vector<double> base((targets.front().*side).value.size());
  for (std::size_t i = 0; i < base.size(); ++i) {
    double low = kInfinity;
    double high = -kInfinity;
    for (const std::size_t k : group) {
      const double x = (targets[k].*side).value[i];
      if (!std::isfinite(x)) continue;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    // No target has mass here: -inf keeps the kernel at 0; any number could make it overflow.
    base[i] = low <= high ? round_to_grid(low / 2 + high / 2, grid) : -kInfinity;
  }
  return base;
}

double grid_of(const Collectives& clients, std::span<const Density> targets, std::span<const std::size_t> group) {
  double largest = 0;
  for (const std::size_t k : group) {
    largest = std::max({largest, largest_magnitude(targets[k].phi.value), largest_magnitude(targets[k].psi.value)});
  }
  return exact_grid(greatest_of_all(clients, largest));
}

/// (potential - base) / epsilon. -inf where there is no mass; NaN where there is mass but no potential.
std::vector<double> deviations(const Potential& potential, std::span<const double> base, const double* mass,
                               double epsilon) {
  std::vector<double> result(base.size(), -kInfinity);
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (std::isfinite(potential.value[i])) {
      result[i] = ((potential.value[i] - base[i]) + potential.rest[i]) / epsilon;
    } else if (mass[i] > 0) {
      result[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return result;
}

bool is_close(const Potential& potential, std::span<const double> base, double epsilon) {
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (std::isfinite(potential.value[i]) && std::abs(potential.value[i] - base[i]) > kCloseEnough * epsilon) {
      return false;
    }
  }
  return true;
}

/// One target relative to what the group shares: u_i = a_i exp(alpha_i), v_j = b_j exp(beta_j).
struct RelativeScalings {
  std::vector<double> alpha;
  std::vector<double> beta;
};

double largest_finite(const RelativeScalings& place) {
  return std::max(largest_magnitude(place.alpha), largest_magnitude(place.beta));
}

/// Sums over the plan and its marginals, in the units of the checked problem.
struct Totals {
  ExactSum mass;        // sum P
  ExactSum cost;        // sum P C
  ExactSum shared;      // sum P t, where the group shares t = (phi_i + psi_j - C_ij) / epsilon
  ExactSum own;         // sum P (alpha_i + beta_j): sum P log(P / ab) is the sum of both
  ExactSum mass_logs;   // sum P log(a_i b_j)
  ExactSum divergence;  // sum u v (K t - K + 1)
  ExactSum grown_a;     // sum u - sum a
  ExactSum grown_b;     // sum v - sum b
  ExactSum total_a;
  ExactSum total_b;
  ExactSum dual;  // <f, a> + <g, b>

  void add_up(const Collectives& clients) {
    const std::array parts = {&mass,    &cost,    &shared,  &own,     &mass_logs, &divergence,
                              &grown_a, &grown_b, &total_a, &total_b, &dual};
    std::vector<ExactSum> sums(parts.size());
    for (std::size_t k = 0; k < parts.size(); ++k) sums[k] = *parts[k];
    add_up_of_all(clients, sums, Payload::result);
    for (std::size_t k = 0; k < parts.size(); ++k) *parts[k] = sums[k];
  }
};

/// Adds the exact product, since products may cancel.
void add_product(ExactSum& sum, double x, double y) {
  const double product = x * y;
  sum.add(product);
  if (std::isfinite(product)) sum.rest += std::fma(x, y, -product);
}

void add_side(const std::vector<double>& marginal, const std::vector<double>& deviation, const double* mass,
              const Potential& potential, ExactSum& grown, ExactSum& total, Totals& totals) {
  for (std::size_t i = 0; i < marginal.size(); ++i) {
    if (deviation[i] == -kInfinity) continue;
    totals.own.add(deviation[i] * marginal[i]);
    totals.mass_logs.add(log_of_mass(mass[i]) * marginal[i]);
    grown.add(mass[i] * std::expm1(deviation[i]));
    total.add(mass[i]);
    add_product(totals.dual, mass[i], potential.value[i]);
    add_product(totals.dual, mass[i], potential.rest[i]);
  }
}

/// sum P log(P / ab) - sum P + sum a sum b. are_close: no deviation is large.
double divergence(const Totals& totals, bool are_close) {
  if (!are_close) {
    ExactSum sum = totals.shared;
    sum.add(totals.own);
    sum.add(-totals.mass.total());
    sum.add(totals.total_a.total() * totals.total_b.total());
    return sum.total();
  }
  // At large epsilon P is nearly ab, and the sums above, of order 1, nearly cancel to order 1 / epsilon^2. So:
  //   sum u v (K t - K + 1) + sum P (alpha + beta) - (sum u sum v - sum a sum b),   each of order 1 / epsilon.
  ExactSum sum = totals.divergence;
  sum.add(totals.own);
  sum.add(-totals.grown_a.total() * (totals.total_b.total() + totals.grown_b.total()));
  sum.add(-totals.grown_b.total() * totals.total_a.total());
  return sum.total();
}

/// In the units of the given masses: with P = 2^k P', log P = log P' + k log 2.
Costs costs_of(const CheckedProblem& problem, const Totals& totals, bool are_close) {
  const double epsilon = problem.epsilon;
  const double mass = totals.mass.total();
  const double log_scale = log_of_power(1, problem.mass_exponent).total();
  ExactSum log_density = totals.shared;
  log_density.add(totals.own);
  ExactSum p_log_p = log_density;
  p_log_p.add(totals.mass_logs);
  p_log_p.add(log_scale * mass);
  const double linear = totals.cost.total();
  const double entropy = mass - p_log_p.total();
  ExactSum dual = totals.dual;
  dual.add(epsilon * log_scale * totals.total_a.total());
  dual.add(-epsilon * mass);

  Costs cost;
  cost.linear = problem.as_given(linear);
  cost.entropy = problem.as_given(entropy);
  cost.objective = problem.as_given(linear - epsilon * entropy);
  cost.dual = problem.as_given(dual.total());
  cost.shannon_entropy = problem.as_given(-p_log_p.total());
  if (problem.mass_exponent == 0) {
    cost.kl_objective = linear + epsilon * divergence(totals, are_close);
  } else {
    // The masses of the product a x b are scaled twice.
    const double of_plan = log_density.total() - log_scale * mass - mass;
    const double product =
        problem.as_given(problem.as_given(epsilon * totals.total_a.total() * totals.total_b.total()));
    cost.kl_objective = problem.as_given(linear + epsilon * of_plan) + product;
  }
  return cost;
}

void evaluate_group(const CheckedProblem& problem, Topology& topology, Norm norm, std::span<const Outcome> outcomes,
                    std::span<const Density> targets, std::span<const std::size_t> group,
                    std::vector<Evaluation>& result) {
  const Collectives& clients = topology.clients();
  const double grid = grid_of(clients, targets, group);
  const std::vector<double> phi = middle(targets, group, &Density::phi, grid);
  const std::vector<double> psi = middle(targets, group, &Density::psi, grid);
  const std::size_t n = problem.n();
  const std::size_t m = problem.m();
  std::vector<double> u(group.size() * n);
  std::vector<double> v(group.size() * m);
  std::vector<RelativeScalings> places(group.size());
  std::vector<double> farthest(group.size());
  const auto scaling = [](double mass, double deviation) {
    return deviation == -kInfinity ? 0.0 : std::max(mass, kLeastMass) * std::exp(deviation);
  };
  for (std::size_t k = 0; k < group.size(); ++k) {
    const Density& density = targets[group[k]];
    const double* b = problem.target(outcomes[group[k]].target);
    places[k] = {deviations(density.phi, phi, problem.a.data(), problem.epsilon),
                 deviations(density.psi, psi, b, problem.epsilon)};
    farthest[k] = largest_finite(places[k]);
    for (std::size_t i = 0; i < n; ++i) u[k * n + i] = scaling(problem.a[i], places[k].alpha[i]);
    for (std::size_t j = 0; j < m; ++j) v[k * m + j] = scaling(b[j], places[k].beta[j]);
  }
  greatest_of_all(clients, farthest);
  const std::vector<PlanSums> sums = topology.plan_sums(phi, psi, group.size(), u.data(), v.data());
  for (std::size_t k = 0; k < group.size(); ++k) {
    const Outcome& outcome = outcomes[group[k]];
    const double* b = problem.target(outcome.target);
    Totals totals;
    for (const double x : sums[k].rows) totals.mass.add(x);
    totals.cost = sums[k].cost;
    totals.shared = sums[k].logarithm;
    totals.divergence = sums[k].divergence;
    add_side(sums[k].rows, places[k].alpha, problem.a.data(), outcome.f, totals.grown_a, totals.total_a, totals);
    add_side(sums[k].columns, places[k].beta, b, outcome.g, totals.grown_b, totals.total_b, totals);
    totals.add_up(clients);
    std::array<ErrorPart, 2> errors = {error_part(norm, sums[k].rows.data(), problem.a.data(), n),
                                       error_part(norm, sums[k].columns.data(), b, m)};
    combine_of_all(clients, norm, errors, Payload::result);
    result[group[k]] = {costs_of(problem, totals, farthest[k] <= 1),
                        {error_of(norm, errors[0]), error_of(norm, errors[1])}};
  }
}

}  // namespace

std::vector<Evaluation> evaluate(const CheckedProblem& problem, Topology& topology, Norm norm,
                                 std::span<const Outcome> outcomes) {
  std::vector<Evaluation> result(outcomes.size());
  const std::vector<Density> targets = densities(problem, topology.clients(), outcomes);
  std::vector<std::size_t> everyone(outcomes.size());
  std::iota(everyone.begin(), everyone.end(), std::size_t{0});
  const double grid = grid_of(topology.clients(), targets, everyone);
  const std::vector<double> phi = middle(targets, everyone, &Density::phi, grid);
  const std::vector<double> psi = middle(targets, everyone, &Density::psi, grid);
  std::vector<bool> is_far(outcomes.size());
  for (const std::size_t k : everyone) {
    is_far[k] = !is_close(targets[k].phi, phi, problem.epsilon) || !is_close(targets[k].psi, psi, problem.epsilon);
  }
  any_of_all(topology.clients(), is_far);
  std::vector<std::size_t> close;
  std::vector<std::size_t> far;
  for (const std::size_t k : everyone) (is_far[k] ? far : close).push_back(k);
  if (!close.empty()) evaluate_group(problem, topology, norm, outcomes, targets, close, result);
  for (const std::size_t k : far) evaluate_group(problem, topology, norm, outcomes, targets, {&k, 1}, result);
  return result;
}

}  // namespace fedsinkhorn
