// Attacks on sums: the rows of all other clients, from sums that a client has unmasked (insider.hpp).
//
// A row is known up to a factor by its share in the columns, p_i / a_i at some v; costs follow from that and g, which
// all clients know.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "privacy/insider.hpp"

namespace fedsinkhorn::testing {

struct FoundRows {
  Vectors shares;              ///< p_i / a_i at the v of the last sum used, one vector per row, in any order
  std::vector<double> masses;  ///< a_i
  std::vector<double> v;       ///< that v
};

/// Jennrich's algorithm: two matrices B'B at different v are K'D1K and K'D2K, up to known factors, and are made
/// diagonal together. Takes the first and the last matrix, and as many rows as others have.
[[nodiscard]] std::optional<FoundRows> rows_from_matrices(const Seen& seen, std::size_t rows);

/// The same with matrices that fit what was shown of them: the diagonals, and the products of the first half of the
/// steps, or of the last.
[[nodiscard]] std::optional<FoundRows> rows_from_products(const Seen& seen, std::size_t rows);

/// Rows whose sums over the rounds are those seen, by least squares (Levenberg and Marquardt) from a start: log K, row
/// by row up to a factor each, and the logarithms of the masses. steps: at most.
[[nodiscard]] std::optional<FoundRows> rows_from_vectors(const Seen& seen, const Vectors& log_kernel,
                                                         const std::vector<double>& log_masses, int steps);

}  // namespace fedsinkhorn::testing
