// Derivatives of the value with respect to masses: the potentials relative to a x b, at the optimum
//   dV/da_i = -epsilon log sum_j exp((g_j - C_ij) / epsilon)   and likewise for b,
// which also says what mass would cost where there is none. The same sums give potentials of new rows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.hpp"
#include "core/special_numbers.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/gradients.hpp"
#include "problem/costs.hpp"
#include "simd/simd.hpp"
#include "solve/plan_state.hpp"

namespace fedsinkhorn {
namespace {

/// Sums over rows are formed in this many parts, whatever the number of threads, so that it does not change any bits.
constexpr std::size_t kLogParts = 16;

std::vector<std::size_t> all_lines(std::size_t count) {
  std::vector<std::size_t> lines(count);
  std::iota(lines.begin(), lines.end(), std::size_t{0});
  return lines;
}

std::vector<double> values_at(const std::vector<double>& potentials, const std::vector<std::size_t>& lines,
                              std::size_t target, std::size_t targets) {
  std::vector<double> values(lines.size());
  std::ranges::transform(lines, values.begin(), [&](std::size_t line) { return potentials[line * targets + target]; });
  return values;
}

/// Rows without mass included: log sum_j exp((g_j - C_ij) / epsilon).
std::vector<double> row_log_sums(const Plan::State& state, std::size_t target) {
  CostBlock block = state.with_mass;
  block.rows = all_lines(state.result.rows);
  if (state.device >= 0) {
    return cuda::row_log_sums(state.task(block),
                              values_at(state.result.g, block.columns, target, state.result.targets));
  }
  const auto cost = make_cost_source(block, state.simd);
  std::vector<double> psi = values_at(state.result.g, block.columns, target, state.result.targets);
  psi.resize((psi.size() + cpu::kPanel - 1) / cpu::kPanel * cpu::kPanel, -kInfinity);
  std::vector<double> sums(block.rows.size());
  const std::size_t chunks = (sums.size() + cpu::kRowBlock - 1) / cpu::kRowBlock;
  parallel_chunks(state.threads, chunks, [&](std::size_t chunk, std::size_t) {
    RowReader rows(*cost);
    const Range range{chunk * cpu::kRowBlock, std::min(sums.size(), (chunk + 1) * cpu::kRowBlock)};
    for (std::size_t i = range.first; i < range.last; ++i) {
      sums[i] = state.simd.log.row_log_sum_exp(rows(i), cost->columns(), psi.data(), 1 / state.epsilon);
    }
    cost->rows_done(range.first, range.size());
  });
  return sums;
}

/// Sums of exp(maximum) * sum, column by column.
struct ColumnLogSums {
  std::vector<double> maximum;
  std::vector<double> sum;
};

/// Columns without mass included: log sum_i exp((f_i - C_ij) / epsilon).
std::vector<double> column_log_sums(const Plan::State& state, std::size_t target) {
  CostBlock block = state.with_mass;
  block.columns = all_lines(state.result.columns);
  const std::vector<double> phi = values_at(state.result.f, block.rows, target, state.result.targets);
  if (state.device >= 0) return cuda::column_log_sums(state.task(block), phi);
  const auto cost = make_cost_source(block, state.simd);
  const std::size_t m = block.columns.size();
  const std::size_t room = (m + cpu::kPanel - 1) / cpu::kPanel * cpu::kPanel;
  std::vector<ColumnLogSums> parts(kLogParts);
  parallel_chunks(state.threads, kLogParts, [&](std::size_t part, std::size_t) {
    ColumnLogSums& own = parts[part];
    own.maximum.assign(room, -kInfinity);
    own.sum.assign(room, 0.0);
    RowReader rows(*cost);
    const Range range = chunk_range(phi.size(), kLogParts, part);
    for (std::size_t i = range.first; i < range.last; ++i) {
      if (!std::isfinite(phi[i])) continue;
      state.simd.log.column_log_sum_exp(rows(i), m, phi[i], 0, 1 / state.epsilon, own.maximum.data(), own.sum.data());
    }
    cost->rows_done(range.first, range.size());
  });
  std::vector<double> sums(m, -kInfinity);
  for (std::size_t j = 0; j < m; ++j) {
    double maximum = -kInfinity;
    for (const ColumnLogSums& part : parts) maximum = std::max(maximum, part.maximum[j]);
    if (!std::isfinite(maximum)) continue;
    double sum = 0;
    for (const ColumnLogSums& part : parts) sum += part.sum[j] * std::exp(part.maximum[j] - maximum);
    sums[j] = maximum + std::log(sum);
  }
  return sums;
}

/// Shifted so that the finite ones sum to 0.
void centre(std::vector<double>& gradient) {
  double total = 0;
  std::size_t finite = 0;
  for (const double x : gradient) {
    if (!std::isfinite(x)) continue;
    total += x;
    ++finite;
  }
  for (double& x : gradient) x -= finite == 0 ? 0 : total / static_cast<double>(finite);
}

/// masses: as given, element i at i * stride.
struct GivenMasses {
  const double* first;
  std::size_t stride;
};

/// With masses m / t, t their total: d/dm_i = (x_i - sum_k m_k x_k / t) / t.
void of_normalized(GivenMasses masses, std::vector<double>& gradient) {
  double total = 0;
  double mean = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double mass = masses.first[i * masses.stride];
    if (mass == 0) continue;
    total += mass;
    mean += mass * gradient[i];
  }
  mean /= total;
  for (double& x : gradient) x = (x - mean) / total;
}

/// From log sums. masses: null for uniform ones.
std::vector<double> gradient_of(std::vector<double> sums, double epsilon, bool is_normalized, GivenMasses masses) {
  for (double& sum : sums) sum *= -epsilon;
  if (is_normalized && masses.first != nullptr) {
    of_normalized(masses, sums);
  } else {
    centre(sums);
  }
  return sums;
}

/// The total of each row of the plan.
std::vector<double> row_totals(const Plan& plan, std::size_t rows, std::size_t columns, std::size_t target) {
  const std::vector<double> ones(columns, 1.0);
  std::vector<double> totals(rows);
  plan.apply({ones.data(), columns, 1}, target, totals);
  return totals;
}

}  // namespace

