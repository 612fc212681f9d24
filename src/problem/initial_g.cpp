#include "problem/initial_g.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "fedsinkhorn/error.hpp"
#include "problem/costs.hpp"

namespace fedsinkhorn {
namespace {

/// mass: of the same column and target, called mass_name. entry(): the value's name, only formatted for a message.
template <class Entry>
void check_value(const Problem& problem, double g, double mass, const Entry& entry, const std::string& mass_name) {
  const std::string& name = problem.names.initial_g;
  if (g == -std::numeric_limits<double>::infinity()) {
    if (mass > 0) {
      throw InputError(name, fmt::format("{} is -inf, but {} has mass there", entry(), mass_name),
                       "-inf is for columns without mass");
    }
    return;
  }
  if (!std::isfinite(g)) {
    throw InputError(name, fmt::format("{} is {}", entry(), g),
                     fmt::format("potentials must be finite, or -inf where {} has no mass", mass_name));
  }
  // As with costs: f + g - C must stay finite, and its quotient by epsilon within what scalings can absorb.
  constexpr double limit = 1e300;
  if (std::abs(g) > limit) {
    throw InputError(name, fmt::format("{} is {:g}, which overflows when it is added to costs", entry(), g),
                     fmt::format("give potentials in units of the cost, up to {:g}", limit));
  }
  if (std::abs(g) / problem.epsilon > kMostCostsPerEpsilon) {
    throw InputError(name, fmt::format("{} is {:g}, too large beside an epsilon of {:g}", entry(), g, problem.epsilon),
                     "give potentials in units of the cost");
  }
}

/// targets x own active columns.
std::vector<double> checked_start(const CheckedProblem& checked) {
  const Problem& problem = checked.input;
  const MatrixView<double>& given = problem.initial_g;
  const bool for_all_targets = given.columns == 1;
  const Range own = checked.columns.given_slices[checked.client];
  const std::size_t first = problem.parts.initial_g ? 0 : own.first;  // own line, among those given
  const Range active = checked.own_columns();
  std::vector<double> start(checked.targets * active.size());
  for (std::size_t k = 0; k < checked.targets; ++k) {
    const std::string of_target = fmt::format(" of target {}", k);
    const std::string mass_name = problem.names.b + (checked.targets > 1 ? of_target : "");
    std::size_t j = 0;  // active columns so far
    for (std::size_t line = 0; line < own.size(); ++line) {
      const bool is_active = j < active.size() && checked.columns.active[active.first + j] == own.first + line;
      const double mass = is_active ? checked.target(k)[j] : 0;
      const double g = given(first + line, for_all_targets ? 0 : k);
      const auto entry = [&] { return fmt::format("entry {}{}", first + line, for_all_targets ? "" : of_target); };
      check_value(problem, g, mass, entry, mass_name);
      // The first half-step gives exp(g / epsilon) = 0 for a column without mass.
      if (is_active) start[k * active.size() + j++] = mass > 0 ? g : -std::numeric_limits<double>::infinity();
    }
  }
  return start;
}

}  // namespace

void agree_on_initial_g(const Collectives& clients, CheckedProblem& checked) {
  if (!checked.has_initial_g) return;
  agree(clients, [&] { checked.start_g = checked_start(checked); });
}

}  // namespace fedsinkhorn
