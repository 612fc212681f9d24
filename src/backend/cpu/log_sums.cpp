#include "backend/cpu/log_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/cpu/row_kernel.hpp"
#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

std::size_t padded_panels(std::size_t columns) { return (columns + cpu::kPanel - 1) / cpu::kPanel * cpu::kPanel; }

// A copy with -inf in the padding: padding columns then add nothing to any sum.
Buffer<double> padded_copy(std::span<const double> values, double padding) {
  Buffer<double> copy(padded_panels(values.size()));
  std::copy(values.begin(), values.end(), copy.data());
  std::fill(copy.data() + values.size(), copy.data() + copy.size(), padding);
  return copy;
}

/// Reads some columns of up to kRowBlock rows of costs at a time: in place if they lie in memory, else copied.
class CostRows {
 public:
  CostRows(const CostSource& cost, Range columns)
      : cost_(cost), columns_(columns), stride_(padded_panels(columns.size())) {}

  /// A pointer to each row. Valid until the next call.
  [[nodiscard]] const double* const* at(std::size_t row, std::size_t count) {
    const double* first = cost_.row_in_place(row);
    if (first == nullptr && copies_.size() == 0) copies_ = Buffer<double>(cpu::kRowBlock * stride_);
    if (first == nullptr) cost_.fill(row, count, columns_.first, columns_.size(), copies_.data(), stride_);
    for (std::size_t k = 0; k < count; ++k) {
      rows_[k] = first == nullptr ? copies_.data() + k * stride_ : cost_.row_in_place(row + k) + columns_.first;
    }
    return rows_.data();
  }

 private:
  const CostSource& cost_;
  Range columns_;
  std::size_t stride_;
  Buffer<double> copies_;
  std::array<const double*, cpu::kRowBlock> rows_{};
};

// Costs of some rows, all columns, padding zero.
void fill_rows(const CostSource& cost, std::size_t row, std::size_t count, Buffer<double>& out, std::size_t stride) {
  cost.fill(row, count, 0, cost.columns(), out.data(), stride);
  for (std::size_t k = 0; k < count; ++k) {
    std::fill(out.data() + k * stride + cost.columns(), out.data() + (k + 1) * stride, 0.0);
  }
}

/// Columns whose maxima and sums stay in the first-level cache while some rows are added.
constexpr std::size_t kSumsAtOnce = 512;
constexpr std::size_t kChunksOfManyTargets = 4;
/// The values of eight longer rows do not fit into a second-level cache of 1 MB.
constexpr std::size_t kLongRow = 3072;

/// Rows of costs that are held at a time while a plan is evaluated, if they come from a file: about 2 MB.
std::size_t rows_read_at_once(std::size_t columns) {
  const std::size_t rows = (std::size_t{1} << 18U) / std::max<std::size_t>(1, columns);
  return (rows / cpu::kRowBlock + 1) * cpu::kRowBlock;
}

/// What a chunk of rows adds to the sums over a whole plan.
struct Totals {
  ExactSum logarithm;
  ExactSum cost;
  ExactSum divergence;
};

int useful_threads(const LogContext& context) {
  const bool tiny = WorkCut::is_tiny(context.cost.rows(), context.cost.columns(), WorkCut::kExponential);
  return tiny ? 1 : context.threads;
}

}  // namespace

void row_log_sums(const LogContext& context, std::span<const double> psi, std::span<double> sums) {
  const Buffer<double> potentials = padded_copy(psi, -kInfinity);
  const std::size_t n = context.cost.rows();
  const std::size_t m = context.cost.columns();
  const std::size_t chunks = (n + WorkCut::kRowsEach - 1) / WorkCut::kRowsEach;
  parallel_chunks(useful_threads(context), chunks, [&](std::size_t chunk, std::size_t) {
    if (context.is_to_stop()) return;
    CostRows costs(context.cost, {0, m});
    const std::size_t first = chunk * WorkCut::kRowsEach;
    const std::size_t last = std::min(n, first + WorkCut::kRowsEach);
    for (std::size_t i = first; i < last; i += cpu::kRowBlock) {
      const std::size_t count = std::min(cpu::kRowBlock, last - i);
      const double* const* rows = costs.at(i, count);
      for (std::size_t k = 0; k < count; ++k) {
        sums[i + k] = context.ops.row_log_sum_exp(rows[k], m, potentials.data(), 1 / context.epsilon);
      }
    }
    context.cost.rows_done(first, last - first);
  });
  if (context.is_to_stop()) std::ranges::fill(sums, kUnknown);
}

