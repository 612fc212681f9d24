// Where rows of K come from: stored in memory, or computed on demand.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "cost/cost_source.hpp"
#include "kernel/kernel.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

template <class S>
const cpu::GibbsOps<S>& gibbs_ops(const cpu::Simd& simd);
template <>
inline const cpu::GibbsOps<double>& gibbs_ops<double>(const cpu::Simd& simd) {
  return simd.gibbs64;
}
template <>
inline const cpu::GibbsOps<float>& gibbs_ops<float>(const cpu::Simd& simd) {
  return simd.gibbs32;
}

/// Columns of costs turned into kernel values at a time: few enough to stay in the first-level cache in between.
inline constexpr std::size_t kStrip = 256;

/// K_ij = exp((phi_i + psi_j - C_ij) / epsilon), block by block.
template <class S>
class GibbsBlocks {
 public:
  GibbsBlocks(const CostSource& cost, const cpu::Simd& simd, double epsilon)
      : cost_(cost), exp_(gibbs_ops<S>(simd)), log_(simd.log), next_inverse_epsilon_(1 / epsilon) {
    phi_.resize(cost.rows());
    // Padding columns get psi = -inf, so that K = 0 there.
    psi_.assign(cpu::padded<S>(cost.columns()), -std::numeric_limits<double>::infinity());
  }

  /// Takes effect at the next absorb or open.
  void set_epsilon(double epsilon) { next_inverse_epsilon_ = 1 / epsilon; }
  void absorb(std::span<const double> phi, std::span<const double> psi) {
    std::copy(phi.begin(), phi.end(), phi_.begin());
    std::copy(psi.begin(), psi.end(), psi_.begin());
    inverse_epsilon_ = next_inverse_epsilon_;
    grid_ = 0;
  }
  /// phi must then be found by find_phi.
  void open(std::span<const double> psi, double grid) {
    std::copy(psi.begin(), psi.end(), psi_.begin());
    inverse_epsilon_ = next_inverse_epsilon_;
    grid_ = grid;
  }
  [[nodiscard]] bool finds_phi() const { return grid_ > 0; }
  [[nodiscard]] std::span<const double> phi() const { return phi_; }

  [[nodiscard]] const CostSource& cost() const { return cost_; }
  [[nodiscard]] std::size_t rows() const { return cost_.rows(); }
  [[nodiscard]] std::size_t columns() const { return cost_.columns(); }
  [[nodiscard]] std::size_t stride() const { return cpu::padded<S>(columns()); }

  /// phi_i = -max_j (psi_j - C_ij), on the grid: the largest entry of each of these rows becomes about 1. Rows without
  /// any allowed pair get 0. costs: as below.
  void find_phi(std::size_t row, std::size_t row_count, double* costs) {
    std::array<double, cpu::kRowBlock> greatest{};
    greatest.fill(-std::numeric_limits<double>::infinity());
    const bool in_place = cost_.row_in_place(row) != nullptr;
    for (std::size_t k = 0; in_place && k < row_count; ++k) {
      greatest[k] = log_.row_maximum(cost_.row_in_place(row + k), columns(), psi_.data());
    }
    for (std::size_t j = 0; !in_place && j < stride(); j += kStrip) {
      const std::size_t width = fill_costs(row, row_count, j, std::min(kStrip, stride() - j), costs);
      for (std::size_t k = 0; k < row_count; ++k) {
        greatest[k] = std::max(greatest[k], log_.row_maximum(costs + k * kStrip, width, psi_.data() + j));
      }
    }
    for (std::size_t k = 0; k < row_count; ++k) {
      phi_[row + k] = std::isfinite(greatest[k]) ? -std::nearbyint(greatest[k] / grid_) * grid_ : 0;
    }
  }

