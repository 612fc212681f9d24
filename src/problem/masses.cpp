#include "problem/masses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "comm/agreement.hpp"
#include "comm/secure_sums.hpp"
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

std::string of_target(std::size_t k, std::size_t targets) {
  return targets > 1 ? fmt::format(" of target {}", k) : std::string();
}

/// Masses must be finite and not negative. numbered_from: the number of the first one in messages.
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

/// This client's a and b, lines x targets, and the sums over their lines.
struct OwnMasses {
  std::vector<double> a;
  std::vector<double> b;
  std::vector<ExactSum> sums;  // of a, then of each target
};

bool is_near_one(double total) { return total >= 0.5 && total < 2; }

/// Powers of two are exact: no digit of a mass is lost, and masses of ordinary size do not change. least: the least
/// positive mass. It stays a normal number, even if the total is then further from 1.
int exponent_to_take_out(const Problem& problem, double total, double least) {
  if (is_near_one(total)) return 0;
  const int wanted = std::ilogb(total);  // what is left is in [1, 2)
  constexpr int kLeast = -1000;
  const int exponent = wanted > 0 ? std::clamp(std::ilogb(least) - kLeast, 0, wanted) : wanted;
  constexpr int kMost = 500;
  if (wanted - exponent > kMost) {
    throw InputError(problem.names.a,
                     fmt::format("a total mass of {:g} beside one of {:g} is too far apart", total, least),
                     "set masses to 0 that are so small");
  }
  return exponent;
}

/// Over all clients.
double least_positive(const Collectives& clients, std::span<const double> own) {
  double least = std::numeric_limits<double>::infinity();
  for (const double mass : own) {
    if (mass > 0) least = std::min(least, mass);
  }
  if (clients.sums() != nullptr) {  // down to a power of two
    return 1 / greatest_of_all(clients, 1 / std::max(least, std::numeric_limits<double>::min()));
  }
  const std::vector<double> all = clients.of(Payload::note).allgather_numbers({&least, 1});
  for (std::size_t k = 0; k < all.size(); ++k) {
    least = std::min(least, from_peer(clients, k)
                                .number(all[k], std::numeric_limits<double>::denorm_min(),
                                        std::numeric_limits<double>::infinity(), "a least mass"));
  }
  return least;
}

/// The sums of all clients, added in client order.
std::vector<double> totals(const Collectives& clients, const std::vector<ExactSum>& own) {
  if (clients.sums() != nullptr) {
    std::vector<ExactSum> sums = own;
    add_up_of_all(clients, sums);
    std::vector<double> result(sums.size());
    std::ranges::transform(sums, result.begin(), [](const ExactSum& sum) { return sum.total(); });
    return result;
  }
  std::vector<double> numbers;
  for (const ExactSum& sum : own) numbers.insert(numbers.end(), {sum.value, sum.rest});
  const std::vector<double> all = clients.of(Payload::sum).allgather_numbers(numbers);
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

/// The texts of all clients, masked on the way. bytes: the length of each.
std::string gather_known_bytes(SecureSums& sums, const std::string& own, std::span<const std::size_t> bytes) {
  std::size_t first = 0;
  for (std::size_t k = 0; k < sums.rank(); ++k) first += bytes[k];
  std::string all(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}), '\0');
  all.replace(first, own.size(), own);
  sums.gather(Payload::slice, std::as_writable_bytes(std::span(all)), {first, first + own.size()});
  return all;
}

/// Finds the lines with mass, in the given order, and each client's slice of them.
void agree_on_active(const Collectives& clients, const std::vector<double>& masses, std::size_t targets, Side& side) {
  const std::size_t own = masses.size() / targets;
  std::string bits((own + 7) / 8, '\0');
  for (std::size_t i = 0; i < own; ++i) {
    const auto first = masses.begin() + static_cast<std::ptrdiff_t>(i * targets);
    const bool some =
        std::any_of(first, first + static_cast<std::ptrdiff_t>(targets), [](double mass) { return mass > 0; });
    if (some) bits[i / 8] = static_cast<char>(bits[i / 8] | (1 << (i % 8)));
  }
  // All clients know how many lines each client has: no length is sent, so none can be wrong.
  std::vector<std::size_t> bytes;
  for (const Range& slice : side.given_slices) bytes.push_back((slice.size() + 7) / 8);
  const std::string all = clients.sums() == nullptr ? clients.of(Payload::shape).allgather_bytes(bits, bytes)
                                                    : gather_known_bytes(*clients.sums(), bits, bytes);
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

/// The same where clients keep to themselves which of their lines have mass.
void agree_on_number_of_active(const Collectives& clients, const std::vector<double>& masses, Side& side) {
  const Range own = side.given_slices[clients.rank()];
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (masses[i] > 0) side.active.push_back(own.first + i);
  }
  ExactSum count{static_cast<double>(side.active.size()), 0};
  add_up_of_all(clients, {&count, 1});
  side.hidden = static_cast<std::size_t>(count.total()) - side.active.size();
  side.slices.assign(clients.size(), {});
  side.slices[clients.rank()] = {0, side.active.size()};
}

