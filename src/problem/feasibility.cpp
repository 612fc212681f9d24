#include "problem/feasibility.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "core/exact_sum.hpp"
#include "problem/maximum_flow.hpp"

namespace fedsinkhorn {
namespace {

double total_of(std::span<const double> masses) { return std::accumulate(masses.begin(), masses.end(), 0.0); }

std::vector<Units> in_units(std::span<const double> masses) {
  const double total = total_of(masses);
  std::vector<Units> units(masses.size());
  if (total > 0) {
    std::ranges::transform(masses, units.begin(),
                           [total](double mass) { return std::llround(std::ldexp(mass / total, kUnitBits)); });
  }
  return units;
}

Demand demand_of(std::span<const double> a, std::span<const double> b, double tolerance) {
  const double rounding = std::ldexp(static_cast<double>(a.size() + b.size()), -52);
  const double share = std::clamp(tolerance, rounding, 1.0);
  return {in_units(a), in_units(b), std::llround(std::ldexp(share, kUnitBits))};
}

double mass_of(const Indices& indices, std::span<const double> masses) {
  return std::accumulate(indices.begin(), indices.end(), 0.0,
                         [masses](double sum, std::size_t index) { return sum + masses[index]; });
}

/// Builds witnesses in the caller's masses from the set on the heavy side.
class Witness {
 public:
  Witness(const PairSet& allowed, std::span<const double> a, std::span<const double> b)
      : allowed_(allowed), a_(a), b_(b) {}

  [[nodiscard]] Shortfall of_rows(Indices rows) const {
    std::ranges::sort(rows);
    Words used = no_columns(allowed_);
    for (const std::size_t i : rows) {
      std::ranges::transform(used, allowed_.row(i), used.begin(), std::bit_or{});
    }
    Indices columns;
    for (std::size_t w = 0; w < used.size(); ++w) {
      for_each_bit(used[w], w, [&](std::size_t j) { columns.push_back(j); });
    }
    return with_masses({false, std::move(rows), std::move(columns)});
  }

  [[nodiscard]] Shortfall of_columns(Indices columns) const {
    std::ranges::sort(columns);
    Words wanted = no_columns(allowed_);
    for (const std::size_t j : columns) {
      wanted[j / PairSet::kWordBits] |= PairSet::bit(j);
    }
    Indices rows;
    for (std::size_t i = 0; i < allowed_.rows(); ++i) {
      if (share_a_bit(allowed_.row(i), wanted)) {
        rows.push_back(i);
      }
    }
    return with_masses({true, std::move(rows), std::move(columns)});
  }

 private:
  [[nodiscard]] Shortfall with_masses(Shortfall shortfall) const {
    const double total_a = total_of(a_);
    const double total_b = total_of(b_);
    shortfall.row_mass = mass_of(shortfall.rows, a_);
    shortfall.column_mass = mass_of(shortfall.columns, b_);
    if (total_a > 0 && total_b > 0) {
      shortfall.column_mass *= total_a / total_b;
    }
    return shortfall;
  }

