// A sparse matrix close to the plan, as a graph between rows and columns.
//
// It has the largest entries of every row and of every column: not those above a threshold, because the slow modes of
// Sinkhorn's iteration live in tiny entries that connect almost separate parts of the plan. What is left of a row is
// represented by some of its entries, drawn with probabilities proportional to them, of equal weight: wide rows keep
// their reach and all rows their sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "method/newton_system.hpp"

namespace fedsinkhorn {

/// An entry of a row or a column: the other index, and the entry of the plan.
struct PlanEntry {
  std::uint32_t at;
  double value;
};

/// Rows one after the other, each sorted by column.
struct SparseRows {
  std::vector<std::size_t> ends;
  std::vector<PlanEntry> entries;

  [[nodiscard]] std::size_t count() const { return ends.size(); }
  [[nodiscard]] std::span<const PlanEntry> row(std::size_t i) const {
    const std::size_t first = i == 0 ? 0 : ends[i - 1];
    return {entries.data() + first, ends[i] - first};
  }
};

/// Of the rows held here; the largest entries of a column are those among these rows. Goes over K once. Collective.
[[nodiscard]] SparseRows sparse_plan(KernelAccess& kernel, const ScaledPlan& plan, int threads);

}  // namespace fedsinkhorn
