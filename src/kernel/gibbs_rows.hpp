// Where rows of K come from: held in memory, or computed whenever they are asked for.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "backend/cpu/simd.hpp"
#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "kernel/cost_source.hpp"
#include "kernel/kernel.hpp"

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

/// Columns of costs that are turned into kernel values at a time: small enough that they never leave the first-level
/// cache in between.
inline constexpr std::size_t kStrip = 256;

/// K_ij = exp((phi_i + psi_j - C_ij) / epsilon), block by block.
template <class S>
class GibbsBlocks {
 public:
  GibbsBlocks(const CostSource& cost, const cpu::Simd& simd, double epsilon)
      : cost_(cost), exp_(gibbs_ops<S>(simd)), inverse_epsilon_(1 / epsilon) {
    phi_.resize(cost.rows());
    // Padding columns get psi = -inf, so that K = 0 there.
    psi_.assign(cpu::padded<S>(cost.columns()), -std::numeric_limits<double>::infinity());
  }

  void set_epsilon(double epsilon) { inverse_epsilon_ = 1 / epsilon; }
  void absorb(std::span<const double> phi, std::span<const double> psi) {
    std::copy(phi.begin(), phi.end(), phi_.begin());
    std::copy(psi.begin(), psi.end(), psi_.begin());
  }

  [[nodiscard]] const CostSource& cost() const { return cost_; }
  [[nodiscard]] std::size_t rows() const { return cost_.rows(); }
  [[nodiscard]] std::size_t columns() const { return cost_.columns(); }
  [[nodiscard]] std::size_t stride() const { return cpu::padded<S>(columns()); }

  /// out[k * stride + j] = K(row + k, column + j) for k < row_count <= kRowBlock and all padded columns up to
  /// column + column_count; column and column_count are multiples of the padding. costs: kRowBlock * kStrip numbers.
  void fill(std::size_t row, std::size_t row_count, std::size_t column, std::size_t column_count, S* out,
            std::size_t stride, double* costs) const {
    const std::size_t end = column + column_count;
    for (std::size_t j = column; j < end; j += kStrip) {
      const std::size_t width = std::min(kStrip, end - j);
      const std::size_t real = std::min(width, columns() - j);
      cost_.fill(row, row_count, j, real, costs, kStrip);
      if (real < width) {
        for (std::size_t k = 0; k < row_count; ++k)
          std::fill(costs + k * kStrip + real, costs + k * kStrip + width, 0.0);
      }
      exp_.gibbs_rows(costs, kStrip, row_count, width, phi_.data() + row, psi_.data() + j, inverse_epsilon_,
                      out + (j - column), stride);
    }
  }

 private:
  const CostSource& cost_;
  cpu::GibbsOps<S> exp_;
  double inverse_epsilon_;
  std::vector<double> phi_;
  std::vector<double> psi_;
};

/// A pointer to rows and the distance between them.
template <class S>
struct RowsView {
  const S* data;
  std::size_t stride;
};

/// K in memory.
template <class S>
class StoredRows {
 public:
  using Stored = S;
  StoredRows(const CostSource& cost, const cpu::Simd& simd, const KernelSpec& spec)
      : blocks_(cost, simd, spec.epsilon),
        threads_(spec.threads),
        stop_(spec.stop),
        kernel_(blocks_.rows() * blocks_.stride()) {}

  [[nodiscard]] std::size_t rows() const { return blocks_.rows(); }
  [[nodiscard]] std::size_t columns() const { return blocks_.columns(); }
  [[nodiscard]] std::size_t stride() const { return blocks_.stride(); }

  void set_epsilon(double epsilon) { blocks_.set_epsilon(epsilon); }
  void absorb(std::span<const double> phi, std::span<const double> psi) {
    blocks_.absorb(phi, psi);
    constexpr std::size_t rows_each = 4 * cpu::kRowBlock;
    parallel_chunks(threads_, (rows() + rows_each - 1) / rows_each, [&](std::size_t chunk, std::size_t) {
      if (stop_ != nullptr && stop_->is_made()) return;
      Buffer<double> costs(cpu::kRowBlock * kStrip);
      const std::size_t first = chunk * rows_each;
      const std::size_t last = std::min(rows(), first + rows_each);
      for (std::size_t i = first; i < last; i += cpu::kRowBlock) {
        blocks_.fill(i, std::min(cpu::kRowBlock, last - i), 0, stride(), kernel_.data() + i * stride(), stride(),
                     costs.data());
      }
      blocks_.cost().rows_done(first, last - first);
    });
  }

  /// Memory one thread needs to ask for rows: none here.
  struct Scratch {
    Scratch(const StoredRows& /*rows*/, std::size_t /*row_count*/) {}
  };
  [[nodiscard]] RowsView<S> rows_at(std::size_t row, std::size_t /*count*/, Scratch& /*scratch*/) const {
    return {kernel_.data() + row * stride(), stride()};
  }
  [[nodiscard]] RowsView<S> strip_at(std::size_t row, std::size_t /*count*/, std::size_t column, std::size_t /*width*/,
                                     Scratch& /*scratch*/) const {
    return {kernel_.data() + row * stride() + column, stride()};
  }

 private:
  GibbsBlocks<S> blocks_;
  int threads_;
  const StopRequest* stop_;
  Buffer<S> kernel_;
};

/// K never stored.
template <class S>
class ComputedRows {
 public:
  using Stored = S;
  ComputedRows(const CostSource& cost, const cpu::Simd& simd, const KernelSpec& spec)
      : blocks_(cost, simd, spec.epsilon) {}

  [[nodiscard]] std::size_t rows() const { return blocks_.rows(); }
  [[nodiscard]] std::size_t columns() const { return blocks_.columns(); }
  [[nodiscard]] std::size_t stride() const { return blocks_.stride(); }
  void set_epsilon(double epsilon) { blocks_.set_epsilon(epsilon); }
  void absorb(std::span<const double> phi, std::span<const double> psi) { blocks_.absorb(phi, psi); }

  /// Room for kRowBlock rows.
  struct Scratch {
    Scratch(const ComputedRows& rows, std::size_t row_count)
        : costs(cpu::kRowBlock * kStrip), block(row_count * rows.stride()) {}
    Buffer<double> costs;
    Buffer<S> block;
  };
  [[nodiscard]] RowsView<S> rows_at(std::size_t row, std::size_t count, Scratch& scratch) const {
    return strip_at(row, count, 0, stride(), scratch);
  }
  [[nodiscard]] RowsView<S> strip_at(std::size_t row, std::size_t count, std::size_t column, std::size_t width,
                                     Scratch& scratch) const {
    blocks_.fill(row, count, column, width, scratch.block.data(), width, scratch.costs.data());
    return {scratch.block.data(), width};
  }

 private:
  GibbsBlocks<S> blocks_;
};

}  // namespace fedsinkhorn
