// The size of the problem, and which client owns which rows and columns.
#pragma once

#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Needs the layout. Sets rows, columns (given and slices), targets, first_held_row, and the points y if they come in
/// parts. Throws the same on all clients.
void agree_on_shapes(const Options& options, const Collectives& clients, CheckedProblem& checked);

/// Slices of `count` lines in proportion to the weights, in order; empty weights: even.
[[nodiscard]] std::vector<Range> deal(std::size_t count, std::size_t clients, std::span<const double> weights);

}  // namespace fedsinkhorn
