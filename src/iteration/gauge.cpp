#include "iteration/gauge.hpp"

#include <algorithm>
#include <cmath>

#include "comm/agreement.hpp"

namespace fedsinkhorn {

void fix_gauge(const Collectives& clients, const CheckedProblem& problem, std::vector<Outcome>& outcomes) {
  const auto lines = static_cast<double>(problem.rows.size() + problem.columns.size());
  // On this grid the sum of all terms is exact, so the order of summation does not matter.
  std::vector<double> largest(outcomes.size());
  std::vector<ExactSum> differences(outcomes.size());
  const auto for_each_term = [&](std::size_t k, const auto& use) {
    const Outcome& outcome = outcomes[k];
    const double* b = problem.target(outcome.target);
    for (std::size_t i = 0; i < problem.n(); ++i) use(-problem.a[i] * outcome.f.value[i]);
    for (std::size_t j = 0; j < problem.m(); ++j) {
      if (b[j] > 0) use(b[j] * outcome.g.value[j]);
    }
  };
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    for_each_term(k, [&](double term) { largest[k] = std::max(largest[k], std::abs(term)); });
  }
  greatest_of_all(clients, largest);
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const double grid = exact_grid(lines * power_of_two_above(largest[k]));
    for_each_term(k, [&](double term) { differences[k].add(round_to_grid(term, grid)); });
  }
  add_up_of_all(clients, differences);
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const double constant = differences[k].total() / (2 * problem.mass);
    if (!std::isfinite(constant)) continue;
    shift(outcomes[k].f, {constant, 0});
    shift(outcomes[k].g, {-constant, 0});
  }
}

}  // namespace fedsinkhorn
