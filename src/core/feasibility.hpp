// Does a plan exist at all? With forbidden pairs the masses may not fit, and then the solver would run for ever towards
// infinite potentials; this finds out beforehand, and says which masses do not fit.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/pair_set.hpp"
#include "core/stop_request.hpp"

namespace fedsinkhorn {

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
/// Throws Interrupted if a stop is asked for during a search that takes long.
/// Always ends: the arithmetic is exact after an initial rounding to integers. Memory besides `allowed`: O(rows +
/// columns) and the positive flows; once more that of `allowed` when the flow finds a shortfall or is hard to find.
[[nodiscard]] std::optional<Shortfall> find_shortfall(const PairSet& allowed, std::span<const double> a,
                                                      std::span<const double> b, double tolerance = 1e-9,
                                                      const StopRequest& stop = StopRequest());

/// What each column must be multiplied by for rows and columns to carry the same mass in every connected component of
/// the allowed pairs. Masses that were rounded one by one agree in total once they are scaled, but not in every
/// component, and no plan can make up for that. 1 where they differ by no more than the rounding of sums. nullopt if in
/// some component they differ by more than `tolerance` of its mass.
[[nodiscard]] std::optional<std::vector<double>> balancing_factors(const PairSet& allowed, std::span<const double> a,
                                                                   std::span<const double> b, double tolerance);

/// One line, such as "rows 3, 5, 6, 8 and 40 more carry mass 0.8 but the columns they may use carry only 0.5".
/// row_names, column_names: what the user calls each row and column (0-based indices); empty: by their own index.
[[nodiscard]] std::string describe(const Shortfall& shortfall, std::span<const std::size_t> row_names = {},
                                   std::span<const std::size_t> column_names = {});

}  // namespace fedsinkhorn
