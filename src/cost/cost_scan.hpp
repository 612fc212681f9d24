// Scans every cost for invalid ones, forbidden pairs and the largest of the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/pair_set.hpp"
#include "core/parallel.hpp"
#include "core/range.hpp"
#include "core/stop_request.hpp"
#include "cost/cost_block.hpp"
#include "cost/cost_source.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

/// Tests symmetry without seeing the costs of other clients: every client adds up a fingerprint of C and one of C' over
/// its entries, with weights drawn from a seed. The totals are equal if C = C', and almost certainly only then. Who has
/// the seed and a client's fingerprints can compute one entry that it does not know of that client's.
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
  std::optional<std::uint64_t> fingerprint_seed;  ///< none: no fingerprint is needed
  int threads = 1;
  const cpu::Simd& simd;
  const StopRequest& stop;  ///< once made, the scan throws Interrupted
};

/// Adds one row to the scan. values: its costs at the positions `columns`.
void scan_row(const double* values, std::size_t row, Range columns, const ScanSettings& settings, CostScan& scan);
void scan_row(const float* values, std::size_t row, Range columns, const ScanSettings& settings, CostScan& scan);

/// Adds one column. values: its costs at the positions `rows`.
void scan_column(const double* values, std::size_t column, Range rows, const ScanSettings& settings, CostScan& scan);
void scan_column(const float* values, std::size_t column, Range rows, const ScanSettings& settings, CostScan& scan);

/// Adds the scan of other entries.
void merge(const CostScan& other, CostScan& scan);

/// Of consecutive positions.
[[nodiscard]] inline Range range_of(const std::vector<std::size_t>& positions) {
  return positions.empty() ? Range{} : Range{positions.front(), positions.back() + 1};
}

/// Scans `count` lines of `length` costs, some at a time. scan_some(lines, scan) adds the scans of these lines.
template <class ScanSome>
[[nodiscard]] CostScan scan_lines(std::size_t count, std::size_t length, const ScanSettings& settings,
                                  const ScanSome& scan_some) {
  CostScan all;
  std::mutex mutex;
  const std::size_t lines_each = std::max<std::size_t>(1, (std::size_t{1} << 18U) / std::max<std::size_t>(1, length));
  const std::size_t chunks = (count + lines_each - 1) / lines_each;
  parallel_chunks(settings.threads, chunks, [&](std::size_t chunk, std::size_t) {
    settings.stop.throw_if_made();
    CostScan seen;
    scan_some(Range{chunk * lines_each, std::min(count, (chunk + 1) * lines_each)}, seen);
    const std::lock_guard lock(mutex);
    merge(seen, all);
  });
  return all;
}

/// Scans a block of consecutive rows and columns. make_rows() makes, for one thread, a function from a row's number in
/// the block to its values. done(first, count): these rows will not be read again.
template <class MakeRows, class Done>
[[nodiscard]] CostScan scan_rows(const CostBlock& block, const ScanSettings& settings, const MakeRows& make_rows,
                                 const Done& done) {
  const Range columns = range_of(block.columns);
  return scan_lines(block.rows.size(), columns.size(), settings, [&](Range some, CostScan& scan) {
    auto rows = make_rows();
    for (std::size_t k = some.first; k < some.last; ++k) scan_row(rows(k), block.rows[k], columns, settings, scan);
    done(some.first, some.size());
  });
}

/// The same column by column. columns(k): the values of the block's column k.
template <class Columns>
[[nodiscard]] CostScan scan_columns(const CostBlock& block, const ScanSettings& settings, const Columns& columns) {
  const Range rows = range_of(block.rows);
  if (rows.empty()) return {};
  return scan_lines(block.columns.size(), rows.size(), settings, [&](Range some, CostScan& scan) {
    for (std::size_t k = some.first; k < some.last; ++k) {
      scan_column(columns(k), block.columns[k], rows, settings, scan);
    }
  });
}

/// The pairs of the source's rows and columns that are not forbidden. No cost may be NaN.
[[nodiscard]] PairSet allowed_pairs(const CostSource& cost);

}  // namespace fedsinkhorn
