#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_plan_kernel.hpp"
#include "backend/cuda/cuda_plan_kernel.hpp"
#include "core/processors.hpp"
#include "core/special_numbers.hpp"
#include "fedsinkhorn/error.hpp"
#include "iteration/potentials.hpp"
#include "solve/plan_state.hpp"

namespace fedsinkhorn {

namespace {

std::vector<std::size_t> with_potential(const std::vector<double>& potentials, std::size_t targets) {
  std::vector<std::size_t> lines;
  for (std::size_t i = 0; i < potentials.size() / targets; ++i) {
    const auto first = potentials.begin() + static_cast<std::ptrdiff_t>(i * targets);
    const auto is_finite = [](double x) { return std::isfinite(x); };
    if (std::any_of(first, first + static_cast<std::ptrdiff_t>(targets), is_finite)) lines.push_back(i);
  }
  return lines;
}

std::size_t rows_here(const Result& result) { return result.f.size() / result.targets; }

/// Rows are numbered as in the whole problem.
CostBlock lines_with_mass(const Problem& problem, const Result& result) {
  CostBlock block{.costs = make_cost_input(problem.cost),
                  .rows = with_potential(result.f, result.targets),
                  .columns = with_potential(result.g, result.targets),
                  .all_rows = result.rows,
                  .all_columns = result.columns};
  for (std::size_t& row : block.rows) row += result.first_row;
  block.first_held = problem.parts.rows ? result.first_row : 0;
  return block;
}

/// first: the line of the first value.
Potential potential_of(const std::vector<double>& values, const std::vector<double>& rests,
                       const std::vector<std::size_t>& lines, std::size_t first, std::size_t target,
                       std::size_t targets) {
  Potential potential;
  for (const std::size_t line : lines) {
    const std::size_t at = (line - first) * targets + target;
    potential.value.push_back(values[at]);
    potential.rest.push_back(rests.empty() ? 0.0 : rests[at]);
  }
  return potential;
}

/// Kernel values below 2e-300 become 0, and those above 1e308 infinite: plans with such masses are computed from scaled
/// ones. They are scaled only as far as needed, since there may also be much smaller entries.
int exponent_to_take_out(double mass) {
  constexpr int kMost = 900;
  if (!(mass > 0) || !std::isfinite(mass)) return 0;
  const int exponent = std::ilogb(mass);
  return mass < 0.5 ? exponent : std::max(0, exponent - kMost);
}

/// Where there is no mass, the base is -inf, so that K is 0 there.
void split_side(const Potential& potential, double epsilon, double grid, std::vector<double>& base,
                std::vector<double>& scaling) {
  base.resize(potential.value.size());
  scaling.resize(base.size());
  split(potential, std::vector<double>(base.size(), 1.0), epsilon, grid, base, scaling);
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (scaling[i] == 0) base[i] = -kInfinity;
  }
}

/// The device that made the result, where costs need not be copied to it again; else none.
int device_for(const Problem& problem, const Result& result) {
  if (result.backend != "cuda") return -1;
  const std::shared_ptr<const CostInput> costs = make_cost_input(problem.cost);
  if (const DeviceCostMatrix* given = costs->device_matrix()) return given->device;
  if (costs->points() == nullptr) return -1;
  for (const ClientReport& client : result.clients) {
    if (client.client == result.this_client) return client.device;
  }
  return -1;
}

void check_shapes(const Problem& problem, const Result& result) {
  const auto costs = make_cost_input(problem.cost);
  const auto [rows, columns, dimension, bytes] = costs->shape();
  if (problem.parts.columns && columns != result.columns) {
    throw InputError(problem.names.y, "is given in parts, but plans and gradients need the points of all columns");
  }
  if ((!problem.parts.rows && rows != result.rows) || columns != result.columns) {
    throw InputError("plan", "the result belongs to a problem of another shape");
  }
  if (problem.parts.rows && rows != rows_here(result)) {
    throw InputError("plan", "the result has other rows than the problem", "give the part of the client it belongs to");
  }
  if (result.first_row + rows_here(result) > result.rows || result.g.size() != columns * result.targets) {
    throw InputError("plan", "the result has only some of the columns' potentials");
  }
  const auto fits = [](const std::vector<double>& rests, const std::vector<double>& values) {
    return rests.empty() || rests.size() == values.size();  // potentials from a file have none
  };
  if (!fits(result.f_rest, result.f) || !fits(result.g_rest, result.g)) {
    throw InputError("plan", "f_rest and g_rest do not belong to f and g", "leave them empty, or give one for each");
  }
  costs->check_shape(problem.names, problem.parts, true);  // coordinates of x and y
}

}  // namespace

Plan::Plan(const Problem& problem, const Result& result, int threads) {
  check_shapes(problem, result);
  state_ = std::make_unique<State>(State{result, problem.epsilon, lines_with_mass(problem, result), cpu::simd("auto"),
                                         threads > 0 ? threads : processors_allowed(), device_for(problem, result),
                                         nullptr});
  if (state_->device < 0) state_->cost = make_cost_source(state_->with_mass, state_->simd);
}

