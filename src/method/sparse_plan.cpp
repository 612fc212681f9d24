#include "method/sparse_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "core/parallel.hpp"
#include "core/range.hpp"
#include "method/sampled_clique.hpp"

namespace fedsinkhorn {
namespace {

/// Largest entries kept per line, and entries drawn per row. With 16 and none, two clusters in the plane need four
/// times as many products; with 16 and 16 as many, and more time for the factor.
constexpr std::size_t kKept = 8;
constexpr std::size_t kDrawn = 16;
/// A smaller part of a row is not worth drawing from.
constexpr double kLeastRest = 1e-6;
/// Numbers copied from K at a time: few enough to stay in a cache between the sweeps.
constexpr std::size_t kNumbersAtOnce = std::size_t{1} << 17U;
constexpr std::size_t kLeastRowsAtOnce = 32;
/// Columns that a thread sweeps at a time.
constexpr std::size_t kColumnsEach = 512;
/// Entries compared, or added up, before looking at them one by one: without branches, several per instruction.
constexpr std::size_t kStrip = 16;
constexpr std::size_t kLanes = 256;

bool is_larger(const PlanEntry& x, const PlanEntry& y) {
  return x.value > y.value || (x.value == y.value && x.at < y.at);
}

/// The largest of the entries that come, in order of their index; of equal ones those that come first.
class Candidates {
 public:
  Candidates() { entries_.reserve(2 * kKept); }

  void clear() { entries_.clear(); }
  /// Raises the threshold, now and then: entries that are not above it are not among the largest.
  void add(PlanEntry entry, double& threshold) {
    entries_.push_back(entry);
    if (entries_.size() < 2 * kKept) return;
    cut();
    threshold = entries_.back().value;
  }
  [[nodiscard]] std::span<const PlanEntry> largest() {
    if (entries_.size() > kKept) cut();
    return entries_;
  }

 private:
  void cut() {
    std::nth_element(entries_.begin(), entries_.begin() + kKept - 1, entries_.end(), is_larger);
    entries_.resize(kKept);
  }
  std::vector<PlanEntry> entries_;
};

/// Calls take(j) for each j with is_large(j), in order.
template <class IsLarge, class Take>
void for_large(Range columns, const IsLarge& is_large, const Take& take) {
  std::size_t j = columns.first;
  for (; j + kStrip <= columns.last; j += kStrip) {
    std::int64_t count = 0;
    for (std::size_t k = 0; k < kStrip; ++k) count += is_large(j + k) ? 1 : 0;
    if (count == 0) continue;
    for (std::size_t k = 0; k < kStrip; ++k) {
      if (is_large(j + k)) take(j + k);
    }
  }
  for (; j < columns.last; ++j) {
    if (is_large(j)) take(j);
  }
}

/// A threshold that at least kKept entries of the row are above, if it has so many that are not 0. Of the greatest of
/// many subsets, the kKept largest are different entries.
double threshold_of(std::span<const double> row) {
  if (row.size() < 2 * kLanes) return 0;
  std::array<double, kLanes> greatest{};
  for (std::size_t j = 0; j + kLanes <= row.size(); j += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) greatest[k] = row[j + k] > greatest[k] ? row[j + k] : greatest[k];
  }
  std::nth_element(greatest.begin(), greatest.begin() + kKept - 1, greatest.end(), std::greater<>());
  return std::nextafter(greatest[kKept - 1], 0.0);
}

double sum_of(std::span<const double> numbers) {
  std::array<double, 4> sums{};
  std::size_t k = 0;
  for (; k + sums.size() <= numbers.size(); k += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += numbers[k + lane];
  }
  for (; k < numbers.size(); ++k) sums[0] += numbers[k];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// What a thread needs for a row.
struct Scratch {
  Candidates candidates;
  std::vector<double> sums;  // of the row up to the end of each strip
};

/// Adds kDrawn entries at equal distances in the sum of the row, from a random start, each of that weight.
void draw_from(std::span<const double> row, double least, Draws& draw, Scratch& scratch,
               std::vector<PlanEntry>& drawn) {
  std::vector<double>& sums = scratch.sums;
  sums.clear();
  double total = 0;
  for (std::size_t j = 0; j < row.size(); j += kStrip) {
    sums.push_back(total += sum_of(row.subspan(j, std::min(kStrip, row.size() - j))));
  }
  if (!(total > least && std::isfinite(total))) return;
  const double step = total / static_cast<double>(kDrawn);
  double at = step * draw();
  for (std::size_t s = 0; s < kDrawn; ++s, at += step) {
    const auto strip = static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end() - 1, at) - sums.begin());
    double sum = strip == 0 ? 0 : sums[strip - 1];
    std::size_t j = strip * kStrip;
    const std::size_t last = std::min(row.size(), j + kStrip) - 1;
    while (j < last && sum + row[j] <= at) sum += row[j++];
    if (row[j] > 0) drawn.push_back({static_cast<std::uint32_t>(j), step});
  }
}

/// Sorts entries and makes one of those at the same place.
template <class Combine>
void merge(std::vector<PlanEntry>& line, const Combine& combined) {
  std::sort(line.begin(), line.end(), [](const PlanEntry& x, const PlanEntry& y) { return x.at < y.at; });
  std::size_t count = 0;
  for (const PlanEntry& entry : line) {
    if (count > 0 && line[count - 1].at == entry.at) {
      line[count - 1].value = combined(line[count - 1].value, entry.value);
    } else {
      line[count++] = entry;
    }
  }
  line.resize(count);
}

