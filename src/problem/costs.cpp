#include "problem/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/digest.hpp"
#include "cost/points_input.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// The part of the costs that this client checks: rows and columns as given, including those without mass.
struct Held {
  Range rows;
  Range columns;
};

Range given_range(const Side& side, const std::vector<std::size_t>& clients_in_order, Range slices) {
  if (slices.empty()) return {};
  return {side.given_slices[clients_in_order[slices.first]].first,
          side.given_slices[clients_in_order[slices.last - 1]].last};
}

std::vector<std::size_t> numbers_of(Range range) {
  std::vector<std::size_t> numbers(range.size());
  std::iota(numbers.begin(), numbers.end(), range.first);
  return numbers;
}

Held held_by(const CheckedProblem& checked) {
  return {given_range(checked.rows, numbers_of({0, checked.clients}), checked.layout.row_slices),
          given_range(checked.columns, checked.layout.column_clients, checked.layout.column_slices)};
}

// Sums of potentials and costs must be finite.
void check_range(const Problem& problem, double largest_cost) {
  constexpr double limit = 1e300;
  if (largest_cost > limit) {
    throw InputError(problem.names.cost, fmt::format("costs up to {:g} overflow when they are added", largest_cost),
                     "scale the costs and epsilon down");
  }
}

void check_ratio(const Problem& problem, double largest_cost) {
  if (largest_cost / problem.epsilon > kMostCostsPerEpsilon) {
    throw InputError(problem.names.epsilon,
                     fmt::format("{:g} is too small beside costs up to {:g}", problem.epsilon, largest_cost),
                     fmt::format("give at least {:g}", largest_cost / kMostCostsPerEpsilon));
  }
}

/// The largest of number `at` of every client, out of `stride` numbers per client. None is negative.
double greatest(const Collectives& clients, const std::vector<double>& all, std::size_t stride, std::size_t at,
                const char* what) {
  double result = 0;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    const double said =
        from_peer(clients, k).number(all[k * stride + at], 0, std::numeric_limits<double>::infinity(), what);
    result = std::max(result, said);
  }
  return result;
}

void agree_on_range(const Collectives& clients, const CheckedProblem& checked) {
  agree(clients, [&] {
    check_range(checked.input, checked.largest_cost);
    check_ratio(checked.input, checked.largest_cost);
  });
}

/// By secure sums: each client checks its own largest cost, and all learn the power of two above all of them.
void agree_on_bound(const Collectives& clients, double own, CheckedProblem& checked) {
  agree(clients, [&] {
    check_range(checked.input, own);
    check_ratio(checked.input, own);
  });
  checked.largest_cost = greatest_of_all(clients, own);
}

/// The reach of the points x and y that this client holds.
std::array<Reach, 2> own_reach(const CheckedProblem& checked) {
  const Held held = held_by(checked);
  if (held.rows.empty()) return {};
  const Range rows = {held.rows.first - checked.first_held_row, held.rows.last - checked.first_held_row};
  return checked.costs->points()->reach(rows, held.columns, checked.input.names);
}

void agree_on_reach(const Collectives& clients, CheckedProblem& checked) {
  std::array<Reach, 2> reach;
  agree(clients, [&] { reach = own_reach(checked); });
  if (clients.sums() != nullptr) {  // every client has all points y
    return agree_on_bound(clients, checked.costs->points()->largest_possible_cost(reach[0], reach[1]), checked);
  }
  const std::array<double, 4> mine = {reach[0].from_origin, reach[0].from_place, reach[1].from_origin,
                                      reach[1].from_place};
  const std::vector<double> all = clients.of(Payload::note).allgather_numbers(mine);
  const Reach x = {greatest(clients, all, 4, 0, "a length of points"),
                   greatest(clients, all, 4, 1, "a length of points")};
  const Reach y = {greatest(clients, all, 4, 2, "a length of points"),
                   greatest(clients, all, 4, 3, "a length of points")};
  // Only clients that hold points know the metric.
  const PointsInput* points = checked.costs->points();
  const double own = points == nullptr ? 0 : points->largest_possible_cost(x, y);
  checked.largest_cost =
      greatest(clients, clients.of(Payload::note).allgather_numbers({&own, 1}), 1, 0, "a largest cost");
  agree_on_range(clients, checked);
}

CostScan checked_scan(const CostBlock& block, const InputNames& names, const ScanSettings& settings) {
  const CostScan scan = block.costs->scan(block, settings);
  if (const auto& bad = scan.first_bad) {
    throw InputError(names.cost,
                     fmt::format("entry ({}, {}) is {}", bad->row - block.first_held, bad->column, bad->value),
                     "costs must be numbers, or +inf for a forbidden pair");
  }
  return scan;
}

