// How much mass can be moved through allowed pairs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/pair_set.hpp"

namespace fedsinkhorn {

/// Mass as an integer, with a total of about 2^60. Integers make the flow exact: rounding leaves no residual, so
/// Dinic's bound on the number of phases holds. 60 bits keep every bit of a double down to 2^-8 of the total, with room
/// for sums that were rounded up.
using Units = std::int64_t;
inline constexpr int kUnitBits = 60;

using Indices = std::vector<std::size_t>;
inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The masses to place, in units.
struct Demand {
  std::vector<Units> rows;
  std::vector<Units> columns;
  Units slack;  ///< mass that may stay unplaced
};

/// The flow into each column and its origin, column after column.
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

  /// The same flows seen from the rows: what each of `rows` sends, with the column's number in Part::row.
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
/// graph a row leads to every column it may use (a row of bits), and a column to the rows that fill it (a short list).
/// So searches go over rows by words of bits, and only positive flows are stored.
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
        open_[j / PairSet::kWordBits] |= PairSet::bit(j);
      }
    }
  }

  /// Each row in turn fills the first columns with room. Optimal for a band in its natural order.
  void fill_in_order() {
    for (std::size_t i = 0; i < allowed_->rows(); ++i) {
      fill(i, open_, [](std::size_t) {});
    }
    merge_placed();
  }

  /// Rows with the fewest columns to choose from first, and a row with a single column left at once (Karp and Sipser's
  /// rule). Optimal if every choice is forced, such as in a shuffled triangle, for which augment() would take as many
  /// phases as there are rows. Columns with room for `crumb` or less count as full, so that rounded masses do not hide
  /// forced choices. Costs one step per allowed pair, and their transpose.
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
        room[j / PairSet::kWordBits] &= ~PairSet::bit(j);
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

  /// One phase: all shortest augmenting paths. Returns false if there was none, so the flow is maximal. The shortest
  /// path grows in every phase, so there are at most min(rows, columns) + 1 phases.
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
  /// Columns of one level within one word. A level is a list of its non-zero words and costs no more than its columns,
  /// so many thin levels (a band) are as cheap as a few wide ones.
  struct Group {
    std::size_t word;
    std::uint64_t columns;  ///< those that may still lead to an open column
  };
  /// A path under construction: from `row` to `column`, and back along flows_.parts[part] to the next row.
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

  /// Puts the rest of `row` into columns of `room`, and calls after(column) for each of them.
  template <class After>
  void fill(std::size_t row, const Words& room, After after) {
    const auto words = allowed_->row(row);
    for (std::size_t w = 0; w < words.size() && row_left_[row] > 0; ++w) {
      for (std::uint64_t word = words[w] & room[w]; word != 0 && row_left_[row] > 0; word &= word - 1) {
        const std::size_t j = w * PairSet::kWordBits + static_cast<std::size_t>(std::countr_zero(word));
        place(row, row, j, std::min(row_left_[row], column_left_[j]));
        after(j);
      }
    }
  }

  /// Places mass from `row` to `column`, at the end of a path that began at `root`.
  void place(std::size_t root, std::size_t row, std::size_t column, Units amount) {
    placed_.push_back({row, column, amount});
    row_left_[root] -= amount;
    column_left_[column] -= amount;
    if (column_left_[column] == 0) {
      open_[column / PairSet::kWordBits] &= ~PairSet::bit(column);
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
      unvisited[j / PairSet::kWordBits] |= PairSet::bit(j);
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
        return groups_[g].word * PairSet::kWordBits + static_cast<std::size_t>(std::countr_zero(columns));
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

  void drop(std::size_t column) { groups_[column_group_[column]].columns &= ~PairSet::bit(column); }

  /// Depth-first search along the levels for all mass that `root` can still place. Not recursive: paths may be as long
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

  /// Adds the placed mass to the flows and removes flows that became zero.
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
    // out of date if before the column's own first place.
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
  std::vector<Placed> placed_;  ///< since flows_ was last assembled

  // State of the current phase. Cursors: how far a row is in its level's groups, a column in its flows.
  Indices row_level_;
  Indices row_cursor_;
  Indices column_cursor_;
  Indices column_group_;
  std::vector<Indices> level_rows_;
  std::vector<Group> groups_;
  Indices level_first_;  ///< the groups of level k are groups_[level_first_[k]] to groups_[level_first_[k + 1] - 1]
  std::vector<Step> path_;
};

}  // namespace fedsinkhorn
