#include "cost/cost_scan.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace fedsinkhorn {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 32U;
  x *= 0x9e3779b97f4a7c15U;
  return x ^ (x >> 29U);
}

std::uint64_t row_weight(std::uint64_t seed, std::size_t i) { return mixed(seed ^ mixed(2 * i + 1)) | 1U; }
std::uint64_t column_weight(std::uint64_t seed, std::size_t j) { return mixed(seed ^ mixed(2 * j + 2)) | 1U; }

template <class T>
void add_row(const T* values, std::size_t i, Range columns, std::uint64_t seed, Fingerprint& sum) {
  std::uint64_t straight = 0;
  std::uint64_t transposed = 0;
  for (std::size_t j = columns.first; j < columns.last; ++j) {
    const auto value = static_cast<double>(values[j - columns.first]);
    const std::uint64_t bits = mixed(std::bit_cast<std::uint64_t>(value + 0.0));  // -0 is 0
    straight += bits * column_weight(seed, j);
    transposed += bits * row_weight(seed, j);
  }
  sum.straight += straight * row_weight(seed, i);
  sum.transposed += transposed * column_weight(seed, i);
}

double largest_magnitude(const cpu::MagnitudeOps& ops, const double* values, std::size_t count) {
  return ops.largest64(values, count);
}
double largest_magnitude(const cpu::MagnitudeOps& ops, const float* values, std::size_t count) {
  return ops.largest32(values, count);
}

void keep_first(const BadCost& bad, CostScan& scan) {
  const auto place = [](const BadCost& cost) { return std::tuple(cost.row, cost.column); };
  if (!scan.first_bad || place(bad) < place(*scan.first_bad)) scan.first_bad = bad;
}

template <class T>
void scan_values(const T* values, std::size_t row, Range columns, const ScanSettings& settings, CostScan& scan) {
  const double of_row = largest_magnitude(settings.simd.magnitudes, values, columns.size());
  if (!std::isnan(of_row)) {
    scan.largest = std::max(scan.largest, of_row);
  } else {  // not all of them are finite
    bool bad = false;
    bool infinite = false;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const bool too_high = values[k] > std::numeric_limits<T>::max();
      bad |= !(values[k] >= std::numeric_limits<T>::lowest());
      infinite |= too_high;
      if (!too_high) scan.largest = std::max(scan.largest, static_cast<double>(std::abs(values[k])));
    }
    scan.has_forbidden |= infinite;
    std::size_t k = 0;
    while (bad && values[k] >= std::numeric_limits<T>::lowest()) ++k;
    if (bad) keep_first({row, columns.first + k, static_cast<double>(values[k])}, scan);
  }
  if (settings.fingerprint_seed) add_row(values, row, columns, *settings.fingerprint_seed, scan.fingerprint);
}

/// As a row of C', turned afterwards: the first bad cost of a column is that of the lowest row.
template <class T>
void scan_turned(const T* values, std::size_t column, Range rows, const ScanSettings& settings, CostScan& scan) {
  CostScan turned;
  scan_values(values, column, rows, settings, turned);
  if (turned.first_bad) std::swap(turned.first_bad->row, turned.first_bad->column);
  std::swap(turned.fingerprint.straight, turned.fingerprint.transposed);
  merge(turned, scan);
}

}  // namespace

void scan_row(const double* values, std::size_t row, Range columns, const ScanSettings& settings, CostScan& scan) {
  scan_values(values, row, columns, settings, scan);
}
void scan_row(const float* values, std::size_t row, Range columns, const ScanSettings& settings, CostScan& scan) {
  scan_values(values, row, columns, settings, scan);
}

void scan_column(const double* values, std::size_t column, Range rows, const ScanSettings& settings, CostScan& scan) {
  scan_turned(values, column, rows, settings, scan);
}
void scan_column(const float* values, std::size_t column, Range rows, const ScanSettings& settings, CostScan& scan) {
  scan_turned(values, column, rows, settings, scan);
}

void merge(const CostScan& other, CostScan& scan) {
  if (other.first_bad) keep_first(*other.first_bad, scan);
  scan.has_forbidden |= other.has_forbidden;
  scan.largest = std::max(scan.largest, other.largest);
  scan.fingerprint.straight += other.fingerprint.straight;
  scan.fingerprint.transposed += other.fingerprint.transposed;
}

PairSet allowed_pairs(const CostSource& cost) {
  PairSet pairs(cost.rows(), cost.columns());
  RowReader rows(cost);
  for (std::size_t i = 0; i < cost.rows(); ++i) {
    const double* values = rows(i);
    for (std::size_t j = 0; j < cost.columns(); ++j) {
      if (values[j] <= std::numeric_limits<double>::max()) pairs.allow(i, j);
    }
    cost.rows_done(i, 1);
  }
  return pairs;
}

}  // namespace fedsinkhorn
