#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "comm/agreement.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/costs.hpp"
#include "problem/feasibility.hpp"

namespace fedsinkhorn {
namespace {

/// The block of active rows and columns a client holds.
struct Block {
  Range rows;
  Range columns;
  [[nodiscard]] std::size_t words() const {
    return rows.size() * ((columns.size() + PairSet::kWordBits - 1) / PairSet::kWordBits);
  }
};

Block block_of(const CheckedProblem& checked, const Layout& layout) {
  if (layout.row_slices.empty() || layout.column_slices.empty()) return {};
  const std::vector<Range>& columns = checked.columns.slices;
  return {{checked.rows.slices[layout.row_slices.first].first, checked.rows.slices[layout.row_slices.last - 1].last},
          {columns[layout.column_clients[layout.column_slices.first]].first,
           columns[layout.column_clients[layout.column_slices.last - 1]].last}};
}

std::vector<std::uint64_t> words_of(const PairSet& pairs) {
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < pairs.rows(); ++i) words.insert(words.end(), pairs.row(i).begin(), pairs.row(i).end());
  return words;
}

/// words: the pairs a client allows in its block, row by row.
void allow(const FromPeer& peer, std::span<const std::uint64_t> words, const Block& block, PairSet& all) {
  const std::size_t stride = block.words() / block.rows.size();
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    for (std::size_t w = 0; w < stride; ++w) {
      for_each_bit(words[i * stride + w], w, [&](std::size_t j) {
        if (j >= block.columns.size()) peer.refuse("an allowed pair beyond its columns");
        all.allow(block.rows.first + i, block.columns.first + j);
      });
    }
  }
}

constexpr Label kPairs{Tag::slice, Payload::slice};

/// All allowed pairs at client 0; nothing elsewhere.
std::optional<PairSet> gather_pairs(const Collectives& clients, const LayoutOf& layout_of,
                                    const CheckedProblem& checked) {
  const Block own = block_of(checked, checked.layout);
  const PairSet mine =
      own.words() == 0 ? PairSet(0, 0) : allowed_pairs(*make_cost_source(checked.block(), cpu::simd("auto")));
  Communicator& communicator = clients.communicator();
  std::optional<PairSet> all;
  if (clients.rank() == 0) all.emplace(checked.rows.size(), checked.columns.size());
  if (!all) {
    const std::vector<std::uint64_t> words = words_of(mine);
    if (own.words() > 0) communicator.send(std::as_bytes(std::span(words)), 0, kPairs);
    return all;
  }
  for (std::size_t client = 0; client < clients.size(); ++client) {
    const Block block = block_of(checked, layout_of(client));
    if (block.words() == 0) continue;
    const bool is_own = client == clients.rank();
    std::vector<std::uint64_t> words = is_own ? words_of(mine) : std::vector<std::uint64_t>(block.words());
    if (!is_own) communicator.receive(std::as_writable_bytes(std::span(words)), client, kPairs);
    allow(from_peer(clients, client), words, block, *all);
  }
  return all;
}

/// The masses of all clients at client 0.
struct AllMasses {
  std::vector<double> a;
  std::vector<double> b;  // targets x columns
};

/// masses: client by client. Their owners have checked them, so an invalid mass means a bad message.
void require_masses(const Collectives& clients, std::span<const std::size_t> counts, std::span<const double> masses) {
  for (std::size_t k = 0; k < counts.size(); ++k) {
    for (const double mass : masses.first(counts[k])) {
      (void)from_peer(clients, k).number(mass, 0, std::numeric_limits<double>::max(), "a mass");
    }
    masses = masses.subspan(counts[k]);
  }
}

AllMasses gather_masses(const Collectives& clients, const CheckedProblem& checked) {
  AllMasses all;
  const bool root = clients.rank() == 0;
  if (root) all.a.resize(checked.rows.size());
  if (root) all.b.resize(checked.targets * checked.columns.size());
  std::vector<std::size_t> counts;
  for (const Range& slice : checked.rows.slices) counts.push_back(slice.size());
  clients.of(Payload::slice).gather(checked.a, counts, all.a, 0);
  if (root) require_masses(clients, counts, all.a);
  for (std::size_t k = 0; k < checked.targets; ++k) {
    // Column slices need not be in client order.
    std::vector<double> slices(root ? checked.columns.size() : 0);
    counts.clear();
    for (const Range& slice : checked.columns.slices) counts.push_back(slice.size());
    clients.of(Payload::slice).gather({checked.target(k), checked.m()}, counts, slices, 0);
    if (!root) continue;
    require_masses(clients, counts, slices);
    const double* from = slices.data();
    for (const Range& slice : checked.columns.slices) {
      std::copy_n(from, slice.size(), all.b.data() + k * checked.columns.size() + slice.first);
      from += slice.size();
    }
  }
  return all;
}