  /// out[k * stride + j] = K(row + k, column + j) for k < row_count <= kRowBlock and all padded columns up to
  /// column + column_count; column and column_count are multiples of the padding. costs: kRowBlock * kStrip numbers.
  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, S* out,
            std::size_t stride, double* costs) const {
    const std::size_t end = column + column_count;
    std::size_t begin = column;
    if (cost_.row_in_place(row) != nullptr) {
      begin = std::max(column, std::min(end, columns() / cpu::kPanel * cpu::kPanel));
      for (std::size_t k = 0; k < row_count; ++k) {
        exp_.gibbs_rows(cost_.row_in_place(row + k) + column, 0, 1, begin - column, phi_.data() + row + k,
                        psi_.data() + column, inverse_epsilon_, out + k * stride, stride);
      }
    }
    for (std::size_t j = begin; j < end; j += kStrip) {
      const std::size_t width = fill_costs(row, row_count, j, std::min(kStrip, end - j), costs);
      exp_.gibbs_rows(costs, kStrip, row_count, width, phi_.data() + row, psi_.data() + j, inverse_epsilon_,
                      out + (j - column), stride);
    }
  }

 private:
  // Writes the costs of a strip, 0 in padding columns. Returns its width.
  std::size_t fill_costs(std::size_t row, std::size_t row_count, std::size_t column, std::size_t width,
                         double* costs) const {
    const std::size_t real = std::min(width, columns() - column);
    cost_.fill(row, row_count, column, real, costs, kStrip);
    for (std::size_t k = 0; real < width && k < row_count; ++k) {
      std::fill(costs + k * kStrip + real, costs + k * kStrip + width, 0.0);
    }
    return width;
  }

  const CostSource& cost_;
  cpu::GibbsOps<S> exp_;
  cpu::LogOps log_;
  double next_inverse_epsilon_;
  double inverse_epsilon_ = 0;
  double grid_ = 0;  // of the phi to be found; 0: phi is known
  std::vector<double> phi_;
  std::vector<double> psi_;
};

/// A pointer to rows and the distance between them.
template <class S>
struct RowsView {
  const S* data;
  std::size_t stride;
};

/// K in memory. The first pass over K writes it: rows are then in cache when they are needed, and memory is first
/// touched by a thread that will read it.
template <class S>
class StoredRows {
 public:
  using Stored = S;
  StoredRows(const CostSource& cost, const cpu::Simd& simd, const KernelSpec& spec)
      : blocks_(cost, simd, spec.epsilon), stop_(spec.stop), kernel_(blocks_.rows() * blocks_.stride()) {}

  [[nodiscard]] std::size_t rows() const { return blocks_.rows(); }
  [[nodiscard]] std::size_t columns() const { return blocks_.columns(); }
  [[nodiscard]] std::size_t stride() const { return blocks_.stride(); }

  void set_epsilon(double epsilon) { blocks_.set_epsilon(epsilon); }
  void absorb(std::span<const double> phi, std::span<const double> psi) {
    blocks_.absorb(phi, psi);
    is_to_be_built_ = true;
  }
  void open(std::span<const double> psi, double grid) {
    blocks_.open(psi, grid);
    is_to_be_built_ = true;
  }
  [[nodiscard]] std::span<const double> phi() const { return blocks_.phi(); }

  /// Memory one thread needs to get rows.
  struct Scratch {
    Scratch(const StoredRows& /*rows*/, std::size_t row_count) : costs(row_count * kStrip) {}
    Buffer<double> costs;
  };
  /// For a pass that reads every row exactly once and then calls end_pass.
  [[nodiscard]] RowsView<S> rows_at(std::size_t row, std::size_t count, Scratch& scratch) {
    S* rows = kernel_.data() + row * stride();
    if (!is_to_be_built_) return {rows, stride()};
    // Row by row if costs are read in place: they are then in cache when they are read again.
    const std::size_t at_once = blocks_.cost().row_in_place(row) != nullptr ? 1 : count;
    for (std::size_t k = 0; k < count; k += at_once) {
      if (blocks_.finds_phi()) blocks_.find_phi(row + k, at_once, scratch.costs.data());
      blocks_.fill(row + k, at_once, 0, stride(), rows + k * stride(), stride(), scratch.costs.data());
    }
    return {rows, stride()};
  }
  /// The pass has finished these rows.
  void done(Range range) const {
    if (is_to_be_built_) blocks_.cost().rows_done(range.first, range.size());
  }
  void end_pass() { is_to_be_built_ = false; }
  [[nodiscard]] bool is_to_be_built() const { return is_to_be_built_; }