  const PairSet& allowed_;
  std::span<const double> a_;
  std::span<const double> b_;
};

// ---- Witnesses that need no flow ----

/// Row i is heavier than all columns it may use: a_i > b(N(i)) + slack.
std::size_t find_overfull_row(const PairSet& allowed, const Demand& demand) {
  for (std::size_t i = 0; i < allowed.rows(); ++i) {
    // Most rows are covered by their first few columns, so this seldom reads a whole row.
    Units uncovered = demand.rows[i] - demand.slack;
    const auto words = allowed.row(i);
    for (std::size_t w = 0; w < words.size() && uncovered > 0; ++w) {
      for (std::uint64_t word = words[w]; word != 0 && uncovered > 0; word &= word - 1) {
        uncovered -= demand.columns[w * PairSet::kWordBits + static_cast<std::size_t>(std::countr_zero(word))];
      }
    }
    if (uncovered > 0) {
      return i;
    }
  }
  return kNone;
}

/// The same for columns. Still reads by rows; columns already covered are masked out.
std::size_t find_overfull_column(const PairSet& allowed, const Demand& demand) {
  std::vector<Units> uncovered(demand.columns);
  Words wanting = no_columns(allowed);
  for (std::size_t j = 0; j < uncovered.size(); ++j) {
    uncovered[j] -= demand.slack;
    if (uncovered[j] > 0) {
      wanting[j / PairSet::kWordBits] |= PairSet::bit(j);
    }
  }
  for (std::size_t i = 0; i < allowed.rows(); ++i) {
    const auto words = allowed.row(i);
    for (std::size_t w = 0; w < words.size(); ++w) {
      for_each_bit(words[w] & wanting[w], w, [&](std::size_t j) {
        uncovered[j] -= demand.rows[i];
        if (uncovered[j] <= 0) {
          wanting[w] &= ~PairSet::bit(j);
        }
      });
    }
  }
  const auto short_column = std::ranges::find_if(uncovered, [](Units units) { return units > 0; });
  return short_column == uncovered.end() ? kNone : static_cast<std::size_t>(short_column - uncovered.begin());
}

/// A row or a column whose pairs are all forbidden, or that alone is heavier than all its partners.
std::optional<Shortfall> single_shortfall(const PairSet& allowed, const Demand& demand, const Witness& witness) {
  Words used = no_columns(allowed);
  for (std::size_t i = 0; i < allowed.rows(); ++i) {
    const auto words = allowed.row(i);
    if (std::ranges::all_of(words, [](std::uint64_t word) { return word == 0; })) {
      return witness.of_rows({i});
    }
    std::ranges::transform(words, used, used.begin(), std::bit_or{});
  }
  for (std::size_t j = 0; j < allowed.columns(); ++j) {
    if ((used[j / PairSet::kWordBits] & PairSet::bit(j)) == 0) {
      return witness.of_columns({j});
    }
  }
  if (const std::size_t i = find_overfull_row(allowed, demand); i != kNone) {
    return witness.of_rows({i});
  }
  if (const std::size_t j = find_overfull_column(allowed, demand); j != kNone) {
    return witness.of_columns({j});
  }
  return std::nullopt;
}

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }

  std::size_t root(std::size_t x) {
    while (parent_[x] != x) {
      parent_[x] = parent_[parent_[x]];
      x = parent_[x];
    }
    return x;
  }
  void join(std::size_t x, std::size_t y) { parent_[root(x)] = root(y); }

 private:
  Indices parent_;
};

/// Connected components of the allowed pairs; column j is node rows + j.
DisjointSets components_of(const PairSet& allowed) {
  const std::size_t rows = allowed.rows();
  DisjointSets sets(rows + allowed.columns());
  // `known`: columns known to be in the component of the previous row. They need not be joined again one by one, and
  // with few forbidden pairs that is nearly all of them.
  Words known = no_columns(allowed);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto words = allowed.row(i);
    if (share_a_bit(words, known)) {
      sets.join(i, i - 1);
    } else {
      std::ranges::fill(known, 0);
    }
    for (std::size_t w = 0; w < words.size(); ++w) {
      for_each_bit(words[w] & ~known[w], w, [&](std::size_t j) { sets.join(i, rows + j); });
      known[w] |= words[w];
    }
  }
  return sets;
}

/// The component with the fewest rows or columns on its heavier side.
std::optional<Shortfall> component_shortfall(const PairSet& allowed, const Demand& demand, const Witness& witness) {
  struct Component {
    std::size_t rows = 0;
    std::size_t columns = 0;
    Units excess = 0;  ///< mass of the rows - mass of the columns
  };
  const std::size_t rows = allowed.rows();
  DisjointSets sets = components_of(allowed);
  std::vector<Component> components(rows + allowed.columns());
  for (std::size_t i = 0; i < rows; ++i) {
    Component& component = components[sets.root(i)];
    ++component.rows;
    component.excess += demand.rows[i];
  }
  for (std::size_t j = 0; j < allowed.columns(); ++j) {
    Component& component = components[sets.root(rows + j)];
    ++component.columns;
    component.excess -= demand.columns[j];
  }

  std::size_t best = kNone;
  std::size_t best_size = kNone;
  for (std::size_t c = 0; c < components.size(); ++c) {
    const std::size_t size = components[c].excess > 0 ? components[c].rows : components[c].columns;
    if (std::abs(components[c].excess) > demand.slack && size < best_size) {
      best = c;
      best_size = size;
    }
  }
  if (best == kNone) {
    return std::nullopt;
  }
  const bool rows_heavier = components[best].excess > 0;
  Indices heavier;
  for (std::size_t k = 0; k < (rows_heavier ? rows : allowed.columns()); ++k) {
    if (sets.root(rows_heavier ? k : rows + k) == best) {
      heavier.push_back(k);
    }
  }
  return rows_heavier ? witness.of_rows(std::move(heavier)) : witness.of_columns(std::move(heavier));
}

