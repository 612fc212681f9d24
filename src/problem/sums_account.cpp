#include "problem/sums_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "comm/agree.hpp"
#include "comm/secure_sums.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

namespace {

/// columns: those that count, where a row consists of costs.
std::size_t numbers_of_a_row(const CheckedProblem& problem, std::size_t columns) {
  const std::size_t dimension = problem.costs->shape().dimension;
  const bool are_masses_uniform = problem.input.a.empty() && !problem.input.parts.a;
  return (dimension > 0 ? dimension : columns) + (are_masses_uniform ? 0 : 1);
}

}  // namespace

SumsShape sums_shape(const CheckedProblem& problem) {
  SumsShape shape;
  for (const Range& slice : problem.rows.given_slices) shape.rows.push_back(slice.size());
  shape.columns = problem.columns.given;
  shape.targets = problem.targets;
  shape.numbers_of_a_row = numbers_of_a_row(problem, shape.columns);
  return shape;
}

std::uint64_t numbers_unknown(const SumsShape& shape, std::size_t client) {
  const std::uint64_t others = std::reduce(shape.rows.begin(), shape.rows.end(), std::uint64_t{0}) - shape.rows[client];
  return others * shape.numbers_of_a_row;
}

std::uint64_t numbers_unknown(const CheckedProblem& problem, std::size_t client) {
  const std::uint64_t own = problem.rows.active.size();
  std::uint64_t others = problem.rows.hidden;
  if (client != problem.client) {
    const std::uint64_t at_most_its_own = std::min(problem.rows.size(), problem.rows.given_slices[client].size());
    others = std::max(own, problem.rows.size() - at_most_its_own);
  }
  return others * numbers_of_a_row(problem, problem.columns.active.size());
}

std::uint64_t numbers_each_iteration(const SumsShape& shape, bool is_accelerated) {
  return shape.targets * (shape.columns + (is_accelerated ? 3 : 2));
}

// Bounds, for each target: a rebuild, two passes whose columns are added up once more in all digits, and a number here
// and there.
std::uint64_t numbers_at_the_end(const SumsShape& shape) { return shape.targets * (5 * shape.columns + 64) + 64; }

std::uint64_t numbers_at_least(const SumsShape& shape) {
  const std::uint64_t start = shape.targets * (3 * shape.columns + 32) + shape.columns / 16 + 32;
  return start + numbers_at_the_end(shape);
}

InputError too_few_sums(std::uint64_t limit, std::uint64_t at_least) {
  return {"`most_sums`",
          fmt::format("{} is too few: such a run may show {} numbers before it can end", limit, at_least),
          "give at least that"};
}

std::uint64_t agree_on_most_sums(const Collectives& clients, std::size_t own_limit, std::uint64_t at_least) {
  if (clients.sums() == nullptr) return 0;
  constexpr std::uint64_t none = std::uint64_t{1} << 53U;
  const auto own = static_cast<double>(own_limit == 0 ? none : std::min<std::uint64_t>(own_limit, none));
  const std::vector<double> limits = clients.of(Payload::shape).allgather_numbers({&own, 1});
  std::uint64_t least = none;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    least = std::min(least, from_peer(clients, k).count(limits[k], none, "a limit of sums"));
  }
  if (least == none) return 0;
  agree(clients, [&] {
    if (least >= at_least) return;
    throw too_few_sums(least, at_least);
  });
  clients.sums()->show_at_most(least);
  return least;
}

}  // namespace fedsinkhorn