  /// A pass that does not go by whole rows needs K before it starts.
  void build(int threads) {
    if (!is_to_be_built_) return;
    constexpr std::size_t rows_each = 4 * cpu::kRowBlock;
    parallel_chunks(threads, (rows() + rows_each - 1) / rows_each, [&](std::size_t chunk, std::size_t) {
      if (stop_ != nullptr && stop_->is_made()) return;
      Scratch scratch(*this, cpu::kRowBlock);
      const Range range{chunk * rows_each, std::min(rows(), (chunk + 1) * rows_each)};
      for (std::size_t i = range.first; i < range.last; i += cpu::kRowBlock) {
        (void)rows_at(i, std::min(cpu::kRowBlock, range.last - i), scratch);
      }
      done(range);
    });
    end_pass();
  }
  [[nodiscard]] RowsView<S> strip_at(std::size_t row, std::size_t /*count*/, std::size_t column, std::size_t /*width*/,
                                     Scratch& /*scratch*/) const {
    return {kernel_.data() + row * stride() + column, stride()};
  }

 private:
  GibbsBlocks<S> blocks_;
  const StopRequest* stop_;
  Buffer<S> kernel_;
  bool is_to_be_built_ = false;
};

/// K computed on demand, never stored.
template <class S>
class ComputedRows {
 public:
  using Stored = S;
  ComputedRows(const CostSource& cost, const cpu::Simd& simd, const KernelSpec& spec)
      : blocks_(cost, simd, spec.epsilon), stop_(spec.stop) {}

  [[nodiscard]] std::size_t rows() const { return blocks_.rows(); }
  [[nodiscard]] std::size_t columns() const { return blocks_.columns(); }
  [[nodiscard]] std::size_t stride() const { return blocks_.stride(); }
  void set_epsilon(double epsilon) { blocks_.set_epsilon(epsilon); }
  void absorb(std::span<const double> phi, std::span<const double> psi) {
    blocks_.absorb(phi, psi);
    lacks_phi_ = false;
  }
  void open(std::span<const double> psi, double grid) {
    blocks_.open(psi, grid);
    lacks_phi_ = true;
  }
  [[nodiscard]] std::span<const double> phi() const { return blocks_.phi(); }

  /// Room for kRowBlock rows.
  struct Scratch {
    Scratch(const ComputedRows& rows, std::size_t row_count)
        : costs(cpu::kRowBlock * kStrip), block(row_count * rows.stride()) {}
    Buffer<double> costs;
    Buffer<S> block;
  };
  [[nodiscard]] RowsView<S> rows_at(std::size_t row, std::size_t count, Scratch& scratch) {
    if (lacks_phi_) blocks_.find_phi(row, count, scratch.costs.data());
    return strip_at(row, count, 0, stride(), scratch);
  }
  /// Later passes read the costs again, so they may stay. An opening pass may be the only one (see CpuBlock::open).
  void done(Range range) const {
    if (lacks_phi_) blocks_.cost().rows_done(range.first, range.size());
  }
  void end_pass() { lacks_phi_ = false; }
  [[nodiscard]] bool is_to_be_built() const { return lacks_phi_; }
  /// A pass by strips of columns needs phi before it starts.
  void build(int threads) {
    if (!lacks_phi_) return;
    parallel_chunks(threads, (rows() + cpu::kRowBlock - 1) / cpu::kRowBlock, [&](std::size_t chunk, std::size_t) {
      if (stop_ != nullptr && stop_->is_made()) return;
      Buffer<double> costs(cpu::kRowBlock * kStrip);
      const std::size_t first = chunk * cpu::kRowBlock;
      blocks_.find_phi(first, std::min(cpu::kRowBlock, rows() - first), costs.data());
    });
    end_pass();
  }
  [[nodiscard]] RowsView<S> strip_at(std::size_t row, std::size_t count, std::size_t column, std::size_t width,
                                     Scratch& scratch) const {
    blocks_.fill(row, count, column, width, scratch.block.data(), width, scratch.costs.data());
    return {scratch.block.data(), width};
  }

 private:
  GibbsBlocks<S> blocks_;
  const StopRequest* stop_;
  bool lacks_phi_ = false;
};

}  // namespace fedsinkhorn
