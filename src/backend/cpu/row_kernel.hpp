// The operations of a kernel, written once for stored and for computed rows.
#pragma once

#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/cpu/gibbs_rows.hpp"
#include "backend/cpu/pass_plan.hpp"
#include "backend/cpu/work_cut.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "kernel/kernel.hpp"
#include "simd/gemm.hpp"

namespace fedsinkhorn {

template <class S, class V>
const cpu::ProductOps<S, V>& product_ops(const cpu::Simd& simd);
template <>
inline const cpu::ProductOps<double, double>& product_ops<double, double>(const cpu::Simd& simd) {
  return simd.float64;
}
template <>
inline const cpu::ProductOps<float, double>& product_ops<float, double>(const cpu::Simd& simd) {
  return simd.mixed;
}
template <>
inline const cpu::ProductOps<float, float>& product_ops<float, float>(const cpu::Simd& simd) {
  return simd.float32;
}

/// Rows: StoredRows<S> or ComputedRows<S>. V: the type products are formed in.
template <class Rows, class V>
class RowKernel final : public Kernel {
  using S = typename Rows::Stored;
  static constexpr bool kIsStored = std::is_same_v<Rows, StoredRows<S>>;
  static constexpr std::size_t kWorkPerEntry = kIsStored ? 1 : WorkCut::kExponential;

 public:
  RowKernel(const CostSource& cost, const cpu::Simd& simd, const KernelSpec& spec)
      : ops_(product_ops<S, V>(simd)),
        threads_(spec.threads),
        stop_(spec.stop),
        rows_(cost, simd, spec),
        row_bytes_(rows_.stride() * sizeof(S)),
        two_uses_(plans_for_two_uses(row_bytes_, caches()), kIsStored ? rows_.rows() * row_bytes_ : 0),
        rows_once_(plans_for_one_use(), kIsStored ? rows_.rows() * row_bytes_ : 0),
        columns_once_(plans_for_one_use(), kIsStored ? rows_.rows() * row_bytes_ : 0) {
    for (int t = 0; t < spec.threads; ++t) scratch_.emplace_back(rows_, cpu::kRowBlock);
  }

  [[nodiscard]] std::size_t rows() const override { return rows_.rows(); }
  [[nodiscard]] std::size_t columns() const override { return rows_.columns(); }

  void set_epsilon(double epsilon) override { rows_.set_epsilon(epsilon); }
  void absorb(std::span<const double> phi, std::span<const double> psi) override { rows_.absorb(phi, psi); }
  void open(std::span<const double> psi, double grid) override { rows_.open(psi, grid); }
  [[nodiscard]] bool can_open() const override { return true; }
  [[nodiscard]] std::span<const double> opened() const override { return rows_.phi(); }
  void weighted(const double* w, const double* y, double* r) override {
    const std::size_t n = rows_.rows();
    if (row_scalings_.size() < 2 * n) row_scalings_ = Buffer<double>(2 * n);
    double* q = row_scalings_.data();
    double* wq = q + n;
    const auto times_w = [&](std::size_t /*k*/, Range range) {
      for (std::size_t i = range.first; i < range.last; ++i) wq[i] = w[i] * q[i];
      return wq + range.first;
    };
    sweep(1, y, q, times_w, r);
    if (is_to_stop()) give_nothing(rows_.columns(), r);
  }
  void copy_rows(std::size_t first, std::size_t count, double* to) override {
    rows_.build(threads_);
    const std::size_t m = rows_.columns();
    parallel_chunks(threads_, (count + cpu::kRowBlock - 1) / cpu::kRowBlock,
                    [&](std::size_t chunk, std::size_t thread) {
                      const std::size_t at = chunk * cpu::kRowBlock;
                      const std::size_t some = std::min(cpu::kRowBlock, count - at);
                      const auto block = rows_.strip_at(first + at, some, 0, stride(), scratch_[thread]);
                      for (std::size_t k = 0; k < some; ++k)
                        std::copy_n(block.data + k * block.stride, m, to + (at + k) * m);
                    });
  }
  [[nodiscard]] std::string pass_plan() const override { return kIsStored ? describe(two_uses_.best()) : ""; }

