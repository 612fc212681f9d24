#include <algorithm>
#include <numeric>
#include <thread>

#include "core/buffer.hpp"
#include "core/checked_problem.hpp"
#include "core/parallel.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "kernel/gibbs_rows.hpp"
#include "solve/potentials.hpp"

namespace fedsinkhorn {

struct Plan::State {
  const Result& result;
  CheckedProblem everything;  // all rows and columns, with mass or without
  const cpu::Simd& simd;
  std::unique_ptr<CostSource> cost;
  int threads;
};

namespace {

CheckedProblem keep_everything(const Problem& problem, const Result& result) {
  CheckedProblem everything;
  everything.input = &problem;
  everything.epsilon = problem.epsilon;
  everything.rows = result.rows;
  everything.columns = result.columns;
  everything.active_rows.resize(result.rows);
  everything.active_columns.resize(result.columns);
  std::iota(everything.active_rows.begin(), everything.active_rows.end(), std::size_t{0});
  std::iota(everything.active_columns.begin(), everything.active_columns.end(), std::size_t{0});
  return everything;
}

Potential column(const std::vector<double>& values, const std::vector<double>& rests, std::size_t target,
                 std::size_t targets) {
  Potential potential;
  for (std::size_t i = target; i < values.size(); i += targets) {
    potential.value.push_back(values[i]);
    potential.rest.push_back(rests[i]);
  }
  return potential;
}

}  // namespace

Plan::Plan(const Problem& problem, const Result& result, int threads) {
  const cpu::Simd& simd = cpu::simd("auto");
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  state_ = std::make_unique<State>(
      State{result, keep_everything(problem, result), simd, nullptr, threads > 0 ? threads : cores});
  state_->cost = make_cost_source(state_->everything, simd);
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

void Plan::rows(std::size_t first, std::size_t count, std::size_t target, std::span<double> out) const {
  const Result& result = state_->result;
  const std::size_t m = result.columns;
  if (first + count > result.rows || target >= result.targets || out.size() < count * m) {
    throw InputError("plan rows", "asked for rows or a target that are not there");
  }
  const double epsilon = state_->everything.epsilon;
  const Potential f = column(result.f, result.f_rest, target, result.targets);
  const Potential g = column(result.g, result.g_rest, target, result.targets);
  const double grid = exact_grid(std::max(largest_magnitude(f.value), largest_magnitude(g.value)));
  std::vector<double> phi(f.value.size());
  std::vector<double> psi(m);
  std::vector<double> u(f.value.size());
  std::vector<double> v(m);
  split(f, std::vector<double>(f.value.size(), 1.0), epsilon, grid, phi, u);
  split(g, std::vector<double>(m, 1.0), epsilon, grid, psi, v);

  GibbsBlocks<double> blocks(*state_->cost, state_->simd, epsilon);
  blocks.absorb(phi, psi);
  parallel_chunks(state_->threads, (count + cpu::kRowBlock - 1) / cpu::kRowBlock, [&](std::size_t chunk, std::size_t) {
    const std::size_t stride = blocks.stride();
    Buffer<double> costs(cpu::kRowBlock * kStrip);
    Buffer<double> kernel(cpu::kRowBlock * stride);
    const std::size_t begin = chunk * cpu::kRowBlock;
    const std::size_t some = std::min(cpu::kRowBlock, count - begin);
    blocks.fill(first + begin, some, 0, stride, kernel.data(), stride, costs.data());
    for (std::size_t k = 0; k < some; ++k) {
      double* row = out.data() + (begin + k) * m;
      const double scaling = u[first + begin + k];
      for (std::size_t j = 0; j < m; ++j)
        row[j] = scaling == 0 || v[j] == 0 ? 0.0 : scaling * kernel[k * stride + j] * v[j];
    }
    state_->cost->rows_done(first + begin, some);
  });
}

}  // namespace fedsinkhorn
