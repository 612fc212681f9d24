// Derivatives of the value with respect to masses: the potentials relative to a x b, at the optimum
//   dV/da_i = -epsilon log sum_j exp((g_j - C_ij) / epsilon)   and likewise for b,
// which also says what mass would cost where there is none. The same sums give potentials of new rows.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.hpp"
#include "core/special_numbers.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/gradients.hpp"
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

/// -epsilon sums, shifted so that the finite ones sum to 0.
std::vector<double> centred_gradient(std::vector<double> sums, double epsilon) {
  double total = 0;
  std::size_t finite = 0;
  for (double& sum : sums) {
    sum *= -epsilon;
    if (!std::isfinite(sum)) continue;
    total += sum;
    ++finite;
  }
  for (double& gradient : sums) gradient -= finite == 0 ? 0 : total / static_cast<double>(finite);
  return sums;
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
  const Plan plan(problem, extended, threads);
  const double log_mass = -std::log(static_cast<double>(extended.rows));
  for (std::size_t target = 0; target < extended.targets; ++target) {
    const std::vector<double> sums = row_log_sums(plan.state(), target);
    for (std::size_t i = 0; i < extended.rows; ++i) {
      extended.f[i * extended.targets + target] =
          std::isfinite(sums[i]) ? problem.epsilon * (log_mass - sums[i]) : -kInfinity;
    }
  }
  return extended;
}

MassGradients mass_gradients(const Problem& problem, const Result& result, std::size_t target, int threads) {
  if (target >= result.targets) throw InputError("gradients", "there is no such target");
  const Plan plan(problem, result, threads);
  const Plan::State& state = plan.state();
  if (state.rows_here() != result.rows) throw InputError("gradients", "the result has only some of the rows");
  return {centred_gradient(row_log_sums(state, target), problem.epsilon),
          centred_gradient(column_log_sums(state, target), problem.epsilon)};
}

}  // namespace fedsinkhorn