// ---- Witnesses from a maximum flow ----

/// All rows that the residual graph reaches from `rows`, including these: a row leads to the columns it may use, a
/// column to the rows that fill it.
Indices closure(const PairSet& allowed, const Flows& flows, Indices rows) {
  Words visited_columns = no_columns(allowed);
  std::vector<bool> visited(allowed.rows());
  for (const std::size_t i : rows) {
    visited[i] = true;
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto words = allowed.row(rows[r]);
    for (std::size_t w = 0; w < words.size(); ++w) {
      for_each_bit(words[w] & ~std::exchange(visited_columns[w], visited_columns[w] | words[w]), w, [&](std::size_t j) {
        for (const Flows::Part& part : flows.into(j)) {
          if (!visited[part.row]) {
            visited[part.row] = true;
            rows.push_back(part.row);
          }
        }
      });
    }
  }
  return rows;
}

/// After a maximum flow, the columns reached from a row with mass left are full, and filled by reached rows only. So
/// the reached rows exceed all columns they may use, by the mass they have left. Returns the smallest such set that
/// exceeds slack, trying some rows with much mass left; if no single row does, all rows with mass left.
Indices left_over_rows(const PairSet& allowed, const Flows& flows, const std::vector<Units>& left, Units slack) {
  constexpr std::size_t kTries = 8;  // each may read all of `allowed`
  Indices starts;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] > 0) {
      starts.push_back(i);
    }
  }
  std::ranges::stable_sort(starts, [&](std::size_t i, std::size_t k) { return left[i] > left[k]; });

  Indices best;
  for (std::size_t s = 0; s < std::min(kTries, starts.size()); ++s) {
    Indices rows = closure(allowed, flows, {starts[s]});
    const Units excess =
        std::accumulate(rows.begin(), rows.end(), Units{0}, [&](Units sum, std::size_t i) { return sum + left[i]; });
    if (excess > slack && (best.empty() || rows.size() < best.size())) {
      best = std::move(rows);
    }
  }
  return best.empty() ? closure(allowed, flows, std::move(starts)) : best;
}

/// Greedy flow, then Dinic's phases. Few are usually enough; if not, a more expensive start may be better.
std::optional<Shortfall> flow_shortfall(const PairSet& allowed, const Demand& demand, const Witness& witness,
                                        const StopRequest& stop) {
  constexpr int kPatience = 50;  // phases; cost about as much as the expensive start if half of the pairs are allowed
  MaximumFlow flow(allowed, demand);
  flow.fill_in_order();
  for (int phase = 0; flow.unplaced() > demand.slack; ++phase) {
    stop.throw_if_made();
    if (phase == kPatience) {
      MaximumFlow other(allowed, demand);
      other.fill_forced_first(demand.slack / static_cast<Units>(2 * allowed.columns()));
      if (other.unplaced() < flow.unplaced()) {
        flow = std::move(other);
      }
    } else if (!flow.augment()) {
      // Often one of the two is a few lines and the other nearly everything else.
      Indices rows = left_over_rows(allowed, flow.flows(), flow.row_left(), demand.slack);
      Indices columns = left_over_rows(allowed.transposed(), flow.flows().transposed(allowed.rows()),
                                       flow.column_left(), demand.slack);
      return rows.size() <= columns.size() ? witness.of_rows(std::move(rows)) : witness.of_columns(std::move(columns));
    }
  }
  return std::nullopt;
}

