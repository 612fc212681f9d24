// Costs on demand: blocks of C as float64, whatever they come from. Nothing here stores an n x m array.
#pragma once

#include <cstddef>
#include <memory>

#include "core/buffer.hpp"
#include "core/range.hpp"
#include "cost/cost_block.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

/// The costs of a block, its rows and columns numbered from 0. Thread-safe.
class CostSource {
 public:
  virtual ~CostSource() = default;
  CostSource() = default;
  CostSource(const CostSource&) = delete;
  CostSource& operator=(const CostSource&) = delete;

  [[nodiscard]] virtual std::size_t rows() const = 0;
  [[nodiscard]] virtual std::size_t columns() const = 0;

  /// out[k * stride + j] = C(row + k, column + j) for k < row_count, j < column_count. `column` is a multiple of
  /// cpu::kPanel. Entries up to the next multiple of cpu::kPanel beyond column_count may be overwritten with finite
  /// numbers, so stride must be at least that.
  virtual void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, double* out,
                    std::size_t stride) const = 0;

  /// C(row, 0), C(row, 1), ... if they lie in memory as float64, else null.
  [[nodiscard]] virtual const double* row_in_place(std::size_t /*row*/) const { return nullptr; }

  /// These rows will not be read again soon.
  virtual void rows_done(std::size_t /*row*/, std::size_t /*row_count*/) const {}
};

/// Reads whole rows: in place if they lie in memory, else copied. For one thread.
class RowReader {
 public:
  explicit RowReader(const CostSource& cost) : cost_(cost) {}
  /// Valid until the next call.
  [[nodiscard]] const double* operator()(std::size_t row);

 private:
  const CostSource& cost_;
  Buffer<double> copy_;
};

/// to[k * columns + j] = C(rows.first + k, j), all columns of those rows.
void read_rows(const CostSource& cost, Range rows, int threads, double* to);
void read_rows(const CostSource& cost, Range rows, int threads, float* to);

/// Reads costs in place or computes them, depending on the block's input.
[[nodiscard]] std::unique_ptr<CostSource> make_cost_source(const CostBlock& block, const cpu::Simd& simd);

}  // namespace fedsinkhorn
