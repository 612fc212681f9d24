// Does a plan exist at all? With forbidden pairs the masses may not fit; the solver would then run forever towards
// infinite potentials. This check finds out beforehand and names the masses that do not fit.
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

/// Decides whether some plan on the allowed pairs has row sums a and column sums b; nullopt if one does.
///
/// a, b: finite positive masses, one per row and column of `allowed`. Their totals should be equal; a difference is
/// attributed to rounding, and b is scaled to the total of a.
/// tolerance: how much mass may stay unplaced, relative to the total; raised to the rounding of the sums, about
/// (rows + columns) * 2^-52, if below. A row or column without any allowed pair is always a shortfall, however small
/// its mass: its scaling does not exist.
///
/// The shortfall returned is the easiest to understand that is cheap to find. In this order: a row, then a column
/// without allowed pair; a single row, then a single column, heavier than all its partners; the smallest connected
/// component whose rows and columns differ in mass; a small set of rows or columns that a maximum flow leaves over.
///
/// Throws Interrupted if a stop is requested during a long search. Always terminates: the arithmetic is exact after an
/// initial rounding to integers. Memory besides `allowed`: O(rows + columns) and the positive flows, plus a copy of
/// `allowed` if the flow finds a shortfall or is hard to find.
[[nodiscard]] std::optional<Shortfall> find_shortfall(const PairSet& allowed, std::span<const double> a,
                                                      std::span<const double> b, double tolerance = 1e-9,
                                                      const StopRequest& stop = StopRequest());

/// The factor for each column that gives rows and columns the same mass in every connected component of the allowed
/// pairs. Masses rounded one by one agree in total after scaling, but not in every component, and no plan can make up
/// for that. 1 if they differ by no more than the rounding of sums. nullopt if some component differs by more than
/// `tolerance` of its mass.
[[nodiscard]] std::optional<std::vector<double>> balancing_factors(const PairSet& allowed, std::span<const double> a,
                                                                   std::span<const double> b, double tolerance);

/// One line, such as "rows 3, 5, 6, 8 and 40 more carry mass 0.8 but the columns they may use carry only 0.5".
/// row_names, column_names: the user's 0-based index of each row and column; empty: the index itself.
[[nodiscard]] std::string describe(const Shortfall& shortfall, std::span<const std::size_t> row_names = {},
                                   std::span<const std::size_t> column_names = {});

}  // namespace fedsinkhorn