void require_usable(const Problem& problem, std::span<const double> totals) {
  const auto check = [](double total, const std::string& name, const std::string& where) {
    if (!(total > 0)) throw InputError(name, "has no mass" + where, "at least one entry must be positive");
    if (std::isinf(total)) throw InputError(name, "total mass" + where + " overflows", "scale the masses down");
  };
  check(totals[0], problem.names.a, "");
  for (std::size_t k = 1; k < totals.size(); ++k)
    check(totals[k], problem.names.b, of_target(k - 1, totals.size() - 1));
}

/// total_a / total_b per target, which is 1 up to rounding.
std::vector<double> matching_factors(const Problem& problem, std::span<const double> totals, int exponent,
                                     double tolerance) {
  const std::size_t targets = totals.size() - 1;
  const double total_a = std::ldexp(totals[0], -exponent);
  std::vector<double> factors(targets);
  for (std::size_t k = 0; k < targets; ++k) {
    const double total_b = std::ldexp(totals[1 + k], -exponent);
    if (std::abs(total_b - total_a) > tolerance * total_a) {
      const std::string remedy = problem.a.empty() || problem.b.empty() ? "the side left out is uniform with total 1"
                                                                        : "scale them alike, or add `normalize`";
      throw InputError(problem.names.b,
                       fmt::format("total mass{} is {:.9g} but that of {} is {:.9g}", of_target(k, targets),
                                   totals[1 + k], problem.names.a, totals[0]),
                       remedy);
    }
    // Totals that differ in the last digits would leave an error no iteration can remove.
    factors[k] = total_a / total_b;
  }
  return factors;
}

/// Divides a and every target of b by its total.
void normalize(std::span<const double> totals, OwnMasses& own) {
  const std::size_t targets = totals.size() - 1;
  for (ExactSum& sum : own.sums) sum = {};
  for (double& mass : own.a) own.sums[0].add(mass /= totals[0]);
  for (std::size_t i = 0; i < own.b.size(); ++i) {
    const std::size_t k = 1 + i % targets;
    own.sums[k].add(own.b[i] /= totals[k]);
  }
}

}  // namespace

void agree_on_masses(const Collectives& clients, bool to_total_one, CheckedProblem& checked) {
  const Problem& problem = checked.input;
  const std::size_t targets = checked.targets;
  const Range own_rows = checked.rows.given_slices[checked.client];
  const Range own_columns = checked.columns.given_slices[checked.client];
  OwnMasses own{own_masses(problem.a, problem.parts.a, own_rows, 1, checked.rows.given),
                own_masses({problem.b.data, problem.b.rows * problem.b.columns}, problem.parts.b, own_columns, targets,
                           checked.columns.given),
                std::vector<ExactSum>(1 + targets)};
  agree(clients, [&] {
    own.sums[0] = checked_sum(own.a, 0, 1, problem.parts.a ? 0 : own_rows.first, problem.names.a, "");
    for (std::size_t k = 0; k < targets; ++k) {
      own.sums[1 + k] = checked_sum(own.b, k, targets, problem.parts.b ? 0 : own_columns.first, problem.names.b,
                                    of_target(k, targets));
    }
  });
  std::vector<double> total = totals(clients, own.sums);
  // From here on all clients see the same totals and reach the same conclusion; the names are client 0's.
  if (to_total_one) {
    agree(clients, [&] { require_usable(problem, total); });
    normalize(total, own);
    total = totals(clients, own.sums);
  }
  if (clients.sums() != nullptr) {
    agree_on_number_of_active(clients, own.a, checked.rows);
  } else {
    agree_on_active(clients, own.a, 1, checked.rows);
  }
  agree_on_active(clients, own.b, targets, checked.columns);
  const double least_a = least_positive(clients, own.a);
  const double least = is_near_one(total[0]) ? least_a : std::min(least_a, least_positive(clients, own.b));
  // It depends on the type of the numbers alone.
  const std::vector<double> tolerances = clients.of(Payload::shape).allgather_numbers({&problem.mass_tolerance, 1});
  for (std::size_t k = 0; k < tolerances.size(); ++k) {
    checked.mass_tolerance =
        std::max(checked.mass_tolerance, from_peer(clients, k).number(tolerances[k], 0, 1, "a tolerance of masses"));
  }
  std::vector<double> factors;
  agree(clients, [&] {
    require_usable(problem, total);
    checked.mass_exponent = exponent_to_take_out(problem, total[0], least);
    factors = matching_factors(problem, total, checked.mass_exponent, checked.mass_tolerance);
  });
  checked.mass = std::ldexp(total[0], -checked.mass_exponent);
  for (const double factor : factors) checked.mass_rescaled = std::max(checked.mass_rescaled, std::abs(factor - 1));

  checked.least_mass = std::ldexp(least_a, -checked.mass_exponent);

  for (const double mass : own.a) {
    if (mass > 0) checked.a.push_back(std::ldexp(mass, -checked.mass_exponent));
  }
  const Range active = checked.own_columns();
  checked.b.resize(targets * active.size());
  for (std::size_t k = 0; k < targets; ++k) {
    for (std::size_t j = 0; j < active.size(); ++j) {
      const std::size_t line = checked.columns.active[active.first + j] - own_columns.first;
      checked.b[k * active.size() + j] = std::ldexp(own.b[line * targets + k], -checked.mass_exponent) * factors[k];
    }
  }
}