[[noreturn]] void refuse_line(const CheckedProblem& checked, const char* line, std::size_t index) {
  throw InputError(checked.input.names.cost,
                   fmt::format("no plan exists: {} {} has mass but all its pairs are forbidden", line, index),
                   "allow more pairs or move mass");
}

// Without an allowed pair that has mass, no scaling exists: this is refused even if nothing else is checked. b: only
// columns with mass count; if null, all active ones do.
void check_no_line_is_forbidden(const PairSet& pairs, const CheckedProblem& checked, const double* b) {
  std::vector<bool> column_allowed(pairs.columns());
  for (std::size_t i = 0; i < pairs.rows(); ++i) {
    bool row_allowed = false;
    for (std::size_t j = 0; j < pairs.columns(); ++j) {
      if ((b == nullptr || b[j] > 0) && pairs.allowed(i, j)) {
        row_allowed = true;
        column_allowed[j] = true;
      }
    }
    if (!row_allowed) refuse_line(checked, "row", checked.rows.active[i]);
  }
  for (std::size_t j = 0; j < pairs.columns(); ++j) {
    if ((b == nullptr || b[j] > 0) && !column_allowed[j]) refuse_line(checked, "column", checked.columns.active[j]);
  }
}

/// The columns where one target has mass, and their pairs. Other targets may have mass in more columns.
struct UsedColumns {
  std::vector<std::size_t> positions;  ///< among the active ones
  std::vector<std::size_t> names;      ///< as given
  std::vector<double> masses;
  std::optional<PairSet> fewer_pairs;  ///< unless all columns are used

  [[nodiscard]] const PairSet& pairs_of(const PairSet& all) const { return fewer_pairs ? *fewer_pairs : all; }
};

UsedColumns used_columns(const PairSet& pairs, const CheckedProblem& checked, const double* b) {
  UsedColumns used;
  for (std::size_t j = 0; j < pairs.columns(); ++j) {
    if (!(b[j] > 0)) continue;
    used.positions.push_back(j);
    used.names.push_back(checked.columns.active[j]);
    used.masses.push_back(b[j]);
  }
  if (used.positions.size() == pairs.columns()) return used;
  used.fewer_pairs.emplace(pairs.rows(), used.positions.size());
  for (std::size_t j = 0; j < used.positions.size(); ++j) {
    for (std::size_t i = 0; i < pairs.rows(); ++i) {
      if (pairs.allowed(i, used.positions[j])) used.fewer_pairs->allow(i, j);
    }
  }
  return used;
}

/// The fraction of the total mass that may stay unplaced, unless masses are rounded to fewer digits.
constexpr double kUnplaced = 1e-9;

void check_feasible(const PairSet& pairs, const UsedColumns& used, const CheckedProblem& checked,
                    std::span<const double> a, std::size_t target, double tolerance, const StopRequest& stop) {
  if (std::optional<Shortfall> shortfall = find_shortfall(pairs, a, used.masses, tolerance, stop)) {
    shortfall->row_mass = checked.as_given(shortfall->row_mass);
    shortfall->column_mass = checked.as_given(shortfall->column_mass);
    const std::string which = checked.targets > 1 ? fmt::format("target {}: ", target) : "";
    throw InputError(checked.input.names.cost,
                     "no plan exists: " + which + describe(*shortfall, checked.rows.active, used.names),
                     "allow more pairs or move mass");
  }
}

