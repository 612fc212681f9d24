// A sparse plan after its rows are eliminated: a graph on the columns.
#pragma once

#include <span>
#include <vector>

#include "method/sparse_plan.hpp"

namespace fedsinkhorn {

/// Approximately w_jk = sum_i T_ij T_ik / sum_l T_il for j < k, at position j * columns + k, sorted; few enough to be
/// sparse (see sampled_clique.hpp). Edges that are negligible in D^-1/2 w D^-1/2 are left out; root_c: D^1/2, of all
/// columns. Rows of different clients add up.
[[nodiscard]] std::vector<SparseEntry> edges_between_columns(const SparseRows& plan, std::span<const double> root_c,
                                                             int threads);

}  // namespace fedsinkhorn
