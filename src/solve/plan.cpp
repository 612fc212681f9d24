#include <algorithm>
#include <cmath>

#include "core/processors.hpp"
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

void check_shapes(const Problem& problem, const Result& result) {
  const auto costs = make_cost_input(problem.cost);
  const auto [rows, columns, dimension, bytes] = costs->shape();
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
  const cpu::Simd& simd = cpu::simd("auto");
  state_ = std::make_unique<State>(State{result, problem.epsilon, lines_with_mass(problem, result), simd, nullptr,
                                         threads > 0 ? threads : processors_allowed()});
  state_->cost = make_cost_source(state_->with_mass, simd);
}

PlanTarget::PlanTarget(const Plan::State& state, std::size_t target)
    : state_(state),
      exponent_(exponent_to_take_out(state.result.mass)),
      u_(state.with_mass.rows.size()),
      blocks_(*state.cost, state.simd, state.epsilon) {
  const Result& result = state.result;
  const std::vector<std::size_t>& lines = state.with_mass.rows;
  const std::vector<std::size_t>& columns = state.with_mass.columns;
  Potential f = potential_of(result.f, result.f_rest, lines, result.first_row, target, result.targets);
  if (exponent_ != 0) shift(f, log_of_power(state.epsilon, -exponent_));
  const Potential g = potential_of(result.g, result.g_rest, columns, 0, target, result.targets);
  const double grid = exact_grid(std::max(largest_magnitude(f.value), largest_magnitude(g.value)));
  v_.resize(blocks_.stride());
  std::vector<double> phi(lines.size());
  std::vector<double> psi(columns.size());
  split(f, std::vector<double>(lines.size(), 1.0), state.epsilon, grid, phi, u_);
  split(g, std::vector<double>(columns.size(), 1.0), state.epsilon, grid, psi, std::span(v_).first(columns.size()));
  blocks_.absorb(phi, psi);
}

double* PlanTarget::fill(std::size_t line, std::size_t count, Scratch& scratch) const {
  if (scratch.kernel.size() == 0) {
    scratch.costs = Buffer<double>(cpu::kRowBlock * kStrip);
    scratch.kernel = Buffer<double>(cpu::kRowBlock * stride());
  }
  blocks_.fill(line, count, 0, stride(), scratch.kernel.data(), stride(), scratch.costs.data());
  return scratch.kernel.data();
}

namespace {

/// A row of the plan: P_ij = 2^exponent u_i K_ij v_j at the columns with mass, 0 at the others.
void write_row(const PlanTarget& plan, const std::vector<std::size_t>& columns, double u, const double* kernel,
               std::span<double> row) {
  const double* v = plan.v().data();
  // Where there is no mass, K may be infinite.
  const auto entry = [&](std::size_t j) { return v[j] == 0 ? 0.0 : u * kernel[j] * v[j]; };
  if (u == 0 || columns.size() < row.size()) std::ranges::fill(row, 0.0);
  if (u == 0) return;
  if (plan.exponent() == 0 && columns.size() == row.size()) {  // nearly always, and several times faster
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = entry(j);
    return;
  }
  for (std::size_t j = 0; j < columns.size(); ++j) row[columns[j]] = std::ldexp(entry(j), plan.exponent());
}

}  // namespace

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

void Plan::rows(std::size_t first, std::size_t count, std::size_t target, std::span<double> out) const {
  const Result& result = state_->result;
  const std::size_t m = result.columns;
  const std::size_t last = result.first_row + rows_here(result);
  if (first < result.first_row || first > last || count > last - first || target >= result.targets) {
    throw InputError("plan rows", "asked for rows or a target that are not there");
  }
  if (out.size() / m < count) throw InputError("plan rows", "given too little room");
  const std::vector<std::size_t>& lines = state_->with_mass.rows;
  const std::vector<std::size_t>& columns = state_->with_mass.columns;
  const PlanTarget plan(*state_, target);
  // The requested rows with mass are consecutive among all rows with mass.
  const auto begin = static_cast<std::size_t>(std::lower_bound(lines.begin(), lines.end(), first) - lines.begin());
  const auto end =
      static_cast<std::size_t>(std::lower_bound(lines.begin(), lines.end(), first + count) - lines.begin());
  if (end - begin < count) std::fill_n(out.begin(), count * m, 0.0);
  plan.for_blocks({begin, end}, [&](std::size_t line, std::size_t some, const double* kernel, std::size_t) {
    for (std::size_t k = 0; k < some; ++k) {
      const std::span<double> row = out.subspan((lines[line + k] - first) * m, m);
      write_row(plan, columns, plan.u()[line + k], kernel + k * plan.stride(), row);
    }
  });
}

}  // namespace fedsinkhorn