namespace {

void keep_all_lines(Side& side) {
  side.slices = side.given_slices;
  side.active.resize(side.given);
  std::iota(side.active.begin(), side.active.end(), std::size_t{0});
}

/// Those of other clients are theirs.
void keep_own_lines(std::size_t client, Side& side) {
  const Range own = side.given_slices[client];
  side.active.resize(own.size());
  std::iota(side.active.begin(), side.active.end(), own.first);
  side.hidden = side.given - own.size();
  side.slices.assign(side.given_slices.size(), {});
  side.slices[client] = {0, own.size()};
}

/// b: columns x targets, all of them.
void take_public_columns(const std::vector<double>& b, std::span<const ExactSum> sums, CheckedProblem& checked) {
  const std::size_t targets = checked.targets;
  for (std::size_t k = 0; k < targets; ++k) {
    const double total = sums[k].total();
    if (std::abs(total - 1) <= checked.input.mass_tolerance) continue;
    throw InputError(checked.input.names.b, fmt::format("total mass{} is {:.9g}", of_target(k, targets), total),
                     "with policy private, masses must add up to 1");
  }
  Side& columns = checked.columns;
  for (std::size_t j = 0; j < columns.given; ++j) {
    const auto first = b.begin() + static_cast<std::ptrdiff_t>(j * targets);
    if (std::any_of(first, first + static_cast<std::ptrdiff_t>(targets), [](double mass) { return mass > 0; })) {
      columns.active.push_back(j);
    }
  }
  columns.slices.assign(columns.given_slices.size(), {0, columns.active.size()});
  checked.b.resize(targets * columns.active.size());
  for (std::size_t k = 0; k < targets; ++k) {
    for (std::size_t j = 0; j < columns.active.size(); ++j) {
      checked.b[k * columns.active.size() + j] = b[columns.active[j] * targets + k] / sums[k].total();
    }
  }
}

}  // namespace

void keep_own_masses(bool public_columns, CheckedProblem& checked) {
  const Problem& problem = checked.input;
  const std::size_t targets = checked.targets;
  const Range rows = checked.rows.given_slices[checked.client];
  const Range columns = public_columns ? Range{0, checked.columns.given} : checked.columns.given_slices[checked.client];
  checked.a = own_masses(problem.a, problem.parts.a, rows, 1, checked.rows.given);
  const std::vector<double> b = own_masses({problem.b.data, problem.b.rows * problem.b.columns}, problem.parts.b,
                                           columns, targets, checked.columns.given);
  (void)checked_sum(checked.a, 0, 1, problem.parts.a ? 0 : rows.first, problem.names.a, "");
  std::vector<ExactSum> sums;
  for (std::size_t k = 0; k < targets; ++k) {
    sums.push_back(
        checked_sum(b, k, targets, problem.parts.b ? 0 : columns.first, problem.names.b, of_target(k, targets)));
  }
  if (public_columns) {
    keep_own_lines(checked.client, checked.rows);
    return take_public_columns(b, sums, checked);
  }
  keep_all_lines(checked.rows);
  keep_all_lines(checked.columns);
  checked.b.resize(b.size());
  for (std::size_t k = 0; k < targets; ++k) {
    for (std::size_t j = 0; j < columns.size(); ++j) checked.b[k * columns.size() + j] = b[j * targets + k];
  }
}

}  // namespace fedsinkhorn
