#include "method/truncated_plan.hpp"

#include <algorithm>
#include <utility>

#include "core/parallel.hpp"
#include "core/range.hpp"

namespace fedsinkhorn {
namespace {

/// Numbers copied from K at a time: few enough to stay in a cache between the two sweeps.
constexpr std::size_t kNumbersAtOnce = std::size_t{1} << 17U;
/// Columns that a thread sweeps at a time.
constexpr std::size_t kColumnsEach = 512;
/// Entries compared before looking whether one of them is large: without branches, several per instruction.
constexpr std::size_t kStrip = 16;
/// Largest entries of a row that are all connected with each other.
constexpr std::size_t kLargestClique = 64;
/// Damping adds at least 1e-15 to the diagonal.
constexpr double kNegligible = 1e-20;

bool is_larger(const PlanEntry& x, const PlanEntry& y) { return x.value > y.value || (x.value == y.value && x.at < y.at); }

/// The largest of the entries that come, in order of their index. Nearly all are turned away by one comparison with the
/// least one that counted when the list was last cut: none of them can be among the largest.
class Candidates {
 public:
  explicit Candidates(std::size_t keep) : keep_(keep) { entries_.reserve(2 * keep); }

  void add(PlanEntry entry, double& threshold) {
    entries_.push_back(entry);
    if (entries_.size() < 2 * keep_) return;
    std::nth_element(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(keep_) - 1, entries_.end(),
                     is_larger);
    entries_.resize(keep_);
    threshold = entries_.back().value;
  }
  [[nodiscard]] std::span<const PlanEntry> sorted() {
    std::sort(entries_.begin(), entries_.end(), is_larger);
    entries_.resize(std::min(entries_.size(), keep_));
    return entries_;
  }
  void clear() { entries_.clear(); }

 private:
  std::size_t keep_;
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

/// Some rows of K, row by row, over all columns.
struct Rows {
  const double* entries;
  Range range;
  std::size_t columns;
  [[nodiscard]] const double* row(std::size_t i) const { return entries + (i - range.first) * columns; }
};

/// P_ij = u_i K_ij x_j. Within row i the order is that of K_ij x_j, within column j that of u_i K_ij.
class Selection {
 public:
  Selection(std::vector<double> u, std::vector<double> x, std::size_t keep, int threads)
      : u_(std::move(u)),
        x_(std::move(x)),
        threads_(threads),
        found_{{u_.size(), keep}, {x_.size(), keep}},
        of_rows_(static_cast<std::size_t>(std::max(threads, 1)), Candidates(keep)),
        of_columns_(x_.size(), Candidates(keep)),
        thresholds_(x_.size()) {}

  void sweep_rows(const Rows& rows) {
    parallel_chunks(threads_, rows.range.size(), [&](std::size_t chunk, std::size_t thread) {
      const std::size_t i = rows.range.first + chunk;
      const double* row = rows.row(i);
      const double* x = x_.data();
      Candidates& candidates = of_rows_[thread];
      candidates.clear();
      double threshold = 0;
      for_large(
          {0, rows.columns}, [&](std::size_t j) { return row[j] * x[j] > threshold; },
          [&](std::size_t j) {
            candidates.add({static_cast<std::uint32_t>(j), row[j] * x[j]}, threshold);
          });
      found_.rows.set(i, candidates.sorted(), u_[i]);
    });
  }
  void sweep_columns(const Rows& rows) {
    const std::size_t chunks = (rows.columns + kColumnsEach - 1) / kColumnsEach;
    parallel_chunks(threads_, chunks, [&](std::size_t chunk, std::size_t) {
      const Range columns{chunk * kColumnsEach, std::min(rows.columns, (chunk + 1) * kColumnsEach)};
      double* thresholds = thresholds_.data();
      for (std::size_t i = rows.range.first; i < rows.range.last; ++i) {
        const double* row = rows.row(i);
        const double u = u_[i];
        for_large(
            columns, [&](std::size_t j) { return u * row[j] > thresholds[j]; },
            [&](std::size_t j) {
              of_columns_[j].add({static_cast<std::uint32_t>(i), u * row[j]}, thresholds[j]);
            });
      }
    });
  }
  [[nodiscard]] std::size_t columns() const { return x_.size(); }
  [[nodiscard]] LargestEntries end() {
    parallel_chunks(threads_, x_.size(), [&](std::size_t j, std::size_t) {
      if (x_[j] > 0) found_.columns.set(j, of_columns_[j].sorted(), x_[j]);
    });
    return std::move(found_);
  }

 private:
  std::vector<double> u_, x_;
  int threads_;
  LargestEntries found_;
  std::vector<Candidates> of_rows_;     // one per thread
  std::vector<Candidates> of_columns_;  // one per column
  std::vector<double> thresholds_;
};

/// T, row by row: entries sorted by column.
struct SparseRows {
  std::vector<std::size_t> first;  // of each row, and the end
  std::vector<PlanEntry> entries;
  [[nodiscard]] std::span<const PlanEntry> row(std::size_t i) const {
    return {entries.data() + first[i], first[i + 1] - first[i]};
  }
};

SparseRows truncated(const LargestEntries& largest, std::size_t keep) {
  const std::size_t rows = largest.rows.lines();
  const std::size_t columns = largest.columns.lines();
  std::vector<std::vector<PlanEntry>> lists(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto line = largest.rows.line(i);
    lists[i].assign(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(std::min(keep, line.size())));
  }
  for (std::size_t j = 0; j < columns; ++j) {
    const auto line = largest.columns.line(j);
    for (const PlanEntry& entry : line.first(std::min(keep, line.size()))) {
      lists[entry.at].push_back({static_cast<std::uint32_t>(j), entry.value});
    }
  }
  SparseRows result;
  result.first.push_back(0);
  for (auto& list : lists) {
    std::sort(list.begin(), list.end(), [](const PlanEntry& x, const PlanEntry& y) { return x.at < y.at; });
    const auto same = [](const PlanEntry& x, const PlanEntry& y) { return x.at == y.at; };
    list.erase(std::unique(list.begin(), list.end(), same), list.end());
    result.entries.insert(result.entries.end(), list.begin(), list.end());
    result.first.push_back(result.entries.size());
  }
  return result;
}

/// Column by column, for the edges from it to later columns.
class ColumnGraph {
 public:
  ColumnGraph(const LargestEntries& largest, std::size_t keep, std::span<const double> root_c)
      : root_c_(root_c), rows_(truncated(largest, keep)), of_column_(root_c.size()), stars_(root_c.size()) {
    for (std::size_t i = 0; i + 1 < rows_.first.size(); ++i) add_row(i);
  }

