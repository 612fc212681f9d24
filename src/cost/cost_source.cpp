#include "cost/cost_source.hpp"

#include <algorithm>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "cost/matrix_cost.hpp"
#include "cost/points_cost.hpp"

namespace fedsinkhorn {
namespace {

template <class T>
void read(const CostSource& cost, Range rows, int threads, T* to) {
  const std::size_t columns = cost.columns();
  const std::size_t stride = (columns + cpu::kPanel - 1) / cpu::kPanel * cpu::kPanel;
  parallel_chunks(threads, rows.size(), [&](std::size_t k, std::size_t) {
    Buffer<double> row(stride);
    cost.fill(rows.first + k, 1, 0, columns, row.data(), stride);
    std::transform(row.data(), row.data() + columns, to + k * columns, [](double x) { return static_cast<T>(x); });
  });
  cost.rows_done(rows.first, rows.size());
}

}  // namespace

void read_rows(const CostSource& cost, Range rows, int threads, double* to) { read(cost, rows, threads, to); }
void read_rows(const CostSource& cost, Range rows, int threads, float* to) { read(cost, rows, threads, to); }

std::unique_ptr<CostSource> make_cost_source(const CostBlock& block, const cpu::Simd& simd) {
  if (std::holds_alternative<PointClouds>(block.input->cost)) return make_points_cost(block, simd);
  return make_matrix_cost(block);
}

}  // namespace fedsinkhorn