/// Checks one target. Returns the factors for its masses, one per active column.
std::vector<double> fit_target(const PairSet& pairs, const CheckedProblem& checked, const AllMasses& masses,
                               std::size_t target, Feasibility feasibility, const StopRequest& stop) {
  const double* b = masses.b.data() + target * pairs.columns();
  if (feasibility == Feasibility::skip) check_no_line_is_forbidden(pairs, checked, b);
  UsedColumns used = used_columns(pairs, checked, b);
  const PairSet& its_pairs = used.pairs_of(pairs);
  const auto factors = balancing_factors(its_pairs, masses.a, used.masses, checked.mass_tolerance);
  std::vector<double> result(pairs.columns(), 1.0);
  for (std::size_t j = 0; factors && j < used.positions.size(); ++j) {
    used.masses[j] *= (*factors)[j];
    result[used.positions[j]] = (*factors)[j];
  }
  if (feasibility == Feasibility::check) {
    // The flow may miss what is attributed to rounding of the masses. If a component is off by more than that, its
    // masses do not fit, however small they are compared with the total.
    check_feasible(its_pairs, used, checked, masses.a, target,
                   factors ? std::max(kUnplaced, checked.mass_tolerance) : kUnplaced, stop);
  }
  return result;
}

/// factors: targets x active columns, at client 0.
void scale_columns(const Collectives& clients, std::vector<double> factors, CheckedProblem& checked) {
  double largest = 0;
  for (const double factor : factors) largest = std::max(largest, std::abs(factor - 1));
  clients.of(Payload::note).broadcast(std::as_writable_bytes(std::span(&largest, 1)), 0);
  const FromPeer from_first = from_peer(clients, 0);
  constexpr double most = std::numeric_limits<double>::max();
  if (from_first.number(largest, 0, most, "a change of masses") == 0) return;
  factors.resize(checked.targets * checked.columns.size());
  clients.of(Payload::slice).broadcast(std::as_writable_bytes(std::span(factors)), 0);
  for (const double factor : factors) (void)from_first.number(factor, 0, most, "a factor of a mass");
  const Range own = checked.own_columns();
  for (std::size_t k = 0; k < checked.targets; ++k) {
    const double* of_target = factors.data() + k * checked.columns.size() + own.first;
    for (std::size_t j = 0; j < own.size(); ++j) checked.b[k * own.size() + j] *= of_target[j];
  }
  checked.mass_rescaled = std::max(checked.mass_rescaled, largest);
}

/// Where clients keep their pairs to themselves: each checks its rows, and all together learn of which columns some row
/// can take mass. They do so even if no pair is forbidden: the number of messages must not tell.
void agree_that_no_line_is_forbidden(const Collectives& clients, const StopRequest& stop,
                                     const CheckedProblem& checked) {
  std::vector<bool> column_allowed(checked.columns.size());
  agree(clients, [&] {
    stop.throw_if_made();
    if (checked.n() == 0) return;
    if (!checked.has_forbidden_pairs) return column_allowed.assign(column_allowed.size(), true);
    const PairSet pairs = allowed_pairs(*make_cost_source(checked.block(), cpu::simd("auto")));
    for (std::size_t i = 0; i < pairs.rows(); ++i) {
      bool row_allowed = false;
      for (std::size_t j = 0; j < pairs.columns(); ++j) {
        if (!pairs.allowed(i, j)) continue;
        row_allowed = true;
        column_allowed[j] = true;
      }
      if (!row_allowed) refuse_line(checked, "row", checked.rows.active[i]);
    }
  });
  any_of_all(clients, column_allowed);
  agree(clients, [&] {
    for (std::size_t j = 0; j < column_allowed.size(); ++j) {
      if (!column_allowed[j]) refuse_line(checked, "column", checked.columns.active[j]);
    }
  });
}

}  // namespace

void agree_on_feasibility(const Collectives& clients, Feasibility feasibility, const LayoutOf& layout_of,
                          const StopRequest& stop, CheckedProblem& checked) {
  if (clients.sums() != nullptr) return agree_that_no_line_is_forbidden(clients, stop, checked);
  if (!checked.has_forbidden_pairs) return;
  const std::optional<PairSet> pairs = gather_pairs(clients, layout_of, checked);
  if (checked.input.parts.a || checked.input.parts.b) {  // no client may see all masses
    agree(clients, [&] {
      stop.throw_if_made();
      if (pairs) check_no_line_is_forbidden(*pairs, checked, nullptr);
    });
    return;
  }
  const AllMasses masses = gather_masses(clients, checked);
  std::vector<double> factors;
  agree(clients, [&] {
    stop.throw_if_made();
    for (std::size_t k = 0; pairs && k < checked.targets; ++k) {
      const std::vector<double> of_target = fit_target(*pairs, checked, masses, k, feasibility, stop);
      factors.insert(factors.end(), of_target.begin(), of_target.end());
    }
  });
  scale_columns(clients, std::move(factors), checked);
}

}  // namespace fedsinkhorn