Result extend_rows(const Problem& problem, const Result& result, int threads) {
  Result extended;
  extended.rows = make_cost_input(problem.cost)->shape().rows;
  extended.columns = result.columns;
  extended.targets = result.targets;
  extended.f.assign(extended.rows * extended.targets, 0.0);
  extended.g = result.g;
  extended.g_rest = result.g_rest;
  extended.backend = result.backend;
  extended.clients = result.clients;
  extended.this_client = result.this_client;
  const double mass = 1 / static_cast<double>(extended.rows);
  {
    const Plan plan(problem, extended, threads);
    check_costs(problem, plan.state().threads, plan.state().simd);
    for (std::size_t target = 0; target < extended.targets; ++target) {
      const std::vector<double> sums = row_log_sums(plan.state(), target);
      for (std::size_t i = 0; i < extended.rows; ++i) {
        if (!std::isfinite(sums[i])) {
          throw InputError(problem.names.cost, fmt::format("row {} has no pair that is not forbidden", i),
                           "give at least one finite cost");
        }
        extended.f[i * extended.targets + target] = problem.epsilon * (std::log(mass) - sums[i]);
      }
    }
  }
  // Far from all columns, f is so large beside epsilon that rounding it changes the masses.
  const Plan rounded(problem, extended, threads);
  std::vector<double> rests(extended.f.size());
  for (std::size_t target = 0; target < extended.targets; ++target) {
    const std::vector<double> totals = row_totals(rounded, extended.rows, extended.columns, target);
    for (std::size_t i = 0; i < extended.rows; ++i) {
      rests[i * extended.targets + target] = problem.epsilon * std::log(mass / totals[i]);
    }
  }
  extended.f_rest = std::move(rests);
  return extended;
}

MassGradients mass_gradients(const Problem& problem, const Result& result, std::size_t target, int threads) {
  if (target >= result.targets) throw InputError("gradients", "there is no such target");
  const Plan plan(problem, result, threads);
  const Plan::State& state = plan.state();
  if (state.rows_here() != result.rows) throw InputError("gradients", "the result has only some of the rows");
  const GivenMasses b = {problem.b.empty() ? nullptr : problem.b.data + target, problem.b.columns};
  return {gradient_of(row_log_sums(state, target), problem.epsilon, result.is_normalized, {problem.a.data(), 1}),
          gradient_of(column_log_sums(state, target), problem.epsilon, result.is_normalized, b)};
}

}  // namespace fedsinkhorn