PlanTarget plan_target(const Plan::State& state, std::size_t target) {
  const Result& result = state.result;
  const int exponent = exponent_to_take_out(result.mass);
  Potential f = potential_of(result.f, result.f_rest, state.with_mass.rows, result.first_row, target, result.targets);
  if (exponent != 0) shift(f, log_of_power(state.epsilon, -exponent));
  const Potential g = potential_of(result.g, result.g_rest, state.with_mass.columns, 0, target, result.targets);
  const double grid = exact_grid(std::max(largest_magnitude(f.value), largest_magnitude(g.value)));
  PlanTarget plan;
  plan.exponent = exponent;
  split_side(f, state.epsilon, grid, plan.phi, plan.u);
  split_side(g, state.epsilon, grid, plan.psi, plan.v);
  return plan;
}

std::unique_ptr<PlanKernel> make_kernel(const Plan::State& state, const PlanTarget& plan) {
  if (state.device >= 0) return cuda::make_plan_kernel(state.task(state.with_mass), plan.phi, plan.psi);
  return make_cpu_plan_kernel(*state.cost, state.simd, state.threads, state.epsilon, plan.phi, plan.psi);
}

namespace {

/// A row of the plan: P_ij = 2^exponent u_i K_ij v_j at the columns with mass, 0 at the others.
void write_row(const PlanTarget& plan, const std::vector<std::size_t>& columns, double u, const double* kernel,
               std::span<double> row) {
  const double* v = plan.v.data();
  const auto entry = [&](std::size_t j) { return u * kernel[j] * v[j]; };
  if (columns.size() < row.size()) std::ranges::fill(row, 0.0);
  if (plan.exponent == 0 && columns.size() == row.size()) {  // nearly always, and several times faster
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = entry(j);
    return;
  }
  for (std::size_t j = 0; j < columns.size(); ++j) row[columns[j]] = std::ldexp(entry(j), plan.exponent);
}

/// The requested rows with mass, which are consecutive among all rows with mass. Throws InputError if there are no such
/// rows, or not enough room for them.
Range requested_lines(const Plan::State& state, std::size_t first, std::size_t count, std::size_t target,
                      std::size_t room) {
  const Result& result = state.result;
  const std::size_t last = result.first_row + state.rows_here();
  if (first < result.first_row || first > last || count > last - first || target >= result.targets) {
    throw InputError("plan rows", "asked for rows or a target that are not there");
  }
  if (room / result.columns < count) throw InputError("plan rows", "given too little room");
  const std::vector<std::size_t>& lines = state.with_mass.rows;
  const auto place_of = [&](std::size_t row) {
    return static_cast<std::size_t>(std::lower_bound(lines.begin(), lines.end(), row) - lines.begin());
  };
  return {place_of(first), place_of(first + count)};
}

}  // namespace

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

std::optional<int> Plan::device() const {
  return state_->device < 0 ? std::nullopt : std::optional<int>(state_->device);
}

void Plan::rows(std::size_t first, std::size_t count, std::size_t target, std::span<double> out) const {
  const std::size_t m = state_->result.columns;
  const Range range = requested_lines(*state_, first, count, target, out.size());
  const std::vector<std::size_t>& lines = state_->with_mass.rows;
  if (range.size() < count) std::fill_n(out.begin(), count * m, 0.0);
  if (range.empty()) return;
  const PlanTarget plan = plan_target(*state_, target);
  make_kernel(*state_, plan)
      ->for_blocks(range, [&](std::size_t line, std::size_t some, const double* kernel, std::size_t stride) {
        for (std::size_t k = 0; k < some; ++k) {
          const std::span<double> row = out.subspan((lines[line + k] - first) * m, m);
          write_row(plan, state_->with_mass.columns, plan.u[line + k], kernel + k * stride, row);
        }
      });
}

void Plan::rows(std::size_t first, std::size_t count, std::size_t target, const DeviceRows& out) const {
  if (out.device != state_->device) {
    const std::string where = state_->device < 0 ? "the host" : "device " + std::to_string(state_->device);
    throw InputError("plan rows", "the plan is computed on " + where, "give room there");
  }
  const Range range = requested_lines(*state_, first, count, target, out.size);
  const PlanTarget plan = plan_target(*state_, target);
  std::vector<std::size_t> row_places;
  for (std::size_t line = range.first; line < range.last; ++line) {
    row_places.push_back(state_->with_mass.rows[line] - first);
  }
  cuda::write_plan_rows(state_->task(state_->with_mass), {.phi = plan.phi,
                                                          .psi = plan.psi,
                                                          .u = plan.u,
                                                          .v = plan.v,
                                                          .exponent = plan.exponent,
                                                          .lines = range,
                                                          .row_places = row_places,
                                                          .column_places = state_->with_mass.columns,
                                                          .rows = count,
                                                          .columns = state_->result.columns,
                                                          .out = out.data});
}

}  // namespace fedsinkhorn
