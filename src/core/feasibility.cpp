#include "core/feasibility.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace fedsinkhorn {
namespace {

constexpr std::size_t kWordBits = PairSet::kWordBits;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Mass as an integer, the total being about 2^60. Integers make the flow exact: no residual is ever left over by
/// rounding, so Dinic's bound on the number of phases holds as proved. 60 bits keep every bit of a double down to
/// 2^-8 of the total, and leave room for sums of sides that rounded up.
using Units = std::int64_t;
constexpr int kUnitBits = 60;

using Indices = std::vector<std::size_t>;
using Words = std::vector<std::uint64_t>;

std::uint64_t bit(std::size_t j) { return std::uint64_t{1} << (j % kWordBits); }

/// Calls visit(j) for the columns j of one word, ascending.
template <class Visit>
void for_each_bit(std::uint64_t word, std::size_t word_index, Visit visit) {
  for (; word != 0; word &= word - 1) {
    visit(word_index * kWordBits + static_cast<std::size_t>(std::countr_zero(word)));
  }
}

/// A set of columns, empty. One word more than needed at worst.
Words no_columns(const PairSet& allowed) { return Words(allowed.columns() / kWordBits + 1); }

bool share_a_bit(std::span<const std::uint64_t> words, const Words& columns) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    if ((words[w] & columns[w]) != 0) {
      return true;
    }
  }
  return false;
}

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

/// The masses to place, in units.
struct Demand {
  std::vector<Units> rows;
  std::vector<Units> columns;
  Units slack;  ///< as much may stay unplaced
};

Demand demand_of(std::span<const double> a, std::span<const double> b, double tolerance) {
  const double rounding = std::ldexp(static_cast<double>(a.size() + b.size()), -52);
  const double share = std::clamp(tolerance, rounding, 1.0);
  return {in_units(a), in_units(b), std::llround(std::ldexp(share, kUnitBits))};
}

double mass_of(const Indices& indices, std::span<const double> masses) {
  return std::accumulate(indices.begin(), indices.end(), 0.0,
                         [masses](double sum, std::size_t index) { return sum + masses[index]; });
}

/// Makes witnesses in the caller's masses out of the set on the heavy side.
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
      wanted[j / kWordBits] |= bit(j);
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
        uncovered -= demand.columns[w * kWordBits + static_cast<std::size_t>(std::countr_zero(word))];
      }
    }
    if (uncovered > 0) {
      return i;
    }
  }
  return kNone;
}

