// The largest entries of the rows and columns of a plan, and the graph on the columns that they make.
//
// Not those above a threshold: the slow modes of Sinkhorn's iteration live in the tiny entries that connect almost
// separate parts of the plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "method/newton_system.hpp"

namespace fedsinkhorn {

/// An entry of a row or column: the other index, and the entry of the plan.
struct PlanEntry {
  std::uint32_t at;
  double value;
};

/// Per line (row or column) the largest entries, largest first; of equal ones that with the smaller index.
class LargestOfLines {
 public:
  LargestOfLines(std::size_t lines, std::size_t keep) : keep_(keep), counts_(lines), entries_(lines * keep) {}

  [[nodiscard]] std::size_t lines() const { return counts_.size(); }
  [[nodiscard]] std::span<const PlanEntry> line(std::size_t k) const {
    return {entries_.data() + k * keep_, counts_[k]};
  }
  /// largest: in their order, each to be multiplied by `scale`.
  void set(std::size_t k, std::span<const PlanEntry> largest, double scale) {
    counts_[k] = largest.size();
    for (std::size_t e = 0; e < largest.size(); ++e) {
      entries_[k * keep_ + e] = {largest[e].at, scale * largest[e].value};
    }
  }

 private:
  std::size_t keep_;
  std::vector<std::size_t> counts_;
  std::vector<PlanEntry> entries_;
};

/// Of the rows held here. Columns: their largest entries among these rows.
struct LargestEntries {
  LargestOfLines rows, columns;
};

/// Goes over the held rows once. Collective.
[[nodiscard]] LargestEntries largest_entries(KernelAccess& kernel, const ScaledPlan& plan, std::size_t keep,
                                             int threads);

/// The plan T of the `keep` largest entries of every line, after the rows are eliminated: the weights
/// w_jk = sum_i T_ij T_ik / sum_l T_il of the edges j < k of a graph on the columns, at position j * columns + k, sorted.
/// Those that are negligible in D^-1/2 w D^-1/2 are left out; root_c: D^1/2, of all columns.
///
/// A row with very many entries would connect all of their columns with each other. Those beyond its largest ones are
/// connected with the largest alone, which changes the graph's Laplacian by a matrix of low rank.
[[nodiscard]] std::vector<SparseEntry> edges_between_columns(const LargestEntries& largest, std::size_t keep,
                                                             std::span<const double> root_c, int threads);

}  // namespace fedsinkhorn
