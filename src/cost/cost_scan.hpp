// Scans every cost for invalid ones, forbidden pairs and the largest of the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "core/pair_set.hpp"
#include "core/parallel.hpp"
#include "core/stop_request.hpp"
#include "cost/cost_block.hpp"
#include "cost/cost_source.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

/// Tests symmetry without seeing the costs of other clients: every client adds up a fingerprint of C and one of C' over
/// its entries. The totals are equal if C = C', and almost certainly only then.
struct Fingerprint {
  std::uint64_t straight = 0;
  std::uint64_t transposed = 0;
};

/// NaN or -inf.
struct BadCost {
  std::size_t row = 0;  ///< positions, as in CostBlock
  std::size_t column = 0;
  double value = 0;
};

struct CostScan {
  std::optional<BadCost> first_bad;  ///< in row order
  bool has_forbidden = false;
  double largest = 0;  ///< of the finite ones, in absolute value
  Fingerprint fingerprint;
};

struct ScanSettings {
  bool with_fingerprint = false;
  int threads = 1;
  const cpu::Simd& simd;
  const StopRequest& stop;  ///< once made, the scan throws Interrupted
};

/// Adds one row to the scan. values: its costs at the positions `columns`.
void scan_row(const double* values, std::size_t row, Range columns, const ScanSettings& settings, CostScan& scan);
void scan_row(const float* values, std::size_t row, Range columns, const ScanSettings& settings, CostScan& scan);

/// Adds the scan of other rows.
void merge(const CostScan& other, CostScan& scan);

/// Scans a block of consecutive rows and columns. make_rows() makes, for one thread, a function from a row's number in
/// the block to its values. done(first, count): these rows will not be read again.
template <class MakeRows, class Done>
[[nodiscard]] CostScan scan_rows(const CostBlock& block, const ScanSettings& settings, const MakeRows& make_rows,
                                 const Done& done) {
  CostScan all;
  if (block.rows.empty()) return all;
  std::mutex mutex;
  const Range columns = block.columns.empty() ? Range{} : Range{block.columns.front(), block.columns.back() + 1};
  const std::size_t rows_each =
      std::max<std::size_t>(1, (std::size_t{1} << 18U) / std::max<std::size_t>(1, columns.size()));
  const std::size_t chunks = (block.rows.size() + rows_each - 1) / rows_each;
  parallel_chunks(settings.threads, chunks, [&](std::size_t chunk, std::size_t) {
    settings.stop.throw_if_made();
    const std::size_t first = chunk * rows_each;
    const std::size_t last = std::min(block.rows.size(), first + rows_each);
    CostScan seen;
    auto rows = make_rows();
    for (std::size_t k = first; k < last; ++k) scan_row(rows(k), block.rows[k], columns, settings, seen);
    done(first, last - first);
    const std::lock_guard lock(mutex);
    merge(seen, all);
  });
  return all;
}

/// The pairs of the source's rows and columns that are not forbidden. No cost may be NaN.
[[nodiscard]] PairSet allowed_pairs(const CostSource& cost);

}  // namespace fedsinkhorn