  void apply(std::size_t targets, const double* v, double* q) override {
    load(targets, v);
    const std::size_t n = rows_.rows();
    const std::size_t chunks = (n + WorkCut::kRowsEach - 1) / WorkCut::kRowsEach;
    const bool measures = !rows_.is_to_be_built();
    parallel_chunks(useful_threads(targets), chunks, [&](std::size_t chunk, std::size_t thread) {
      if (is_to_stop()) return;
      const Timer timer;
      const PassPlan plan = measures ? rows_once_.plan(chunk) : rows_once_.best();
      const cpu::RowLoops<S, V>& loops = ops_.asking(plan.asking);
      const Range range{chunk * WorkCut::kRowsEach, std::min(n, (chunk + 1) * WorkCut::kRowsEach)};
      for (std::size_t i = range.first; i < range.last; i += plan.rows_at_once) {
        const std::size_t count = std::min(plan.rows_at_once, range.last - i);
        const auto block = rows_.rows_at(i, count, scratch_[thread]);
        for (std::size_t k = 0; k < targets; ++k) {
          loops.dot_rows(block.data, block.stride, count, stride(), v_.data() + k * stride(), q + k * n + i);
        }
      }
      rows_.done(range);
      if (measures) rows_once_.note(chunk, range.size() * stride(), timer.seconds());
    });
    rows_.end_pass();
    if (measures) rows_once_.end_pass();
    if (is_to_stop()) give_nothing(targets * n, q);
  }

  void apply_transposed(std::size_t targets, const double* u, double* r) override {
    rows_.build(threads_);
    reserve_sums(targets, 1);
    std::fill_n(sums_.data(), targets * stride(), 0.0);
    add_transposed(targets, u);
    store(targets, r);
    columns_once_.end_pass();
    if (is_to_stop()) give_nothing(targets * rows_.columns(), r);
  }

  void products(std::size_t targets, const double* u, const double* v, double* q, double* r) override {
    if (targets > WorkCut::kFewTargets) return Kernel::products(targets, u, v, q, r);
    const std::size_t n = rows_.rows();
    sweep(
        targets, v, q, [&](std::size_t k, Range range) { return u + k * n + range.first; }, r);
    if (!is_to_stop()) return;
    give_nothing(targets * n, q);
    give_nothing(targets * rows_.columns(), r);
  }

  void fused(std::size_t targets, const HalfStep& rows, const double* v, double* q, double* u, double* r) override {
    if (targets <= WorkCut::kFewTargets) {
      const std::size_t n = rows_.rows();
      const auto divided = [&](std::size_t k, Range range) {
        for (std::size_t i = range.first; i < range.last; ++i) {
          u[k * n + i] = rows.rule.scaling(rows.masses[i], q[k * n + i]);
        }
        return u + k * n + range.first;
      };
      sweep(targets, v, q, divided, r);
    } else {
      fused_by_products(targets, rows, v, q, u, r);
    }
    if (!is_to_stop()) return;
    give_nothing(targets * rows_.rows(), q);
    give_nothing(targets * rows_.rows(), u);
    give_nothing(targets * rows_.columns(), r);
  }

 private:
  [[nodiscard]] bool is_to_stop() const { return stop_ != nullptr && stop_->is_made(); }
  static void give_nothing(std::size_t count, double* out) {
    std::fill_n(out, count, std::numeric_limits<double>::quiet_NaN());
  }
  [[nodiscard]] std::size_t stride() const { return rows_.stride(); }
  [[nodiscard]] int useful_threads(std::size_t targets) const {
    return WorkCut::is_tiny(rows_.rows(), rows_.columns(), targets * kWorkPerEntry) ? 1 : threads_;
  }

  // A thread owns whole columns: each r_j is summed by one thread, the rows in order.
  void add_transposed(std::size_t targets, const double* u) {
    constexpr std::size_t grain = 64;
    const std::size_t n = rows_.rows();
    const std::size_t strips = std::clamp<std::size_t>(stride() / 512, 1, static_cast<std::size_t>(threads_) * 2);
    parallel_chunks(useful_threads(targets), strips, [&](std::size_t strip, std::size_t thread) {
      const Range range = chunk_range(stride(), strips, strip, grain);
      if (range.size() == 0) return;
      // Pieces of rows, on which plans for reading memory are tried.
      for (std::size_t first = 0; first < n; first += WorkCut::kRowsEach) {
        const Timer timer;
        const std::size_t piece = first / WorkCut::kRowsEach;
        const PassPlan plan = columns_once_.plan(piece);
        const cpu::RowLoops<S, V>& loops = ops_.asking(plan.asking);
        const std::size_t last = std::min(n, first + WorkCut::kRowsEach);
        for (std::size_t i = first; i < last && !is_to_stop(); i += plan.rows_at_once) {
          const std::size_t count = std::min(plan.rows_at_once, last - i);
          const auto block = rows_.strip_at(i, count, range.first, range.size(), scratch_[thread]);
          for (std::size_t k = 0; k < targets; ++k) {
            loops.add_rows(block.data, block.stride, count, range.size(), u + k * n + i,
                           sums_.data() + k * stride() + range.first);
          }
        }
        columns_once_.note(piece, (last - first) * range.size(), timer.seconds());
      }
    });
  }