/// The same for columns. Reads by rows all the same; columns covered already are masked out.
std::size_t find_overfull_column(const PairSet& allowed, const Demand& demand) {
  std::vector<Units> uncovered(demand.columns);
  Words wanting = no_columns(allowed);
  for (std::size_t j = 0; j < uncovered.size(); ++j) {
    uncovered[j] -= demand.slack;
    if (uncovered[j] > 0) {
      wanting[j / kWordBits] |= bit(j);
    }
  }
  for (std::size_t i = 0; i < allowed.rows(); ++i) {
    const auto words = allowed.row(i);
    for (std::size_t w = 0; w < words.size(); ++w) {
      for_each_bit(words[w] & wanting[w], w, [&](std::size_t j) {
        uncovered[j] -= demand.rows[i];
        if (uncovered[j] <= 0) {
          wanting[w] &= ~bit(j);
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
    if ((used[j / kWordBits] & bit(j)) == 0) {
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
  // `known` are columns known to be in the component of the row before. They need not be joined one by one again, which
  // in a matrix with few forbidden pairs is nearly all of them.
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

/// The component with the fewest rows among those with heavier rows, columns among those with heavier columns.
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

// ---- Maximum flow ----

/// What arrives at each column and from which row, column after column.
struct Flows {
  struct Part {
    std::size_t row;
    Units amount;
  };
  Indices first;  ///< parts[first[j]] to parts[first[j + 1] - 1] arrive at column j
  std::vector<Part> parts;

  [[nodiscard]] std::span<const Part> into(std::size_t column) const {
    return {parts.data() + first[column], first[column + 1] - first[column]};
  }

  /// The same flows as seen from the rows: what each of `rows` sends, a column's number in Part::row.
  [[nodiscard]] Flows transposed(std::size_t rows) const {
    Flows result{Indices(rows + 1), std::vector<Part>(parts.size())};
    for (const Part& part : parts) {
      ++result.first[part.row + 1];
    }
    std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
    Indices next(result.first);
    for (std::size_t j = 0; j + 1 < first.size(); ++j) {
      for (const Part& part : into(j)) {
        result.parts[next[part.row]++] = {j, part.amount};
      }
    }
    return result;
  }
};

/// Dinic's algorithm for source -> rows -> allowed pairs -> columns -> sink. Pairs have no capacity, so in the residual
/// graph a row leads to every column it may use (a row of bits), and a column leads to the rows that fill it (a short
/// list). Hence searches go over rows by words of bits, and what the flow is on a pair is stored where it is positive.
class MaximumFlow {
 public:
  MaximumFlow(const PairSet& allowed, const Demand& demand)
      : allowed_(&allowed),
        row_left_(demand.rows),
        column_left_(demand.columns),
        open_(no_columns(allowed)),
        row_level_(allowed.rows()),
        row_cursor_(allowed.rows()),
        column_cursor_(allowed.columns()),
        column_group_(allowed.columns()) {
    flows_.first.resize(allowed.columns() + 1);
    for (std::size_t j = 0; j < column_left_.size(); ++j) {
      if (column_left_[j] > 0) {
        open_[j / kWordBits] |= bit(j);
      }
    }
  }

  /// Each row in turn fills the first columns that have room. Optimal for a band in its natural order.
  void fill_in_order() {
    for (std::size_t i = 0; i < allowed_->rows(); ++i) {
      fill(i, open_, [](std::size_t) {});
    }
    merge_placed();
  }

  /// Rows with the fewest columns to choose from first, and whenever a row has one column with room left, that row at
  /// once (Karp and Sipser's rule). Optimal where every choice is forced, such as in a shuffled triangle, which would
  /// take augment() as many phases as there are rows. Columns with room for `crumb` or less count as full, lest the
  /// rounding of the masses hide that a choice is forced. Costs a step for each allowed pair, and their transpose.
  void fill_forced_first(Units crumb) {
    const PairSet rows_of = allowed_->transposed();
    Indices choices(allowed_->rows());
    for (std::size_t i = 0; i < choices.size(); ++i) {
      for (const std::uint64_t word : allowed_->row(i)) {
        choices[i] += static_cast<std::size_t>(std::popcount(word));
      }
    }
    Indices order(choices.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::size_t i, std::size_t k) { return choices[i] < choices[k]; });

    Words room(open_);
    Indices forced;
    const auto close_if_full = [&](std::size_t j) {
      if (column_left_[j] <= crumb) {
        room[j / kWordBits] &= ~bit(j);
        const auto words = rows_of.row(j);
        for (std::size_t w = 0; w < words.size(); ++w) {
          for_each_bit(words[w], w, [&](std::size_t i) {
            if (--choices[i] == 1) {
              forced.push_back(i);
            }
          });
        }
      }
    };
    for (const std::size_t i : order) {
      fill(i, room, close_if_full);
      while (!forced.empty()) {
        const std::size_t k = forced.back();
        forced.pop_back();
        fill(k, room, close_if_full);
      }
    }
    merge_placed();
  }

  /// One phase: all shortest augmenting paths. False when there was none, that is when the flow is maximal.
  /// The shortest path grows with every phase, so there are at most min(rows, columns) + 1 of them.
  bool augment() {
    if (!find_levels()) {
      return false;
    }
    for (const std::size_t root : level_rows_.front()) {
      drain(root);
    }
    merge_placed();
    return true;
  }

  [[nodiscard]] Units unplaced() const { return std::accumulate(row_left_.begin(), row_left_.end(), Units{0}); }
  [[nodiscard]] const std::vector<Units>& row_left() const { return row_left_; }
  [[nodiscard]] const std::vector<Units>& column_left() const { return column_left_; }
  [[nodiscard]] const Flows& flows() const { return flows_; }

 private:
  /// Columns of one level within one word. A level as a list of its non-zero words costs no more than its columns, so
  /// that many thin levels (a band) stay as cheap as a few wide ones.
  struct Group {
    std::size_t word;
    std::uint64_t columns;  ///< those that may still lead to an open column
  };
  /// A path in the making: from `row` to `column`, and back along the flow flows_.parts[part] to the next row.
  struct Step {
    std::size_t row;
    std::size_t column;
    std::size_t part;
    Units amount;  ///< pushed from row to column by the paths found so far through this step
  };
  struct Placed {
    std::size_t row;
    std::size_t column;
    Units amount;
  };

  /// Puts what is left of `row` into columns of `room`, and calls after(column) for each of them.
  template <class After>
  void fill(std::size_t row, const Words& room, After after) {
    const auto words = allowed_->row(row);
    for (std::size_t w = 0; w < words.size() && row_left_[row] > 0; ++w) {
      for (std::uint64_t word = words[w] & room[w]; word != 0 && row_left_[row] > 0; word &= word - 1) {
        const std::size_t j = w * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
        place(row, row, j, std::min(row_left_[row], column_left_[j]));
        after(j);
      }
    }
  }

  /// From `row` to `column`, at the end of a path that began at `root`.
  void place(std::size_t root, std::size_t row, std::size_t column, Units amount) {
    placed_.push_back({row, column, amount});
    row_left_[root] -= amount;
    column_left_[column] -= amount;
    if (column_left_[column] == 0) {
      open_[column / kWordBits] &= ~bit(column);
    }
  }

  /// Breadth-first search from all rows with mass left, up to the first level that has an open column. Level k is rows
  /// at distance 2 k and the columns after them. Every word of a row is read at most once: O(rows * columns / 64).
  bool find_levels() {
    std::ranges::fill(row_level_, kNone);
    groups_.clear();
    level_first_.assign(1, 0);
    level_rows_.clear();
    Words unvisited = no_columns(*allowed_);
    for (std::size_t j = 0; j < allowed_->columns(); ++j) {
      unvisited[j / kWordBits] |= bit(j);
    }
    std::size_t unvisited_count = allowed_->columns();
    for (std::size_t i = 0; i < row_left_.size(); ++i) {
      if (row_left_[i] > 0) {
        visit_row(i, 0);
      }
    }

    Words found(unvisited.size());
    Indices active;
    for (std::size_t level = 0; level < level_rows_.size() && unvisited_count > 0; ++level) {
      for (const std::size_t i : level_rows_[level]) {
        row_cursor_[i] = groups_.size();
      }
      active.clear();
      for (std::size_t w = 0; w < unvisited.size(); ++w) {
        if (unvisited[w] != 0) {
          active.push_back(w);
        }
      }
      for (const std::size_t i : level_rows_[level]) {
        if (unvisited_count == 0) {
          break;
        }
        const auto words = allowed_->row(i);
        for (const std::size_t w : active) {
          if (const std::uint64_t fresh = words[w] & unvisited[w]; fresh != 0) {
            unvisited[w] ^= fresh;
            found[w] |= fresh;
            unvisited_count -= static_cast<std::size_t>(std::popcount(fresh));
          }
        }
      }
      const bool last = std::ranges::any_of(active, [&](std::size_t w) { return (found[w] & open_[w]) != 0; });
      for (const std::size_t w : active) {
        const std::uint64_t columns = std::exchange(found[w], 0) & (last ? open_[w] : ~std::uint64_t{0});
        if (columns != 0) {
          for_each_bit(columns, w, [&](std::size_t j) { visit_column(j, level, last); });
          groups_.push_back({w, columns});
        }
      }
      level_first_.push_back(groups_.size());
      if (last) {
        return true;
      }
    }
    return false;
  }

  void visit_row(std::size_t row, std::size_t level) {
    if (level == level_rows_.size()) {
      level_rows_.emplace_back();
    }
    row_level_[row] = level;
    level_rows_[level].push_back(row);
  }

  void visit_column(std::size_t column, std::size_t level, bool last) {
    column_group_[column] = groups_.size();
    column_cursor_[column] = flows_.first[column];
    if (last) {
      return;
    }
    for (const Flows::Part& part : flows_.into(column)) {
      if (row_level_[part.row] == kNone) {
        visit_row(part.row, level + 1);
      }
    }
  }

  /// The next column that `row` may use on its level and that is not known to be a dead end.
  std::size_t next_column(std::size_t row, std::size_t level) {
    const auto words = allowed_->row(row);
    // Groups only ever lose columns, so a group that was passed stays passed.
    for (std::size_t& g = row_cursor_[row]; g < level_first_[level + 1]; ++g) {
      if (const std::uint64_t columns = words[groups_[g].word] & groups_[g].columns; columns != 0) {
        return groups_[g].word * kWordBits + static_cast<std::size_t>(std::countr_zero(columns));
      }
    }
    return kNone;
  }

  /// The next positive flow into `column` from a row of the level after its own.
  std::size_t next_part(std::size_t column, std::size_t level) {
    for (std::size_t& p = column_cursor_[column]; p < flows_.first[column + 1]; ++p) {
      if (flows_.parts[p].amount > 0 && row_level_[flows_.parts[p].row] == level + 1) {
        return p;
      }
    }
    return kNone;
  }

  void drop(std::size_t column) { groups_[column_group_[column]].columns &= ~bit(column); }

  /// Depth-first search along the levels for all that `root` can still get rid of. Not recursive: paths may be as long
  /// as there are rows.
  void drain(std::size_t root) {
    const std::size_t last_level = level_first_.size() - 2;
    std::size_t row = root;
    while (row_left_[root] > 0) {
      const std::size_t level = path_.size();
      const std::size_t column = next_column(row, level);
      if (column == kNone) {  // a dead end
        if (path_.empty()) {
          break;
        }
        ++column_cursor_[path_.back().column];
        row = back_to(level - 1);
      } else if (level == last_level) {
        Units amount = std::min(row_left_[root], column_left_[column]);
        for (const Step& step : path_) {
          amount = std::min(amount, flows_.parts[step.part].amount);
        }
        for (Step& step : path_) {
          flows_.parts[step.part].amount -= amount;
          step.amount += amount;
        }
        place(root, row, column, amount);
        if (column_left_[column] == 0) {
          drop(column);
        }
        const auto used_up =
            std::ranges::find_if(path_, [this](const Step& step) { return flows_.parts[step.part].amount == 0; });
        if (used_up != path_.end()) {
          row = back_to(static_cast<std::size_t>(used_up - path_.begin()));
        }
      } else if (const std::size_t part = next_part(column, level); part != kNone) {
        path_.push_back({row, column, part, 0});
        row = flows_.parts[part].row;
      } else {
        drop(column);
      }
    }
    back_to(0);
  }

  /// Shortens the path to `length` steps. Returns the row it then ends at.
  std::size_t back_to(std::size_t length) {
    std::size_t row = kNone;
    while (path_.size() > length) {
      const Step& step = path_.back();
      if (step.amount > 0) {
        placed_.push_back({step.row, step.column, step.amount});
      }
      row = step.row;
      path_.pop_back();
    }
    return row;
  }

  /// Adds what was placed to the flows and forgets flows that became zero.
  void merge_placed() {
    for (std::size_t j = 0; j < allowed_->columns(); ++j) {
      for (const Flows::Part& part : flows_.into(j)) {
        if (part.amount > 0) {
          placed_.push_back({part.row, j, part.amount});
        }
      }
    }
    Indices next(allowed_->columns() + 1);
    for (const Placed& placed : placed_) {
      ++next[placed.column + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<Flows::Part> sorted(placed_.size());
    for (const Placed& placed : placed_) {
      sorted[next[placed.column]++] = {placed.row, placed.amount};
    }
    placed_.clear();

    // Now next[j] is the end of column j. A row may occur in it several times: where[i] is its first place in `parts`,
    // out of date if that lies before the column's own first place.
    flows_.parts.clear();
    Indices where(allowed_->rows(), kNone);
    for (std::size_t j = 0, p = 0; j < allowed_->columns(); ++j) {
      flows_.first[j] = flows_.parts.size();
      for (; p < next[j]; ++p) {
        std::size_t& place = where[sorted[p].row];
        if (place != kNone && place >= flows_.first[j]) {
          flows_.parts[place].amount += sorted[p].amount;
        } else {
          place = flows_.parts.size();
          flows_.parts.push_back(sorted[p]);
        }
      }
    }
    flows_.first.back() = flows_.parts.size();
  }

  const PairSet* allowed_;
  std::vector<Units> row_left_;     ///< not yet placed
  std::vector<Units> column_left_;  ///< not yet filled
  Words open_;                      ///< columns with column_left_ > 0
  Flows flows_;
  std::vector<Placed> placed_;  ///< since flows_ was put together last

  // Of the phase under way. Cursors say how far a row has come in its level's groups, a column in its flows.
  Indices row_level_;
  Indices row_cursor_;
  Indices column_cursor_;
  Indices column_group_;
  std::vector<Indices> level_rows_;
  std::vector<Group> groups_;
  Indices level_first_;  ///< the groups of level k are groups_[level_first_[k]] to groups_[level_first_[k + 1] - 1]
  std::vector<Step> path_;
};

/// All rows that the residual graph reaches from `rows`, these included: with a row come the columns it may use, and
/// with a column the rows that fill it.
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

/// After a maximum flow, the columns reached from a row with mass left are full, and of reached rows only. So the rows
/// reached carry more than all columns they may use, namely by what is left of them. Returns the smallest such set that
/// exceeds slack, trying some rows with much left; all rows with mass left if none does alone.
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

/// Greedy flow, then Dinic's phases. Nearly always few of them are needed; if not, a dearer start may be better.
std::optional<Shortfall> flow_shortfall(const PairSet& allowed, const Demand& demand, const Witness& witness) {
  constexpr int kPatience = 50;  // phases; about as costly as the dearer start where half of the pairs are allowed
  MaximumFlow flow(allowed, demand);
  flow.fill_in_order();
  for (int phase = 0; flow.unplaced() > demand.slack; ++phase) {
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

// ---- Blocks of bits, and text ----

/// Bit c of block[r] becomes bit r of block[c]: swaps the off-diagonal halves, then those of the quarters, and so on
/// (Hacker's Delight, 7-3).
void transpose(std::array<std::uint64_t, kWordBits>& block) {
  std::uint64_t low = 0x00000000FFFFFFFFU;
  for (std::size_t width = kWordBits / 2; width != 0; width /= 2, low ^= low << width) {
    for (std::size_t r = 0; r < kWordBits; r = ((r | width) + 1) & ~width) {
      const std::uint64_t swapped = ((block[r] >> width) ^ block[r | width]) & low;
      block[r] ^= swapped << width;
      block[r | width] ^= swapped;
    }
  }
}

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

PairSet PairSet::transposed() const {
  PairSet result(columns_, rows_);
  std::array<std::uint64_t, kWordBits> block{};
  for (std::size_t i = 0; i < rows_; i += kWordBits) {
    const std::size_t height = std::min(kWordBits, rows_ - i);
    for (std::size_t w = 0; w < stride_; ++w) {
      block.fill(0);
      for (std::size_t r = 0; r < height; ++r) {
        block[r] = row(i + r)[w];
      }
      transpose(block);
      for (std::size_t j = w * kWordBits; j < std::min(columns_, (w + 1) * kWordBits); ++j) {
        result.row(j)[i / kWordBits] = block[j % kWordBits];
      }
    }
  }
  return result;
}

std::optional<Shortfall> find_shortfall(const PairSet& allowed, std::span<const double> a, std::span<const double> b,
                                        double tolerance) {
  const Demand demand = demand_of(a, b, tolerance);
  const Witness witness(allowed, a, b);
  for (const auto& attempt : {single_shortfall, component_shortfall, flow_shortfall}) {
    if (auto shortfall = attempt(allowed, demand, witness)) {
      return shortfall;
    }
  }
  return std::nullopt;
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
  // "mass 0.5 but only 0.5" would puzzle: as many digits as it takes to tell them apart.
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