  /// Edges from j, sorted. weights: zeros, one per column, and again on return.
  [[nodiscard]] std::vector<SparseEntry> edges(std::size_t j, std::vector<double>& weights) const {
    std::vector<std::uint32_t> neighbours;
    const auto add = [&](std::size_t k, double weight) {
      if (weights[k] == 0) neighbours.push_back(static_cast<std::uint32_t>(k));
      weights[k] += weight;
    };
    for (const Member& member : of_column_[j]) {
      for (std::size_t at = member.at + 1; at < member.end; ++at) {
        add(rows_.entries[at].at, rows_.entries[at].value * member.share);
      }
    }
    for (const PlanEntry& edge : stars_[j]) add(edge.at, edge.value);
    std::sort(neighbours.begin(), neighbours.end());
    std::vector<SparseEntry> result;
    for (const std::uint32_t k : neighbours) {
      const double weight = std::exchange(weights[k], 0.0);
      if (weight > kNegligible * root_c_[j] * root_c_[k]) result.push_back({j * root_c_.size() + k, weight});
    }
    return result;
  }

 private:
  /// An entry T_ij among those of its row that are connected with each other: [at + 1, end) are those of later columns.
  struct Member {
    std::size_t at, end;
    double share;  // T_ij / sum_l T_il
  };

  void add_row(std::size_t i) {
    std::size_t end = rows_.first[i + 1];
    double sum = 0;
    for (const PlanEntry& entry : rows_.row(i)) sum += entry.value;
    if (!(sum > 0)) return;
    if (end - rows_.first[i] > kLargestClique) end = split(i, sum);
    for (std::size_t at = rows_.first[i]; at < end; ++at) {
      of_column_[rows_.entries[at].at].push_back({at, end, rows_.entries[at].value / sum});
    }
  }
  /// Connects what is beyond the largest entries of a row with the very largest. Returns where the others end.
  std::size_t split(std::size_t i, double sum) {
    const auto first = rows_.entries.begin() + static_cast<std::ptrdiff_t>(rows_.first[i]);
    const auto last = rows_.entries.begin() + static_cast<std::ptrdiff_t>(rows_.first[i + 1]);
    std::sort(first, last, is_larger);
    for (auto entry = first + kLargestClique; entry != last; ++entry) {
      const auto [from, to] = std::minmax(first->at, entry->at);
      stars_[from].push_back({to, entry->value * (sum - entry->value) / sum});
    }
    std::sort(first, first + kLargestClique, [](const PlanEntry& x, const PlanEntry& y) { return x.at < y.at; });
    return rows_.first[i] + kLargestClique;
  }

  std::span<const double> root_c_;
  SparseRows rows_;
  std::vector<std::vector<Member>> of_column_;
  std::vector<std::vector<PlanEntry>> stars_;
};

}  // namespace

LargestEntries largest_entries(KernelAccess& kernel, const ScaledPlan& plan, std::size_t keep, int threads) {
  std::vector<double> u(plan.row_scale.size());
  std::vector<double> x(plan.column_scale.size());
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = plan.row_scale[i] * plan.root_a[i];
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = plan.column_scale[j] * plan.root_c[j];
  Selection selection(kernel.held(u), kernel.all_columns(x), keep, threads);
  const std::size_t m = selection.columns();
  const std::size_t at_once = std::max(kNumbersAtOnce / std::max(m, std::size_t{1}), std::size_t{32});
  std::vector<double> entries(std::min(at_once, kernel.held_rows()) * m);
  for (std::size_t first = 0; first < kernel.held_rows(); first += at_once) {
    const Range range{first, std::min(kernel.held_rows(), first + at_once)};
    kernel.copy_rows(first, range.size(), entries.data());
    selection.sweep_rows({entries.data(), range, m});
    selection.sweep_columns({entries.data(), range, m});
  }
  return selection.end();
}

std::vector<SparseEntry> edges_between_columns(const LargestEntries& largest, std::size_t keep,
                                               std::span<const double> root_c, int threads) {
  const ColumnGraph graph(largest, keep, root_c);
  std::vector<std::vector<double>> weights(static_cast<std::size_t>(std::max(threads, 1)));
  std::vector<std::vector<SparseEntry>> of_columns(root_c.size());
  parallel_chunks(threads, root_c.size(), [&](std::size_t j, std::size_t thread) {
    weights[thread].resize(root_c.size());
    of_columns[j] = graph.edges(j, weights[thread]);
  });
  std::vector<SparseEntry> edges;
  for (auto& some : of_columns) {
    edges.insert(edges.end(), some.begin(), some.end());
    some = {};
  }
  return edges;
}

}  // namespace fedsinkhorn
