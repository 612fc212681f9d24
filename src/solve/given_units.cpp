#include "solve/given_units.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace fedsinkhorn {
namespace {

void to_masses(std::span<const double> from, const double* to, double epsilon, Potential& potential) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i]) potential.value[i] += epsilon * (std::log(to[i]) - std::log(from[i]));
  }
}

}  // namespace

std::optional<CheckedProblem> with_least_masses(const CheckedProblem& problem, double least) {
  const auto is_less = [&](double mass) { return mass > 0 && mass < least * problem.mass; };
  if (std::ranges::none_of(problem.a, is_less) && std::ranges::none_of(problem.b, is_less)) return std::nullopt;
  CheckedProblem iterated = problem;
  for (auto* masses : {&iterated.a, &iterated.b}) {
    for (double& mass : *masses) {
      if (is_less(mass)) mass = least * problem.mass;
    }
  }
  iterated.least_mass = std::max(problem.least_mass, least * problem.mass);
  return iterated;
}

void to_true_masses(const CheckedProblem& iterated, const CheckedProblem& problem, std::vector<Outcome>& outcomes) {
  for (Outcome& outcome : outcomes) {
    to_masses(iterated.a, problem.a.data(), problem.epsilon, outcome.f);
    to_masses({iterated.target(outcome.target), problem.m()}, problem.target(outcome.target), problem.epsilon,
              outcome.g);
  }
}

void to_given_units(const CheckedProblem& problem, Gauge gauge, std::vector<Outcome>& outcomes) {
  if (problem.mass_exponent == 0) return;
  const ExactSum whole = log_of_power(problem.epsilon, problem.mass_exponent);
  const ExactSum half{whole.value / 2, whole.rest / 2};
  const auto move = [&](Potential& f, Potential& g) {
    shift(f, gauge == Gauge::balanced ? half : whole);
    if (gauge == Gauge::balanced) shift(g, half);
  };
  for (Outcome& outcome : outcomes) {
    move(outcome.f, outcome.g);
    if (outcome.whole) move(outcome.whole->f, outcome.whole->g);
  }
}

}  // namespace fedsinkhorn