// ---- Text ----

std::string number(double value, int digits) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits);
  return {text.data(), end.ptr};
}

/// "row 3", "rows 3 and 5", "rows 3, 5, 6, 8 and 40 more".
std::string listed(const std::string& noun, const Indices& indices, std::span<const std::size_t> names) {
  constexpr std::size_t kListed = 4;
  const std::size_t shown = std::min(indices.size(), kListed);
  std::string text = noun + (indices.size() == 1 ? " " : "s ");
  for (std::size_t k = 0; k < shown; ++k) {
    if (k > 0) {
      text += k + 1 == indices.size() ? " and " : ", ";
    }
    text += std::to_string(names.empty() ? indices[k] : names[indices[k]]);
  }
  return shown == indices.size() ? text : text + " and " + std::to_string(indices.size() - shown) + " more";
}

}  // namespace

std::optional<Shortfall> find_shortfall(const PairSet& allowed, std::span<const double> a, std::span<const double> b,
                                        double tolerance, const StopRequest& stop) {
  const Demand demand = demand_of(a, b, tolerance);
  const Witness witness(allowed, a, b);
  for (const auto& attempt : {single_shortfall, component_shortfall}) {
    stop.throw_if_made();
    if (auto shortfall = attempt(allowed, demand, witness)) {
      return shortfall;
    }
  }
  return flow_shortfall(allowed, demand, witness, stop);
}

std::optional<std::vector<double>> balancing_factors(const PairSet& allowed, std::span<const double> a,
                                                     std::span<const double> b, double tolerance) {
  struct Masses {
    ExactSum rows;
    ExactSum columns;
  };
  DisjointSets sets = components_of(allowed);
  std::vector<Masses> components(a.size() + b.size());
  for (std::size_t i = 0; i < a.size(); ++i) components[sets.root(i)].rows.add(a[i]);
  for (std::size_t j = 0; j < b.size(); ++j) components[sets.root(a.size() + j)].columns.add(b[j]);

  const double rounding = std::ldexp(static_cast<double>(a.size() + b.size()), -52);
  for (const Masses& component : components) {
    const double rows = component.rows.total();
    const double columns = component.columns.total();
    if (std::abs(rows - columns) > std::max(tolerance, rounding) * std::min(rows, columns)) return std::nullopt;
  }
  std::vector<double> factors(b.size(), 1.0);
  for (std::size_t j = 0; j < b.size(); ++j) {
    const Masses& component = components[sets.root(a.size() + j)];
    const double factor = component.rows.total() / component.columns.total();
    if (std::abs(factor - 1) > rounding) factors[j] = factor;
  }
  return factors;
}

std::string describe(const Shortfall& shortfall, std::span<const std::size_t> row_names,
                     std::span<const std::size_t> column_names) {
  const bool columns = shortfall.columns_short;
  const Indices& heavier = columns ? shortfall.columns : shortfall.rows;
  const Indices& partners = columns ? shortfall.rows : shortfall.columns;
  const double mass = columns ? shortfall.column_mass : shortfall.row_mass;
  const double partner_mass = columns ? shortfall.row_mass : shortfall.column_mass;
  const bool one = heavier.size() == 1;

  const std::string subject = columns ? listed("column", heavier, column_names) : listed("row", heavier, row_names);
  const std::string verb = one ? " has mass " : " carry mass ";
  if (partners.empty()) {
    return subject + verb + number(mass, 4) + " but all " + (one ? "its" : "their") + " pairs are forbidden";
  }
  // "mass 0.5 but only 0.5" would confuse: print as many digits as are needed to tell them apart.
  constexpr int kFewDigits = 4;
  constexpr int kAllDigits = 17;
  int digits = kFewDigits;
  while (digits < kAllDigits && number(mass, digits) == number(partner_mass, digits)) {
    ++digits;
  }
  const std::string object = columns ? std::string("rows that may use ") + (one ? "it" : "them")
                                     : std::string("columns ") + (one ? "it" : "they") + " may use";
  return subject + verb + number(mass, digits) + " but the " + object + " carry only " + number(partner_mass, digits);
}

}  // namespace fedsinkhorn
