#include "problem/private_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "comm/common_data.hpp"
#include "core/stop_request.hpp"
#include "cost/points_input.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/costs.hpp"
#include "problem/masses.hpp"
#include "problem/shapes.hpp"

namespace fedsinkhorn {
namespace {

void refuse_parts(const Problem& problem, bool public_columns) {
  const Parts& parts = problem.parts;
  if (parts.columns) {
    throw InputError(problem.names.y, "is given in parts, but with policy private its points are public",
                     "give every client all of them");
  }
  if (public_columns && parts.b) {
    throw InputError(problem.names.b, "is given in parts, but mechanism marginal takes it for public",
                     "give every client the whole");
  }
  if (!public_columns && parts.rows) {
    throw InputError(problem.names.cost, "is given in parts, but mechanism scalings takes costs for public",
                     "give every client the whole, or use `mechanism` marginal");
  }
  if (parts.initial_g || !problem.initial_g.empty()) {
    throw InputError(problem.names.initial_g, "may tell what noise is to hide", "leave it out with policy private");
  }
}

void check_record_mass(const CheckedProblem& checked, const Options& options) {
  const Problem& problem = checked.input;
  if (options.record_mass == 0 && !problem.parts.a) return;  // all clients know all masses
  if (options.record_mass == 0) {
    throw InputError("`record_mass`",
                     fmt::format("{} is given in parts, and no bound on its masses is public", problem.names.a),
                     "give the largest mass that a record may have");
  }
  const auto largest = std::ranges::max_element(checked.a);
  if (largest == checked.a.end() || *largest <= options.record_mass) return;
  throw InputError(problem.names.a,
                   fmt::format("entry {} is {:g}, more than `record_mass` {:g}", largest - checked.a.begin(), *largest,
                               options.record_mass),
                   "give a larger one, or other masses");
}

/// What rounding may add to a release is bounded for such costs (see marginal_plan.cpp).
void check_private_ratio(const CheckedProblem& checked) {
  if (checked.largest_cost / checked.epsilon <= kMostPrivateRatio) return;
  throw InputError(checked.input.names.epsilon,
                   fmt::format("{:g} is too small beside costs up to {:g}, with policy private", checked.epsilon,
                               checked.largest_cost),
                   fmt::format("give at least {:g}", checked.largest_cost / kMostPrivateRatio));
}

/// What is public must be the same for all: b, the points of the columns and, where masses are public, the largest of
/// them, for which the noise is made. Nothing here depends on a record.
void require_same_public_data(const Collectives& clients, const CheckedProblem& checked, double record_mass) {
  if (clients.size() == 1) return;
  const Problem& problem = checked.input;
  CommonData data(clients);
  data.item(problem.names.b).add(std::span(problem.b.data, problem.b.rows * problem.b.columns));
  NumbersDigest& y = data.item(problem.names.y);
  if (const PointsInput* points = checked.costs->points()) y.add(points->clouds().y);
  NumbersDigest& largest_mass = data.item(problem.names.a + ", its largest mass");
  if (record_mass == 0 && !problem.a.empty()) largest_mass.add(std::array{std::ranges::max(problem.a)});
  data.require_same();
}

}  // namespace

CheckedProblem check_private_problem(const Problem& problem, const Options& options, const LayoutOf& layout_of,
                                     const Collectives& clients, int threads, bool public_columns) {
  CheckedProblem checked = not_yet_checked(problem, layout_of, clients);
  agree(clients, [&] {
    check_epsilon(problem);
    refuse_parts(problem, public_columns);
  });
  agree_on_shapes(options, clients, checked);
  const StopRequest stop(options.interrupt);
  agree(clients, [&] {
    keep_own_masses(public_columns, checked);
    check_own_costs(threads, cpu::simd(options.simd), stop, checked);
    check_private_ratio(checked);
    if (public_columns) check_record_mass(checked, options);
  });
  if (public_columns) require_same_public_data(clients, checked, options.record_mass);
  return checked;
}

}  // namespace fedsinkhorn