void column_log_sums(const LogContext& context, std::span<const double> phi, std::span<const double> log_weights,
                     std::span<double> sums) {
  // Strips of columns: each sum is formed by one thread, the rows in order. Long pieces of rows are read faster than
  // short ones, but every thread should get some.
  const std::size_t n = context.cost.rows();
  const std::size_t m = context.cost.columns();
  const std::size_t strips = std::clamp<std::size_t>(m / kStrip, 1, 4 * static_cast<std::size_t>(context.threads));
  parallel_chunks(useful_threads(context), strips, [&](std::size_t strip, std::size_t) {
    const Range range = chunk_range(m, strips, strip, cpu::kPanel);
    if (range.size() == 0) return;
    const std::size_t width = padded_panels(range.size());
    CostRows costs(context.cost, range);
    Buffer<double> maximum(width);
    Buffer<double> sum(width);
    std::fill_n(maximum.data(), width, -kInfinity);
    std::fill_n(sum.data(), width, 0.0);
    for (std::size_t i = 0; i < n && !context.is_to_stop(); i += cpu::kRowBlock) {
      const std::size_t count = std::min(cpu::kRowBlock, n - i);
      const double* const* rows = costs.at(i, count);
      for (std::size_t j = 0; j < range.size(); j += kSumsAtOnce) {
        const std::size_t some = std::min(kSumsAtOnce, range.size() - j);
        for (std::size_t k = 0; k < count; ++k) {
          context.ops.column_log_sum_exp(rows[k] + j, some, phi[i + k], log_weights[i + k], 1 / context.epsilon,
                                         maximum.data() + j, sum.data() + j);
        }
      }
    }
    for (std::size_t j = 0; j < range.size(); ++j) {
      sums[range.first + j] = sum[j] > 0 ? maximum[j] + std::log(sum[j]) : -kInfinity;
    }
  });
  context.cost.rows_done(0, n);
  if (context.is_to_stop()) std::ranges::fill(sums, kUnknown);
}

namespace {

/// What a pass over the costs needs besides them.
struct PlanPass {
  const LogContext& context;
  std::span<const double> phi;
  const Buffer<double>& potentials;  // psi, padded
  const Buffer<double>& scalings;    // v, targets x padded columns
  const double* u;
  std::vector<PlanSums>& result;  // the pass writes its rows

  [[nodiscard]] std::size_t stride() const { return potentials.size(); }

  void one_target(Range rows, double* column_part, Totals& totals) const {
    const std::size_t m = context.cost.columns();
    CostRows costs(context.cost, {0, m});
    for (std::size_t i = rows.first; i < rows.last && !context.is_to_stop(); i += cpu::kRowBlock) {
      const std::size_t count = std::min(cpu::kRowBlock, rows.last - i);
      std::array<cpu::PlanDots, cpu::kRowBlock> dots{};
      context.ops.plan_dots(costs.at(i, count), count, m, phi.data() + i, potentials.data(), 1 / context.epsilon,
                            scalings.data(), u + i, dots.data(), column_part);
      for (std::size_t s = 0; s < count; ++s) {
        result[0].rows[i + s] = u[i + s] * dots[s].kernel;
        totals.logarithm.add(u[i + s] * dots[s].logarithm);
        totals.cost.add(u[i + s] * dots[s].cost);
        totals.divergence.add(u[i + s] * dots[s].divergence);
      }
    }
  }

