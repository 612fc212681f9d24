// Products with a plan that is never stored.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fedsinkhorn/error.hpp"
#include "solve/plan_state.hpp"

namespace fedsinkhorn {
namespace {

/// Sums over rows are formed in this many parts, whatever the number of threads, so that it does not change any bits.
constexpr std::size_t kRowParts = 16;
/// Numbers that the parts of such sums may take together: 64 MiB.
constexpr std::size_t kMostPartialSums = std::size_t{1} << 23U;

void require_shape(bool holds, const char* what) {
  if (!holds) throw InputError("plan values", what);
}

/// K_ij / C_ij. costs: room for a block of whole rows.
void divide_by_costs(const Plan::State& state, std::size_t line, std::size_t count, std::size_t stride, double* kernel,
                     Buffer<double>& costs) {
  const std::size_t columns = state.cost->columns();
  const std::size_t room = (columns + cpu::kPanel - 1) / cpu::kPanel * cpu::kPanel;
  if (costs.size() == 0) costs = Buffer<double>(cpu::kRowBlock * room);
  state.cost->fill(line, count, 0, columns, costs.data(), room);
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double cost = costs[k * room + j];
      double& entry = kernel[k * stride + j];
      entry = cost == 0 ? 0 : entry / cost;
    }
  }
}

/// Whether `out` has room for `rows` rows as long as those of the values.
bool has_room(std::span<double> out, std::size_t rows, MatrixView<double> values) {
  return values.columns == 0 || out.size() / values.columns >= rows;
}

/// One factor of a transposed product: P' x for some of the columns x of the values.
class PartialSums {
 public:
  PartialSums(const Plan::State& state, const PlanTarget& plan, EntryWeight weight, MatrixView<double> values)
      : state_(state), plan_(plan), weight_(weight), values_(values) {}

  /// out[j * values.columns + c], c in `columns`.
  void add(Range columns, std::span<double> out) const {
    const std::size_t width = columns.size() * plan_.stride();
    std::vector<double> sums(kRowParts * width);
    parallel_chunks(state_.threads, kRowParts,
                    [&](std::size_t part, std::size_t) { add_part(part, columns, sums.data() + part * width); });
    for (std::size_t j = 0; j < state_.with_mass.columns.size(); ++j) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        double sum = 0;
        for (std::size_t part = 0; part < kRowParts; ++part) sum += sums[part * width + c * plan_.stride() + j];
        const double v = plan_.v()[j];
        out[state_.with_mass.columns[j] * values_.columns + columns.first + c] =
            v == 0 ? 0 : std::ldexp(sum * v, plan_.exponent());
      }
    }
  }

 private:
  void add_part(std::size_t part, Range columns, double* sums) const {
    const std::vector<std::size_t>& lines = state_.with_mass.rows;
    const Range range = chunk_range(lines.size(), kRowParts, part);
    PlanTarget::Scratch scratch;
    Buffer<double> costs;
    for (std::size_t line = range.first; line < range.last; line += cpu::kRowBlock) {
      const std::size_t count = std::min(cpu::kRowBlock, range.last - line);
      double* kernel = plan_.fill(line, count, scratch);
      if (weight_ == EntryWeight::inverse_cost) divide_by_costs(state_, line, count, plan_.stride(), kernel, costs);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        std::array<double, cpu::kRowBlock> factors{};
        for (std::size_t k = 0; k < count; ++k) {
          const double u = plan_.u()[line + k];
          factors[k] = u == 0 ? 0 : u * values_(lines[line + k] - state_.result.first_row, columns.first + c);
        }
        state_.simd.float64.streaming().add_rows(kernel, plan_.stride(), count, plan_.stride(), factors.data(),
                                                 sums + c * plan_.stride());
      }
      state_.cost->rows_done(line, count);
    }
  }

  const Plan::State& state_;
  const PlanTarget& plan_;
  EntryWeight weight_;
  MatrixView<double> values_;
};