void scan_own(const CheckedProblem& checked, const ScanSettings& settings, CostScan& scan) {
  const Held held = held_by(checked);
  scan = checked_scan({.costs = checked.costs,
                       .rows = numbers_of(held.rows),
                       .columns = numbers_of(held.columns),
                       .first_held = checked.first_held_row,
                       .all_rows = checked.rows.given,
                       .all_columns = checked.columns.given},
                      checked.input.names, settings);
}

bool are_equal(const Collectives& clients, const Fingerprint& own) {
  const std::array<double, 2> prints = {std::bit_cast<double>(own.straight), std::bit_cast<double>(own.transposed)};
  const std::vector<double> everyone = clients.of(Payload::note).allgather_numbers(prints);
  std::uint64_t difference = 0;
  for (std::size_t k = 0; k < everyone.size(); k += 2) {
    difference += std::bit_cast<std::uint64_t>(everyone[k]) - std::bit_cast<std::uint64_t>(everyone[k + 1]);
  }
  return difference == 0;
}

// A client that holds only its rows has its columns only if the costs are symmetric.
void require_symmetry(const CheckedProblem& checked, bool may_be_symmetric) {
  if (checked.symmetric_cost) return;
  const Problem& problem = checked.input;
  if (!may_be_symmetric) {
    throw InputError(
        problem.parts.b           ? problem.names.b
        : problem.parts.initial_g ? problem.names.initial_g
                                  : problem.names.cost,
        "gives clients other columns than rows, but all-to-all and async with costs in parts need the same",
        "use `topology` row-reduce, which needs only rows");
  }
  throw InputError(problem.names.cost,
                   "is given in parts and is not symmetric, but all-to-all and async need its columns",
                   "use `topology` row-reduce, which needs only rows");
}

}  // namespace

void agree_on_costs(const Collectives& clients, int threads, const cpu::Simd& simd, const StopRequest& stop,
                    CheckedProblem& checked) {
  if (checked.costs_from_points) {
    agree_on_reach(clients, checked);
    return;
  }
  const bool may_be_symmetric =
      checked.layout.whole_columns && checked.clients > 1 && checked.rows.given_slices == checked.columns.given_slices;
  CostScan scan;
  std::optional<std::uint64_t> seed;
  if (may_be_symmetric) seed = digest_of(clients.digest_key(), "symmetric costs", {})[0];
  agree(clients, [&] { scan_own(checked, {seed, threads, simd, stop}, scan); });
  if (clients.sums() != nullptr) {
    std::vector<bool> has_forbidden = {scan.has_forbidden};
    any_of_all(clients, has_forbidden);
    checked.has_forbidden_pairs = has_forbidden[0];
    return agree_on_bound(clients, scan.largest, checked);
  }
  const std::array<double, 2> mine = {scan.largest, scan.has_forbidden ? 1.0 : 0.0};
  const std::vector<double> all = clients.of(Payload::note).allgather_numbers(mine);
  checked.largest_cost = greatest(clients, all, 2, 0, "a largest cost");
  checked.has_forbidden_pairs = greatest(clients, all, 2, 1, "a yes or no") > 0;
  agree_on_range(clients, checked);
  if (may_be_symmetric) checked.symmetric_cost = are_equal(clients, scan.fingerprint);
  if (checked.layout.whole_columns && checked.input.parts.rows && checked.clients > 1) {
    agree(clients, [&] { require_symmetry(checked, may_be_symmetric); });
  }
}

void check_own_costs(int threads, const cpu::Simd& simd, const StopRequest& stop, CheckedProblem& checked) {
  if (!checked.costs_from_points) {
    CostScan scan;
    scan_own(checked, {{}, threads, simd, stop}, scan);
    checked.largest_cost = scan.largest;
    checked.has_forbidden_pairs = scan.has_forbidden;
  } else if (!held_by(checked).rows.empty()) {
    const std::array<Reach, 2> reach = own_reach(checked);
    checked.largest_cost = checked.costs->points()->largest_possible_cost(reach[0], reach[1]);
  }
  check_range(checked.input, checked.largest_cost);
  check_ratio(checked.input, checked.largest_cost);
}

void check_costs(const Problem& problem, int threads, const cpu::Simd& simd) {
  const std::shared_ptr<const CostInput> costs = make_cost_input(problem.cost);
  const auto [rows, columns, dimension, bytes] = costs->shape();
  double largest = 0;
  if (const PointsInput* points = costs->points()) {
    const auto [x, y] = points->reach({0, rows}, {0, columns}, problem.names);
    largest = points->largest_possible_cost(x, y);
  } else {
    const StopRequest no_stop;
    const CostBlock all = {.costs = costs,
                           .rows = numbers_of({0, rows}),
                           .columns = numbers_of({0, columns}),
                           .all_rows = rows,
                           .all_columns = columns};
    largest = checked_scan(all, problem.names, {{}, threads, simd, no_stop}).largest;
  }
  check_range(problem, largest);
  check_ratio(problem, largest);
}

}  // namespace fedsinkhorn
