// Does a plan exist at all? With forbidden pairs the masses may not fit, and then the solver would run for ever towards
// infinite potentials; this finds out beforehand, and says which masses do not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// Which pairs (row, column) are allowed, a bit each: about rows * columns / 8 bytes.
/// Thread safety: different rows share no word, so threads may fill different rows at once.
class PairSet {
 public:
  static constexpr std::size_t kWordBits = 64;

  /// No pair is allowed at first.
  PairSet(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), stride_((columns + kWordBits - 1) / kWordBits), words_(rows * stride_) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }

  /// Precondition of the three: i < rows(), j < columns().
  void allow(std::size_t i, std::size_t j) { words_[i * stride_ + j / kWordBits] |= bit(j); }
  void forbid(std::size_t i, std::size_t j) { words_[i * stride_ + j / kWordBits] &= ~bit(j); }
  [[nodiscard]] bool allowed(std::size_t i, std::size_t j) const {
    return (words_[i * stride_ + j / kWordBits] & bit(j)) != 0;
  }

  /// The words of row i: column j is bit j % 64 of word j / 64. The bits past the last column are zero, and whoever
  /// writes words keeps them so.
  [[nodiscard]] std::span<const std::uint64_t> row(std::size_t i) const {
    return {words_.data() + i * stride_, stride_};
  }
  [[nodiscard]] std::span<std::uint64_t> row(std::size_t i) { return {words_.data() + i * stride_, stride_}; }

  [[nodiscard]] PairSet transposed() const;

 private:
  static std::uint64_t bit(std::size_t j) { return std::uint64_t{1} << (j % kWordBits); }

  std::size_t rows_;
  std::size_t columns_;
  std::size_t stride_;
  std::vector<std::uint64_t> words_;
};

/// Why no plan exists, a violation of Hall's condition: some rows carry more mass than all columns they may use
/// together, or (columns_short) some columns carry more mass than all rows that may use them.
struct Shortfall {
  bool columns_short = false;
  std::vector<std::size_t> rows;     ///< ascending; if columns_short: exactly the rows that may use one of `columns`
  std::vector<std::size_t> columns;  ///< ascending; if not columns_short: exactly the columns `rows` may use
  double row_mass = 0;               ///< of `rows`
  double column_mass = 0;            ///< of `columns`, scaled by sum a / sum b
};

/// Tells whether some plan on the allowed pairs has row sums a and column sums b; nullopt when it does.
///
/// a, b: finite masses, positive, one for each row and column of `allowed`. Their totals should be equal; a difference
/// is put down to rounding and b read as scaled to the total of a.
/// tolerance: how much mass may fail to be placed, as a part of the total. Less than the rounding of the sums, about
/// (rows + columns) * 2^-52, cannot be told from nothing and is not asked for. A row or a column without any allowed
/// pair is a shortfall however little it carries: its scaling does not exist.
///
/// The shortfall named is the easiest to understand that is cheap to find, tried in this order: a row, then a column
/// without allowed pair; a single row, then a single column, heavier than all its partners; the smallest connected
/// component whose rows and columns differ in mass; a small set of rows or of columns that a maximum flow leaves over.
///
/// Always ends: the arithmetic is exact after an initial rounding to integers. Memory besides `allowed`: O(rows +
/// columns) and the positive flows; once more that of `allowed` when the flow finds a shortfall or is hard to find.
[[nodiscard]] std::optional<Shortfall> find_shortfall(const PairSet& allowed, std::span<const double> a,
                                                      std::span<const double> b, double tolerance = 1e-9);

/// One line, such as "rows 3, 5, 6, 8 and 40 more carry mass 0.8 but the columns they may use carry only 0.5".
/// row_names, column_names: what the user calls each row and column (0-based indices); empty: by their own index.
[[nodiscard]] std::string describe(const Shortfall& shortfall, std::span<const std::size_t> row_names = {},
                                   std::span<const std::size_t> column_names = {});

}  // namespace fedsinkhorn
