#include "cost/cost_source.hpp"

#include <algorithm>

#include "core/parallel.hpp"
#include "cost/cost_input.hpp"

namespace fedsinkhorn {
namespace {

std::size_t padded(std::size_t columns) { return (columns + cpu::kPanel - 1) / cpu::kPanel * cpu::kPanel; }

template <class T>
void read(const CostSource& cost, Range rows, int threads, T* to) {
  const std::size_t columns = cost.columns();
  const std::size_t stride = padded(columns);
  // Several at once: where columns lie together, each is then read by cache lines.
  parallel_chunks(threads, (rows.size() + cpu::kRowBlock - 1) / cpu::kRowBlock, [&](std::size_t chunk, std::size_t) {
    Buffer<double> copies(cpu::kRowBlock * stride);
    const Range some{chunk * cpu::kRowBlock, std::min(rows.size(), (chunk + 1) * cpu::kRowBlock)};
    cost.fill(rows.first + some.first, some.size(), 0, columns, copies.data(), stride);
    for (std::size_t k = 0; k < some.size(); ++k) {
      const double* row = copies.data() + k * stride;
      std::transform(row, row + columns, to + (some.first + k) * columns, [](double x) { return static_cast<T>(x); });
    }
  });
  cost.rows_done(rows.first, rows.size());
}

}  // namespace

const double* RowReader::operator()(std::size_t row) {
  if (const double* in_place = cost_.row_in_place(row)) return in_place;
  const std::size_t stride = padded(cost_.columns());
  if (copy_.size() == 0) copy_ = Buffer<double>(stride);
  cost_.fill(row, 1, 0, cost_.columns(), copy_.data(), stride);
  return copy_.data();
}

void read_rows(const CostSource& cost, Range rows, int threads, double* to) { read(cost, rows, threads, to); }
void read_rows(const CostSource& cost, Range rows, int threads, float* to) { read(cost, rows, threads, to); }

std::unique_ptr<CostSource> make_cost_source(const CostBlock& block, const cpu::Simd& simd) {
  return block.costs->source(block, simd);
}

}  // namespace fedsinkhorn