/// P_ij = u_i K_ij x_j. Within row i the order is that of K_ij x_j, within column j that of u_i K_ij.
class Selection {
 public:
  Selection(std::vector<double> u, std::vector<double> x, int threads)
      : u_(std::move(u)),
        x_(std::move(x)),
        threads_(threads),
        rows_(u_.size()),
        columns_(x_.size()),
        thresholds_(x_.size()),
        sums_(x_.size()),
        scratch_(static_cast<std::size_t>(std::max(threads, 1))) {}

  [[nodiscard]] std::size_t columns() const { return x_.size(); }

  /// Rows of K, over all columns. They are overwritten.
  void sweep(Range rows, double* entries) {
    const std::size_t m = x_.size();
    parallel_chunks(threads_, (m + kColumnsEach - 1) / kColumnsEach, [&](std::size_t chunk, std::size_t) {
      const Range columns{chunk * kColumnsEach, std::min(m, (chunk + 1) * kColumnsEach)};
      for (std::size_t i = rows.first; i < rows.last; ++i) {
        look_at_columns(i, columns, entries + (i - rows.first) * m);
      }
    });
    parallel_chunks(threads_, rows.size(), [&](std::size_t chunk, std::size_t thread) {
      look_at_row(rows.first + chunk, {entries + chunk * m, m}, scratch_[thread]);
    });
  }

  [[nodiscard]] SparseRows end() {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      if (!(x_[j] > 0)) continue;
      for (const PlanEntry& entry : columns_[j].largest()) {
        rows_[entry.at].push_back({static_cast<std::uint32_t>(j), x_[j] * entry.value});
      }
    }
    SparseRows result;
    for (auto& row : rows_) {
      // What was drawn stands for other entries, too.
      merge(row, [](double x, double y) { return std::max(x, y); });
      result.entries.insert(result.entries.end(), row.begin(), row.end());
      result.ends.push_back(result.entries.size());
      row = {};
    }
    keep_sums_of_columns(result.entries);
    return result;
  }

 private:
  // Draws from rows hardly ever meet a column of little mass, whose largest entries may be a small part of it; and
  // where they do, they are much too large for it.
  void keep_sums_of_columns(std::vector<PlanEntry>& entries) const {
    std::vector<double> kept(sums_.size());
    for (const PlanEntry& entry : entries) kept[entry.at] += entry.value;
    for (PlanEntry& entry : entries) {
      if (kept[entry.at] > 0) entry.value *= x_[entry.at] * sums_[entry.at] / kept[entry.at];
    }
  }

  void look_at_columns(std::size_t i, Range columns, const double* row) {
    double* thresholds = thresholds_.data();
    const double u = u_[i];
    for (std::size_t j = columns.first; j < columns.last; ++j) sums_[j] += u * row[j];
    for_large(
        columns, [&](std::size_t j) { return u * row[j] > thresholds[j]; },
        [&](std::size_t j) {
          columns_[j].add({static_cast<std::uint32_t>(i), u * row[j]}, thresholds[j]);
        });
  }

  void look_at_row(std::size_t i, std::span<double> row, Scratch& scratch) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] *= x_[j];
    scratch.candidates.clear();
    double threshold = threshold_of(row);
    for_large(
        {0, row.size()}, [&](std::size_t j) { return row[j] > threshold; },
        [&](std::size_t j) {
          scratch.candidates.add({static_cast<std::uint32_t>(j), row[j]}, threshold);
        });
    const auto largest = scratch.candidates.largest();
    std::vector<PlanEntry>& line = rows_[i];
    line.assign(largest.begin(), largest.end());
    double kept = 0;
    for (const PlanEntry& entry : line) {
      kept += entry.value;
      row[entry.at] = 0;
    }
    Draws draw(i);
    draw_from(row, kLeastRest * kept, draw, scratch, line);
    merge(line, std::plus<>());
    for (PlanEntry& entry : line) entry.value *= u_[i];
  }

  std::vector<double> u_, x_;
  int threads_;
  std::vector<std::vector<PlanEntry>> rows_;
  std::vector<Candidates> columns_;
  std::vector<double> thresholds_;  // of the columns
  std::vector<double> sums_;        // of the columns, without x
  std::vector<Scratch> scratch_;    // one per thread
};

}  // namespace

SparseRows sparse_plan(KernelAccess& kernel, const ScaledPlan& plan, int threads) {
  std::vector<double> u(plan.row_scale.size());
  std::vector<double> x(plan.column_scale.size());
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = plan.row_scale[i] * plan.root_a[i];
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = plan.column_scale[j] * plan.root_c[j];
  Selection selection(kernel.held(u), kernel.all_columns(x), threads);
  const std::size_t m = selection.columns();
  const std::size_t at_once = std::max(kNumbersAtOnce / std::max(m, std::size_t{1}), kLeastRowsAtOnce);
  std::vector<double> entries(std::min(at_once, kernel.held_rows()) * m);
  for (std::size_t first = 0; first < kernel.held_rows(); first += at_once) {
    const Range rows{first, std::min(kernel.held_rows(), first + at_once)};
    kernel.copy_rows(rows.first, rows.size(), entries.data());
    selection.sweep(rows, entries.data());
  }
  return selection.end();
}

}  // namespace fedsinkhorn
