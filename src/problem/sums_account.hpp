// What secure sums show and what they leave unknown, in numbers, from options and sizes alone (docs/privacy.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/collectives.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Sizes that all clients know.
struct SumsShape {
  std::vector<std::size_t> rows;  ///< of each client
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t numbers_of_a_row = 0;  ///< that others do not know
};
/// A row's costs are unknown to others, or its coordinates where costs come from points; and its mass, unless masses
/// are uniform.
[[nodiscard]] SumsShape sums_shape(const CheckedProblem& problem);

/// Numbers in the other clients' rows.
[[nodiscard]] std::uint64_t numbers_unknown(const SumsShape& shape, std::size_t client);
/// The same without rows and columns that have no mass, of which sums tell nothing. Needs the masses. Of another client
/// at least, since its own rows may be without.
[[nodiscard]] std::uint64_t numbers_unknown(const CheckedProblem& problem, std::size_t client);
/// The least of those that is not 0: a client with all rows itself learns nothing.
template <class Shape>
[[nodiscard]] std::uint64_t least_unknown(const Shape& shape, std::size_t clients) {
  std::uint64_t least = 0;
  for (std::size_t k = 0; k < clients; ++k) {
    const std::uint64_t unknown = numbers_unknown(shape, k);
    if (unknown > 0 && (least == 0 || unknown < least)) least = unknown;
  }
  return least;
}
/// Numbers that an iteration shows: of each target the mass of every column, the error of the rows, the dual value and
/// flags. A product with the plan (Newton's method) shows a number for every column, and so does each Newton step.
[[nodiscard]] std::uint64_t numbers_each_iteration(const SumsShape& shape, bool is_accelerated);
/// Numbers that a solve may need to end: costs, errors, further passes over the plan.
[[nodiscard]] std::uint64_t numbers_at_the_end(const SumsShape& shape);
/// With those, the numbers that any solve may show: checks, the first iteration, the end.
[[nodiscard]] std::uint64_t numbers_at_least(const SumsShape& shape);

[[nodiscard]] InputError too_few_sums(std::uint64_t limit, std::uint64_t at_least);

/// Returns the smallest of all clients' limits (0: none) and sees to it that sums keep to it. Who iterates must lower
/// it meanwhile by what the end may need. Collective. Throws InputError if it is less than `at_least`.
[[nodiscard]] std::uint64_t agree_on_most_sums(const Collectives& clients, std::size_t own_limit,
                                               std::uint64_t at_least);

}  // namespace fedsinkhorn
