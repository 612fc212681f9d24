#include "solve/given_units.hpp"

namespace fedsinkhorn {

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