  // The values of few rows stay in the cache while all targets use them.
  void many_targets(const cpu::RowLoops<double, double>& loops, Range rows, double* column_parts,
                    std::vector<Totals>& totals_of_chunk) const {
    const std::size_t n = context.cost.rows();
    const std::size_t at_once = stride() > kLongRow ? 2 : cpu::kRowBlock;
    Buffer<double> costs(at_once * stride());
    Buffer<double> kernel(at_once * stride());
    Buffer<double> kernel_log(at_once * stride());
    Buffer<double> divergence(at_once * stride());
    for (std::size_t i = rows.first; i < rows.last && !context.is_to_stop(); i += at_once) {
      const std::size_t count = std::min(at_once, rows.last - i);
      fill_rows(context.cost, i, count, costs, stride());
      context.ops.plan_rows(costs.data(), stride(), count, stride(), phi.data() + i, potentials.data(),
                            1 / context.epsilon,
                            {kernel.data(), kernel_log.data(), costs.data(), divergence.data(), stride()});
      for (std::size_t k = 0; k < result.size(); ++k) {
        const double* uk = u + k * n + i;
        const double* vk = scalings.data() + k * stride();
        std::array<double, cpu::kRowBlock> sums{};
        loops.dot_rows(kernel.data(), stride(), count, stride(), vk, sums.data());
        for (std::size_t s = 0; s < count; ++s) result[k].rows[i + s] = uk[s] * sums[s];
        const auto add_up = [&](const Buffer<double>& summands, ExactSum& total) {
          loops.dot_rows(summands.data(), stride(), count, stride(), vk, sums.data());
          for (std::size_t s = 0; s < count; ++s) total.add(uk[s] * sums[s]);
        };
        Totals& totals = totals_of_chunk[k];
        add_up(kernel_log, totals.logarithm);
        add_up(costs, totals.cost);
        add_up(divergence, totals.divergence);
        loops.add_rows(kernel.data(), stride(), count, stride(), uk, column_parts + k * stride());
      }
    }
  }
};

}  // namespace

std::vector<PlanSums> plan_sums(const LogContext& context, const cpu::ProductOps<double, double>& products,
                                std::span<const double> phi, std::span<const double> psi, std::size_t targets,
                                const double* u, const double* v) {
  const std::size_t n = context.cost.rows();
  const std::size_t m = context.cost.columns();
  const Buffer<double> potentials = padded_copy(psi, -kInfinity);
  const std::size_t stride = potentials.size();
  Buffer<double> scalings(targets * stride);
  for (std::size_t k = 0; k < targets; ++k) {
    std::copy(v + k * m, v + (k + 1) * m, scalings.data() + k * stride);
    std::fill(scalings.data() + k * stride + m, scalings.data() + (k + 1) * stride, 0.0);
  }
  // Partial column sums take targets x columns numbers per chunk: with many targets, few chunks.
  const std::size_t fine = WorkCut::fused_chunks(n, m, WorkCut::kExponential);
  const std::size_t chunks = targets <= WorkCut::kFewTargets ? fine : std::min(fine, kChunksOfManyTargets);
  // All before the first chunk: made one by one, they would break up the memory that chunks use in turn.
  std::vector<std::vector<double>> column_parts(chunks, std::vector<double>(targets * stride));
  std::vector<std::vector<Totals>> total_parts(chunks, std::vector<Totals>(targets));
  std::vector<PlanSums> result(targets);
  for (auto& sums : result) sums.rows.resize(n);
  const PlanPass pass{context, phi, potentials, scalings, u, result};
  parallel_chunks(context.threads, chunks, [&](std::size_t chunk, std::size_t) {
    const Range range = chunk_range(n, chunks, chunk, cpu::kRowBlock);
    const std::size_t rows_each = rows_read_at_once(m);
    for (std::size_t first = range.first; first < range.last; first += rows_each) {
      const Range rows{first, std::min(range.last, first + rows_each)};
      if (targets == 1) {
        pass.one_target(rows, column_parts[chunk].data(), total_parts[chunk][0]);
      } else {
        pass.many_targets(products.streaming(), rows, column_parts[chunk].data(), total_parts[chunk]);
      }
      context.cost.rows_done(rows.first, rows.size());
    }
  });

  for (std::size_t k = 0; k < targets; ++k) {
    result[k].columns.assign(m, 0.0);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      result[k].logarithm.add(total_parts[chunk][k].logarithm);
      result[k].cost.add(total_parts[chunk][k].cost);
      result[k].divergence.add(total_parts[chunk][k].divergence);
      for (std::size_t j = 0; j < m; ++j) result[k].columns[j] += column_parts[chunk][k * stride + j];
    }
    for (std::size_t j = 0; j < m; ++j) result[k].columns[j] *= v[k * m + j];
  }
  if (context.is_to_stop()) {
    for (PlanSums& sums : result) {
      std::ranges::fill(sums.rows, kUnknown);
      std::ranges::fill(sums.columns, kUnknown);
      sums.logarithm = sums.cost = sums.divergence = {kUnknown, 0};
    }
  }
  return result;
}

}  // namespace fedsinkhorn
