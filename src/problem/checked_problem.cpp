#include "problem/checked_problem.hpp"

#include <fmt/format.h>

#include <cmath>

#include "comm/alone.hpp"
#include "core/stop_request.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/common_inputs.hpp"
#include "problem/costs.hpp"
#include "problem/initial_g.hpp"
#include "problem/masses.hpp"
#include "problem/shapes.hpp"
#include "problem/sums_account.hpp"

namespace fedsinkhorn {

void check_epsilon(const Problem& problem) {
  if (!(problem.epsilon > 0) || std::isinf(problem.epsilon)) {
    throw InputError(problem.names.epsilon, fmt::format("{} is not a usable regularisation", problem.epsilon),
                     "give a positive finite number in units of the cost");
  }
  if (std::isinf(1 / problem.epsilon)) {
    throw InputError(problem.names.epsilon, fmt::format("{} is too small for float64", problem.epsilon));
  }
  // Potentials are epsilon times logarithms of up to 1500, and up to 1e10 of them are added.
  constexpr double most = 1e290;
  if (problem.epsilon > most) {
    throw InputError(problem.names.epsilon,
                     fmt::format("{:g} is too large: potentials, multiples of it, overflow", problem.epsilon),
                     fmt::format("give at most {:g}", most));
  }
}

namespace {

std::vector<std::size_t> positions(const Side& side, Range active) {
  return {side.active.begin() + static_cast<std::ptrdiff_t>(active.first),
          side.active.begin() + static_cast<std::ptrdiff_t>(active.last)};
}

}  // namespace

Range CheckedProblem::block_rows() const {
  if (layout.row_slices.empty()) return {};
  return {rows.slices[layout.row_slices.first].first, rows.slices[layout.row_slices.last - 1].last};
}

Range CheckedProblem::block_columns() const {
  if (layout.column_slices.empty()) return {};
  return {columns.slices[layout.column_clients[layout.column_slices.first]].first,
          columns.slices[layout.column_clients[layout.column_slices.last - 1]].last};
}

const double* CheckedProblem::initial_g(std::size_t target) const {
  if (!has_initial_g) return nullptr;
  // An empty vector may have no address, but a client without columns must not return null either.
  static constexpr double nothing = 0;
  return m() == 0 ? &nothing : start_g.data() + target * m();
}

CostBlock CheckedProblem::block() const {
  return {.costs = costs,
          .rows = positions(rows, block_rows()),
          .columns = positions(columns, block_columns()),
          .first_held = first_held_row,
          .all_rows = rows.given,
          .all_columns = columns.given};
}

CostBlock CheckedProblem::column_block() const {
  return {.costs = costs,
          .rows = rows.active,
          .columns = positions(columns, own_columns()),
          .first_held = first_held_row,
          .transposed = symmetric_cost,
          .all_rows = rows.given,
          .all_columns = columns.given};
}

CheckedProblem not_yet_checked(const Problem& problem, const LayoutOf& layout_of, const Collectives& clients) {
  CheckedProblem checked;
  checked.input = problem;
  checked.costs = make_cost_input(problem.cost);
  checked.epsilon = problem.epsilon;
  checked.client = clients.rank();
  checked.clients = clients.size();
  checked.layout = layout_of(checked.client);
  return checked;
}

CheckedProblem check_problem(const Problem& problem, const Options& options, const LayoutOf& layout_of,
                             const Collectives& clients, int threads, GivenBy given_by) {
  CheckedProblem checked = not_yet_checked(problem, layout_of, clients);
  agree(clients, [&] { check_epsilon(problem); });
  agree_on_shapes(options, clients, checked);
  const StopRequest stop(options.interrupt);
  if (given_by == GivenBy::each_client && clients.size() > 1) {
    agree_on_common_inputs(clients, layout_of, threads, stop, checked);
  }
  checked.most_sums = agree_on_most_sums(clients, options.most_sums, numbers_at_least(sums_shape(checked)));
  agree_on_masses(clients, options.normalize, checked);
  agree_on_initial_g(clients, checked);
  agree_on_costs(clients, threads, cpu::simd(options.simd), stop, checked);
  agree_on_feasibility(clients, options.feasibility, layout_of, stop, checked);
  return checked;
}

CheckedProblem check_problem(const Problem& problem, Feasibility feasibility, int threads) {
  Alone alone;
  Options options;
  options.feasibility = feasibility;
  return check_problem(
      problem, options, [](std::size_t) { return own_rows(0, 1); }, Collectives(alone), threads, GivenBy::one_caller);
}

}  // namespace fedsinkhorn