  // v as V, rows padded with zeros.
  void load(std::size_t targets, const double* v) {
    if (v_.size() < targets * stride()) v_ = Buffer<V>(targets * stride());
    const std::size_t m = rows_.columns();
    parallel_chunks(targets > 1 ? useful_threads(targets) : 1, targets, [&](std::size_t k, std::size_t) {
      V* to = v_.data() + k * stride();
      for (std::size_t j = 0; j < m; ++j) to[j] = static_cast<V>(v[k * m + j]);
      std::fill(to + m, to + stride(), V{0});
    });
  }

  void reserve_sums(std::size_t targets, std::size_t copies) {
    if (sums_.size() < targets * copies * stride()) sums_ = Buffer<double>(targets * copies * stride());
  }

  void store(std::size_t targets, double* r) const {
    const std::size_t m = rows_.columns();
    parallel_chunks(targets > 1 ? useful_threads(targets) : 1, targets,
                    [&](std::size_t k, std::size_t) { std::copy_n(sums_.data() + k * stride(), m, r + k * m); });
  }

  // Reads K once: a block of rows is used for q = K v, then scalings() gives u of target k and these rows, then
  // r += K' u while the block is still in cache.
  template <class Scalings>
  void sweep(std::size_t targets, const double* v, double* q, const Scalings& scalings, double* r) {
    load(targets, v);
    const std::size_t n = rows_.rows();
    const std::size_t m = rows_.columns();
    const std::size_t chunks = WorkCut::fused_chunks(n, m, kWorkPerEntry);
    reserve_sums(targets, chunks);
    const bool measures = !rows_.is_to_be_built();
    parallel_chunks(threads_, chunks, [&](std::size_t chunk, std::size_t thread) {
      const Timer timer;
      const PassPlan plan = measures ? two_uses_.plan(chunk) : two_uses_.best();
      const cpu::RowLoops<S, V>& loops = ops_.asking(plan.asking);
      double* sums = sums_.data() + chunk * targets * stride();
      std::fill_n(sums, targets * stride(), 0.0);
      const Range range = chunk_range(n, chunks, chunk, cpu::kRowBlock);
      for (std::size_t i = range.first; i < range.last && !is_to_stop(); i += plan.rows_at_once) {
        const std::size_t count = std::min(plan.rows_at_once, range.last - i);
        const auto block = rows_.rows_at(i, count, scratch_[thread]);
        for (std::size_t k = 0; k < targets; ++k) {
          loops.dot_rows(block.data, block.stride, count, stride(), v_.data() + k * stride(), q + k * n + i);
          const double* u = scalings(k, Range{i, i + count});
          loops.add_rows(block.data, block.stride, count, stride(), u, sums + k * stride());
        }
      }
      rows_.done(range);
      if (measures) two_uses_.note(chunk, range.size() * stride(), timer.seconds());
    });
    rows_.end_pass();
    if (measures) two_uses_.end_pass();
    // r = the sum of the partial sums, in order.
    constexpr std::size_t columns_each = 256;
    const std::size_t pieces = (m + columns_each - 1) / columns_each;
    parallel_chunks(chunks > 1 ? threads_ : 1, targets * pieces, [&](std::size_t piece, std::size_t) {
      const std::size_t k = piece / pieces;
      const std::size_t first = piece % pieces * columns_each;
      const std::size_t last = std::min(m, first + columns_each);
      double* out = r + k * m;
      std::fill(out + first, out + last, 0.0);
      for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        const double* from = sums_.data() + (chunk * targets + k) * stride();
        for (std::size_t j = first; j < last; ++j) out[j] += from[j];
      }
    });
  }

