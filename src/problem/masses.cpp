#include "problem/masses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/exact_sum.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// This client's masses on one side: lines x targets.
std::vector<double> own_masses(std::span<const double> given, bool in_part, Range slice, std::size_t targets,
                               std::size_t all_lines) {
  if (given.empty() && !in_part) {
    return std::vector<double>(slice.size() * targets, 1.0 / static_cast<double>(all_lines));
  }
  const std::size_t first = in_part ? 0 : slice.first * targets;
  const auto begin = given.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(slice.size() * targets)};
}

/// Masses must be finite and not negative. numbered_from: what the first one is called.
ExactSum checked_sum(std::span<const double> masses, std::size_t target, std::size_t targets, std::size_t numbered_from,
                     const std::string& name, const std::string& column) {
  ExactSum sum;
  for (std::size_t i = 0; i < masses.size() / targets; ++i) {
    const double mass = masses[i * targets + target];
    if (std::isnan(mass) || std::isinf(mass)) {
      throw InputError(name, fmt::format("entry {}{} is {}", i + numbered_from, column, mass), "masses must be finite");
    }
    if (mass < 0) {
      throw InputError(name, fmt::format("entry {}{} is negative ({})", i + numbered_from, column, mass),
                       "masses must be 0 or more");
    }
    sum.add(mass);
  }
  return sum;
}

/// Every client's sums, added in the order of the clients.
std::vector<double> totals(const Collectives& clients, const std::vector<ExactSum>& own) {
  std::vector<double> numbers;
  for (const ExactSum& sum : own) numbers.insert(numbers.end(), {sum.value, sum.rest});
  const std::vector<double> all = clients.allgather_numbers(numbers);
  std::vector<double> result(own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    ExactSum sum;
    for (std::size_t client = 0; client < clients.size(); ++client) {
      const double* at = all.data() + (client * own.size() + k) * 2;
      (void)from_peer(clients, client).number(at[0], 0, std::numeric_limits<double>::infinity(), "a total mass");
      sum.add(ExactSum{at[0], at[1]});
    }
    result[k] = sum.total();
  }
  return result;
}

/// Which lines have mass, in the order they were given, and where each client's are among them.
void agree_on_active(const Collectives& clients, const std::vector<double>& masses, std::size_t targets, Side& side) {
  const std::size_t own = masses.size() / targets;
  std::string bits((own + 7) / 8, '\0');
  for (std::size_t i = 0; i < own; ++i) {
    const auto first = masses.begin() + static_cast<std::ptrdiff_t>(i * targets);
    const bool some =
        std::any_of(first, first + static_cast<std::ptrdiff_t>(targets), [](double mass) { return mass > 0; });
    if (some) bits[i / 8] = static_cast<char>(bits[i / 8] | (1 << (i % 8)));
  }
  // Everybody knows how many lines everybody has: no length is needed, and none can be wrong.
  std::vector<std::size_t> bytes;
  for (const Range& slice : side.given_slices) bytes.push_back((slice.size() + 7) / 8);
  const std::string all = clients.allgather_bytes(bits, bytes);
  std::vector<bool> has_mass(side.given);
  std::size_t first_byte = 0;
  for (std::size_t client = 0; client < bytes.size(); ++client) {
    const Range slice = side.given_slices[client];
    for (std::size_t i = 0; i < slice.size(); ++i) {
      has_mass[slice.first + i] = ((all[first_byte + i / 8] >> (i % 8)) & 1) != 0;
    }
    first_byte += bytes[client];
  }
  std::vector<std::size_t> active_before(side.given + 1);
  for (std::size_t i = 0; i < side.given; ++i) {
    active_before[i] = side.active.size();
    if (has_mass[i]) side.active.push_back(i);
  }
  active_before[side.given] = side.active.size();
  for (const Range& slice : side.given_slices) {
    side.slices.push_back({active_before[slice.first], active_before[slice.last]});
  }
}

}  // namespace

void agree_on_masses(const Collectives& clients, CheckedProblem& checked) {
  const Problem& problem = checked.input;
  const std::size_t targets = checked.targets;
  const Range own_rows = checked.rows.given_slices[checked.client];
  const Range own_columns = checked.columns.given_slices[checked.client];
  const std::vector<double> a = own_masses(problem.a, problem.parts.a, own_rows, 1, checked.rows.given);
  const std::vector<double> b = own_masses({problem.b.data, problem.b.rows * problem.b.columns}, problem.parts.b,
                                           own_columns, targets, checked.columns.given);
  const auto of_target = [&](std::size_t k) { return targets > 1 ? fmt::format(" of target {}", k) : std::string(); };

  std::vector<ExactSum> sums(1 + targets);
  agree(clients, [&] {
    sums[0] = checked_sum(a, 0, 1, problem.parts.a ? 0 : own_rows.first, problem.names.a, "");
    for (std::size_t k = 0; k < targets; ++k) {
      sums[1 + k] = checked_sum(b, k, targets, problem.parts.b ? 0 : own_columns.first, problem.names.b, of_target(k));
    }
  });
  const std::vector<double> total = totals(clients, sums);
  agree_on_active(clients, a, 1, checked.rows);
  agree_on_active(clients, b, targets, checked.columns);

  // From here on everybody looks at the same numbers and comes to the same conclusion; the names are client 0's.
  checked.mass = total[0];
  std::vector<double> scales(targets);
  agree(clients, [&] {
    const auto usable = [](double sum, const std::string& name, const std::string& where) {
      if (!(sum > 0)) throw InputError(name, "has no mass" + where, "at least one entry must be positive");
      if (std::isinf(sum)) throw InputError(name, "total mass" + where + " overflows", "scale the masses down");
    };
    usable(total[0], problem.names.a, "");
    for (std::size_t k = 0; k < targets; ++k) {
      usable(total[1 + k], problem.names.b, of_target(k));
      if (std::abs(total[1 + k] - total[0]) > problem.mass_tolerance * total[0]) {
        const std::string remedy =
            problem.a.empty() || problem.b.empty() ? "the side left out is uniform with total 1" : "scale them alike";
        throw InputError(problem.names.b,
                         fmt::format("total mass{} is {:.9g} but that of {} is {:.9g}", of_target(k), total[1 + k],
                                     problem.names.a, total[0]),
                         remedy);
      }
      // Totals that differ in the last digits would leave an error no iteration can remove.
      scales[k] = total[0] / total[1 + k];
      checked.mass_rescaled = std::max(checked.mass_rescaled, std::abs(scales[k] - 1));
    }
  });

  double least = std::numeric_limits<double>::infinity();
  for (const double mass : a) {
    if (mass > 0) checked.a.push_back(mass);
    if (mass > 0) least = std::min(least, mass);
  }
  const std::vector<double> all_least = clients.allgather_numbers({&least, 1});
  for (std::size_t k = 0; k < all_least.size(); ++k) {
    constexpr double smallest = std::numeric_limits<double>::denorm_min();
    const double said =
        from_peer(clients, k).number(all_least[k], smallest, std::numeric_limits<double>::infinity(), "a least mass");
    checked.least_mass = k == 0 ? said : std::min(checked.least_mass, said);
  }
  const Range active = checked.own_columns();
  checked.b.resize(targets * active.size());
  for (std::size_t k = 0; k < targets; ++k) {
    for (std::size_t j = 0; j < active.size(); ++j) {
      const std::size_t line = checked.columns.active[active.first + j] - own_columns.first;
      checked.b[k * active.size() + j] = b[line * targets + k] * scales[k];
    }
  }
}

}  // namespace fedsinkhorn
