// Products with a plan that is never stored.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "solve/plan_state.hpp"

namespace fedsinkhorn {
namespace {

void require_shape(bool holds, const char* what) {
  if (!holds) throw InputError("plan values", what);
}

/// Whether `out` has room for `rows` rows as long as those of the values.
bool has_room(std::span<double> out, std::size_t rows, MatrixView<double> values) {
  return values.columns == 0 || out.size() / values.columns >= rows;
}

void check_product(const Plan::State& state, MatrixView<double> values, std::size_t target, std::span<double> out) {
  require_shape(target < state.result.targets, "there is no such target");
  require_shape(values.rows == state.result.columns, "must have one row for each column of the plan");
  require_shape(has_room(out, state.rows_here(), values), "given too little room");
}

/// factors[c * lines + i] = scaling_i times column c of the values at that line. first: the line of the first value.
std::vector<double> factors_of(const std::vector<double>& scaling, const std::vector<std::size_t>& lines,
                               std::size_t first, MatrixView<double> values) {
  std::vector<double> factors(values.columns * lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (scaling[i] == 0) continue;
    const double* row = values.row(lines[i] - first);
    for (std::size_t c = 0; c < values.columns; ++c) factors[c * lines.size() + i] = scaling[i] * row[c];
  }
  return factors;
}

/// The rest of a product: 2^exponent times the scaling of the line times the sums.
void finish(const std::vector<double>& sums, const std::vector<double>& scaling, int exponent,
            const std::vector<std::size_t>& lines, std::size_t first, std::size_t columns, std::span<double> out) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (scaling[i] == 0) continue;  // out has 0 there
    double* row = out.data() + (lines[i] - first) * columns;
    for (std::size_t c = 0; c < columns; ++c) {
      const double value = scaling[i] * sums[c * lines.size() + i];
      row[c] = exponent == 0 ? value : std::ldexp(value, exponent);
    }
  }
}

}  // namespace

std::vector<double> with_ones(MatrixView<double> values) {
  std::vector<double> extended;
  extended.reserve(values.rows * (values.columns + 1));
  for (std::size_t i = 0; i < values.rows; ++i) {
    extended.insert(extended.end(), values.row(i), values.row(i) + values.columns);
    extended.push_back(1);
  }
  return extended;
}

void multiply(const Plan::State& state, std::size_t target, EntryWeight weight, MatrixView<double> values,
              std::span<double> out) {
  std::fill_n(out.begin(), state.rows_here() * values.columns, 0.0);
  if (state.with_mass.empty()) return;
  const std::vector<std::size_t>& rows = state.with_mass.rows;
  const std::vector<std::size_t>& columns = state.with_mass.columns;
  const PlanTarget plan = plan_target(state, target);
  std::vector<double> sums(values.columns * rows.size());
  make_kernel(state, plan)->multiply(weight, values.columns, factors_of(plan.v, columns, 0, values), sums);
  finish(sums, plan.u, plan.exponent, rows, state.result.first_row, values.columns, out);
}

void multiply_transposed(const Plan::State& state, std::size_t target, EntryWeight weight, MatrixView<double> values,
                         std::span<double> out) {
  std::fill_n(out.begin(), state.result.columns * values.columns, 0.0);
  if (state.with_mass.empty()) return;
  const std::vector<std::size_t>& rows = state.with_mass.rows;
  const std::vector<std::size_t>& columns = state.with_mass.columns;
  const PlanTarget plan = plan_target(state, target);
  std::vector<double> sums(values.columns * columns.size());
  make_kernel(state, plan)
      ->multiply_transposed(weight, values.columns, factors_of(plan.u, rows, state.result.first_row, values), sums);
  finish(sums, plan.v, plan.exponent, columns, 0, values.columns, out);
}

void Plan::apply(MatrixView<double> values, std::size_t target, std::span<double> out) const {
  check_product(*state_, values, target, out);
  multiply(*state_, target, EntryWeight::one, values, out);
}

void Plan::apply_transposed(MatrixView<double> values, std::size_t target, std::span<double> out) const {
  require_shape(target < state_->result.targets, "there is no such target");
  require_shape(values.rows == state_->rows_here(), "must have one row for each row of the plan");
  require_shape(has_room(out, state_->result.columns, values), "given too little room");
  multiply_transposed(*state_, target, EntryWeight::one, values, out);
}

void Plan::barycentric(MatrixView<double> values, std::size_t target, std::span<double> out) const {
  check_product(*state_, values, target, out);
  const std::size_t k = values.columns;
  const std::vector<double> extended = with_ones(values);
  std::vector<double> sums(state_->rows_here() * (k + 1));
  multiply(*state_, target, EntryWeight::one, {extended.data(), values.rows, k + 1}, sums);
  for (std::size_t i = 0; i < state_->rows_here(); ++i) {
    const double* of_row = sums.data() + i * (k + 1);
    for (std::size_t c = 0; c < k; ++c) {
      out[i * k + c] = of_row[k] == 0 ? std::numeric_limits<double>::quiet_NaN() : of_row[c] / of_row[k];
    }
  }
}

}  // namespace fedsinkhorn