  // The same for many targets, as matrix products on a block of rows: Q = V K_B', U = a / Q, R += U K_B. Threads share
  // the rows of the block for the first product and its columns for the second, so no thread needs its own sums.
  void fused_by_products(std::size_t targets, const HalfStep& rows, const double* v, double* q, double* u, double* r) {
    rows_.build(threads_);
    load(targets, v);
    reserve_sums(targets, 1);
    std::fill_n(sums_.data(), targets * stride(), 0.0);
    if (kNarrowProducts && products_.size() < targets * stride()) products_ = Buffer<V>(targets * stride());
    const std::size_t n = rows_.rows();
    const std::size_t block_rows = WorkCut::target_block(n, stride());
    if (block_scalings_.size() < targets * block_rows) block_scalings_ = Buffer<V>(targets * block_rows);
    const int threads = useful_threads(targets);
    const auto parts = static_cast<std::size_t>(threads);
    for (std::size_t first = 0; first < n && !is_to_stop(); first += block_rows) {
      const std::size_t count = std::min(block_rows, n - first);
      const V* block = nullptr;
      if constexpr (kRowsUsableInPlace) {
        block = rows_.rows_at(first, count, scratch_[0]).data;
      } else {
        if (converted_.size() < block_rows * stride()) converted_ = Buffer<V>(block_rows * stride());
        block = converted_.data();
      }
      parallel_chunks(threads, parts, [&](std::size_t part, std::size_t thread) {
        const Range range = chunk_range(count, parts, part, cpu::kRowBlock);
        if (range.size() == 0) return;
        if constexpr (!kRowsUsableInPlace) convert(first + range.first, range.size(), range.first, thread);
        V* scalings = block_scalings_.data() + range.first;
        cpu::multiply_transposed(targets, range.size(), stride(), v_.data(), stride(), block + range.first * stride(),
                                 stride(), scalings, block_rows);
        for (std::size_t k = 0; k < targets; ++k) {
          for (std::size_t s = 0; s < range.size(); ++s) {
            const std::size_t i = first + range.first + s;
            V& scaling = scalings[k * block_rows + s];
            q[k * n + i] = static_cast<double>(scaling);
            u[k * n + i] = rows.rule.scaling(rows.masses[i], q[k * n + i]);
            scaling = static_cast<V>(u[k * n + i]);
          }
        }
      });
      parallel_chunks(threads, parts, [&](std::size_t part, std::size_t) {
        const Range range = chunk_range(stride(), parts, part, 64);
        if (range.size() == 0) return;
        if constexpr (kNarrowProducts) {
          add_narrow_product(targets, range, count, block, block_rows);
        } else {
          cpu::multiply_add(targets, range.size(), count, block_scalings_.data(), block_rows, block + range.first,
                            stride(), sums_.data() + range.first, stride());
        }
      });
    }
    store(targets, r);
  }

  static constexpr bool kNarrowProducts = !std::is_same_v<V, double>;

  // A block's share of R in float32, added to the sums in float64.
  void add_narrow_product(std::size_t targets, Range range, std::size_t count, const V* block, std::size_t block_rows) {
    cpu::multiply(targets, range.size(), count, block_scalings_.data(), block_rows, block + range.first, stride(),
                  products_.data() + range.first, stride());
    for (std::size_t k = 0; k < targets; ++k) {
      const V* from = products_.data() + k * stride();
      double* to = sums_.data() + k * stride();
      for (std::size_t j = range.first; j < range.last; ++j) to[j] += static_cast<double>(from[j]);
    }
  }

  static constexpr bool kRowsUsableInPlace = kIsStored && std::is_same_v<S, V>;

  // Rows [row, row + count) as V at row `at` of the shared block.
  void convert(std::size_t row, std::size_t count, std::size_t at, std::size_t thread) {
    for (std::size_t i = 0; i < count; i += cpu::kRowBlock) {
      const std::size_t some = std::min(cpu::kRowBlock, count - i);
      const auto from = rows_.rows_at(row + i, some, scratch_[thread]);
      std::copy(from.data, from.data + some * stride(), converted_.data() + (at + i) * stride());
    }
  }

  cpu::ProductOps<S, V> ops_;
  int threads_;
  const StopRequest* stop_;
  Rows rows_;
  std::size_t row_bytes_;
  PassTuner two_uses_;      // for passes that form q = K v and r = K' u
  PassTuner rows_once_;     // for those that form only q
  PassTuner columns_once_;  // for those that form only r
  std::vector<typename Rows::Scratch> scratch_;
  Buffer<V> v_;                  // targets x stride
  Buffer<double> sums_;          // partial sums of r
  Buffer<V> block_scalings_;     // targets x rows of a block
  Buffer<V> products_;           // a block's share of r, where products are narrower than sums
  Buffer<double> row_scalings_;  // q and w q of weighted()
  Buffer<V> converted_;          // a block of rows, where the stored ones cannot be multiplied as they are
};

}  // namespace fedsinkhorn