/// Columns of the values scaled by v, each padded to the stride of the kernel.
std::vector<double> scaled_columns(const Plan::State& state, const PlanTarget& plan, MatrixView<double> values) {
  std::vector<double> scaled(values.columns * plan.stride());
  for (std::size_t c = 0; c < values.columns; ++c) {
    for (std::size_t j = 0; j < state.with_mass.columns.size(); ++j) {
      const double v = plan.v()[j];
      scaled[c * plan.stride() + j] = v == 0 ? 0 : v * values(state.with_mass.columns[j], c);
    }
  }
  return scaled;
}

}  // namespace

void multiply(const Plan::State& state, std::size_t target, EntryWeight weight, MatrixView<double> values,
              std::span<double> out) {
  const std::vector<std::size_t>& lines = state.with_mass.rows;
  std::fill_n(out.begin(), state.rows_here() * values.columns, 0.0);
  if (state.with_mass.empty()) return;
  const PlanTarget plan(state, target);
  const std::vector<double> scaled = scaled_columns(state, plan, values);
  std::vector<Buffer<double>> costs(static_cast<std::size_t>(state.threads));
  plan.for_blocks({0, lines.size()}, [&](std::size_t line, std::size_t count, double* kernel, std::size_t thread) {
    if (weight == EntryWeight::inverse_cost) divide_by_costs(state, line, count, plan.stride(), kernel, costs[thread]);
    std::array<double, cpu::kRowBlock> sums{};
    for (std::size_t c = 0; c < values.columns; ++c) {
      state.simd.float64.streaming().dot_rows(kernel, plan.stride(), count, plan.stride(),
                                              scaled.data() + c * plan.stride(), sums.data());
      for (std::size_t k = 0; k < count; ++k) {
        const double u = plan.u()[line + k];
        out[(lines[line + k] - state.result.first_row) * values.columns + c] =
            u == 0 ? 0 : std::ldexp(u * sums[k], plan.exponent());
      }
    }
  });
}

void multiply_transposed(const Plan::State& state, std::size_t target, EntryWeight weight, MatrixView<double> values,
                         std::span<double> out) {
  std::fill_n(out.begin(), state.result.columns * values.columns, 0.0);
  if (state.with_mass.empty()) return;
  const PlanTarget plan(state, target);
  const PartialSums sums(state, plan, weight, values);
  const std::size_t at_once = std::max<std::size_t>(1, kMostPartialSums / (kRowParts * plan.stride()));
  for (std::size_t c = 0; c < values.columns; c += at_once) {
    sums.add({c, std::min(values.columns, c + at_once)}, out);
  }
}

void Plan::apply(MatrixView<double> values, std::size_t target, std::span<double> out) const {
  require_shape(target < state_->result.targets, "there is no such target");
  require_shape(values.rows == state_->result.columns, "must have one row for each column of the plan");
  require_shape(has_room(out, state_->rows_here(), values), "given too little room");
  multiply(*state_, target, EntryWeight::one, values, out);
}

void Plan::apply_transposed(MatrixView<double> values, std::size_t target, std::span<double> out) const {
  require_shape(target < state_->result.targets, "there is no such target");
  require_shape(values.rows == state_->rows_here(), "must have one row for each row of the plan");
  require_shape(has_room(out, state_->result.columns, values), "given too little room");
  multiply_transposed(*state_, target, EntryWeight::one, values, out);
}

void Plan::barycentric(MatrixView<double> values, std::size_t target, std::span<double> out) const {
  apply(values, target, out);
  const std::vector<double> ones(state_->result.columns, 1.0);
  std::vector<double> totals(state_->rows_here());
  multiply(*state_, target, EntryWeight::one, {ones.data(), ones.size(), 1}, totals);
  for (std::size_t i = 0; i < totals.size(); ++i) {
    for (std::size_t c = 0; c < values.columns; ++c) {
      double& mean = out[i * values.columns + c];
      mean = totals[i] == 0 ? std::numeric_limits<double>::quiet_NaN() : mean / totals[i];
    }
  }
}

}  // namespace fedsinkhorn
