#include "solve/evaluate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "solve/agreement.hpp"
#include "solve/stopping.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Scalings relative to a shared base stay within exp(+-this): far from overflow, and what underflows is negligible.
constexpr double kCloseEnough = 100;

using Side = Potential Outcome::*;

/// The middle of the potentials of some outcomes, on a grid (see potentials.hpp).
std::vector<double> middle(std::span<const Outcome> outcomes, std::span<const std::size_t> group, Side side,
                           double grid) {
  std::vector<double> base((outcomes.front().*side).value.size());
  for (std::size_t i = 0; i < base.size(); ++i) {
    double low = kInfinity;
    double high = -kInfinity;
    for (const std::size_t k : group) {
      const double x = (outcomes[k].*side).value[i];
      if (!std::isfinite(x)) continue;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    // Nobody has mass here: -inf keeps the kernel at 0, where any number could make it overflow.
    base[i] = low <= high ? round_to_grid(low / 2 + high / 2, grid) : -kInfinity;
  }
  return base;
}

double grid_of(const Collectives& clients, std::span<const Outcome> outcomes, std::span<const std::size_t> group) {
  double largest = 0;
  for (const std::size_t k : group) {
    largest = std::max({largest, largest_magnitude(outcomes[k].f.value), largest_magnitude(outcomes[k].g.value)});
  }
  return exact_grid(greatest_of_all(clients, largest));
}

/// exp((potential - base) / epsilon).
void scalings(const Potential& potential, std::span<const double> base, double epsilon, double* out) {
  for (std::size_t i = 0; i < base.size(); ++i) {
    out[i] = std::isfinite(potential.value[i])
                 ? std::exp(((potential.value[i] - base[i]) + potential.rest[i]) / epsilon)
                 : 0.0;
  }
}

bool is_close(const Potential& potential, std::span<const double> base, double epsilon) {
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (std::isfinite(potential.value[i]) && std::abs(potential.value[i] - base[i]) > kCloseEnough * epsilon) {
      return false;
    }
  }
  return true;
}

// With P = u v exp(t), t = (phi + psi - C) / epsilon, all costs follow from the marginals and sum P t:
//   <P, C> = <phi, P 1> + <psi, P' 1> - epsilon sum P t
//   sum P log P = <log u, P 1> + <log v, P' 1> + sum P t
Evaluation from_sums(const CheckedProblem& problem, const Collectives& clients, Norm norm, const Outcome& outcome,
                     const PlanSums& sums, std::span<const double> phi, std::span<const double> psi, const double* u,
                     const double* v) {
  const double* b = problem.target(outcome.target);
  std::array<ExactSum, 4> parts{};
  ExactSum& mass = parts[0];
  ExactSum& linear = parts[1];
  ExactSum& p_log_p = parts[2];
  ExactSum& dual = parts[3];
  linear.add(-problem.epsilon * sums.logarithm);
  p_log_p.add(sums.logarithm);
  const auto add = [&](const std::vector<double>& marginal, std::span<const double> base, const double* scaling,
                       const double* wanted, const Potential& potential) {
    for (std::size_t i = 0; i < marginal.size(); ++i) {
      if (scaling[i] == 0) continue;
      linear.add(base[i] * marginal[i]);
      p_log_p.add(std::log(scaling[i]) * marginal[i]);
      dual.add(wanted[i] * potential.value[i]);
    }
  };
  add(sums.rows, phi, u, problem.a.data(), outcome.f);
  add(sums.columns, psi, v, b, outcome.g);
  for (const double x : sums.rows) mass.add(x);
  add_up_of_all(clients, parts);
  std::array<ErrorPart, 2> errors = {error_part(norm, sums.rows.data(), problem.a.data(), problem.n()),
                                     error_part(norm, sums.columns.data(), b, problem.m())};
  combine_of_all(clients, norm, errors);

  Evaluation evaluation;
  evaluation.cost.linear = linear.total();
  evaluation.cost.entropy = mass.total() - p_log_p.total();
  evaluation.cost.objective = evaluation.cost.linear - problem.epsilon * evaluation.cost.entropy;
  evaluation.cost.dual = dual.total() - problem.epsilon * mass.total();
  evaluation.error = {error_of(norm, errors[0]), error_of(norm, errors[1])};
  return evaluation;
}

void evaluate_group(const CheckedProblem& problem, Topology& topology, Norm norm, std::span<const Outcome> outcomes,
                    std::span<const std::size_t> group, std::vector<Evaluation>& result) {
  const double grid = grid_of(topology.clients(), outcomes, group);
  const std::vector<double> phi = middle(outcomes, group, &Outcome::f, grid);
  const std::vector<double> psi = middle(outcomes, group, &Outcome::g, grid);
  const std::size_t n = problem.n();
  const std::size_t m = problem.m();
  std::vector<double> u(group.size() * n);
  std::vector<double> v(group.size() * m);
  for (std::size_t k = 0; k < group.size(); ++k) {
    scalings(outcomes[group[k]].f, phi, problem.epsilon, u.data() + k * n);
    scalings(outcomes[group[k]].g, psi, problem.epsilon, v.data() + k * m);
  }
  const std::vector<PlanSums> sums = topology.plan_sums(phi, psi, group.size(), u.data(), v.data());
  for (std::size_t k = 0; k < group.size(); ++k) {
    result[group[k]] = from_sums(problem, topology.clients(), norm, outcomes[group[k]], sums[k], phi, psi,
                                 u.data() + k * n, v.data() + k * m);
  }
}

}  // namespace

std::vector<Evaluation> evaluate(const CheckedProblem& problem, Topology& topology, Norm norm,
                                 std::span<const Outcome> outcomes) {
  std::vector<Evaluation> result(outcomes.size());
  std::vector<std::size_t> everyone(outcomes.size());
  std::iota(everyone.begin(), everyone.end(), std::size_t{0});
  const double grid = grid_of(topology.clients(), outcomes, everyone);
  const std::vector<double> phi = middle(outcomes, everyone, &Outcome::f, grid);
  const std::vector<double> psi = middle(outcomes, everyone, &Outcome::g, grid);
  std::vector<bool> is_far(outcomes.size());
  for (const std::size_t k : everyone) {
    is_far[k] = !is_close(outcomes[k].f, phi, problem.epsilon) || !is_close(outcomes[k].g, psi, problem.epsilon);
  }
  any_of_all(topology.clients(), is_far);
  std::vector<std::size_t> close;
  std::vector<std::size_t> far;
  for (const std::size_t k : everyone) (is_far[k] ? far : close).push_back(k);
  if (!close.empty()) evaluate_group(problem, topology, norm, outcomes, close, result);
  for (const std::size_t k : far) evaluate_group(problem, topology, norm, outcomes, {&k, 1}, result);
  return result;
}

}  // namespace fedsinkhorn
