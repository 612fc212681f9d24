// Synthetic transport problems: two clouds of points, masses on them, and the costs between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn {

/// uniform: both clouds fill the unit cube. gaussian: N(0, I) and the shifted, narrower N(1, 0.25 I). clusters: four
/// clusters of standard deviation 0.05 per cloud, centred in the unit cube. embedding: vectors of norm about 1 with a
/// decaying spectrum, like learned features; the clouds share eight groups in different proportions.
enum class CloudKind { uniform, gaussian, clusters, embedding };

[[nodiscard]] constexpr std::string_view name_of(CloudKind kind) {
  switch (kind) {
    case CloudKind::uniform: return "uniform";
    case CloudKind::gaussian: return "gaussian";
    case CloudKind::clusters: return "clusters";
    case CloudKind::embedding: return "embedding";
  }
  return {};
}

struct SyntheticSpec {
  CloudKind kind = CloudKind::uniform;
  std::size_t rows = 1000;
  std::size_t columns = 0;  ///< 0: as many as rows
  std::size_t dimension = 2;
  std::size_t targets = 1;
  std::uint64_t seed = 0;
  bool same_points = false;  ///< shared support: y = x; requires columns = rows

  /// Masses before scaling to total 1. Both unset: all equal. random_marginals: uniform in [0.1, 1). marginal_decades >
  /// 0: 10^U(-decades, 0), spread evenly over that many orders of magnitude.
  bool random_marginals = false;
  double marginal_decades = 0;
  /// Fraction of zero masses in a and in every column of b; rounded down, and at least one mass stays.
  double zero_mass = 0;

  /// The points are scaled so that the largest squared distance between an x and a y is this (see
  /// SyntheticProblem::largest_cost); 0: no scaling.
  double cost_scale = 1;
  /// Probability that a pair is forbidden in the cost matrix (points cannot express it). Pairs that carry mass in the
  /// north-west-corner plan of a and any target are spared, so that every target stays feasible.
  double forbidden = 0;
};

/// The same spec gives the same numbers on every machine, up to the last bits, where pow and sums may round
/// differently. Points, a and every target are drawn independently: more targets leave the rest unchanged.
struct SyntheticProblem {
  SyntheticSpec spec;     ///< with columns filled in
  std::vector<double> x;  ///< rows x dimension
  std::vector<double> y;  ///< columns x dimension
  std::vector<double> a;  ///< rows, total 1
  std::vector<double> b;  ///< columns x targets, row-major; each column has total 1

  /// The largest squared distance between an x and a y, after scaling. Exact up to rounding if the search takes at most
  /// 10^10 differences of coordinates: always for 10,000 x 10,000 points in 64 dimensions, and for a million points in
  /// the plane, since few of them are far enough out to matter. Otherwise an upper bound: the square of the sum of both
  /// clouds' radii around their common centre.
  double largest_cost = 0;
  bool largest_cost_exact = true;
};

/// Throws InputError, naming the flag of `fedsinkhorn generate`, if the spec is invalid.
void validate(const SyntheticSpec& spec);

/// Validates, then draws. Two seconds for 10,000 x 10,000 points in 64 dimensions.
[[nodiscard]] SyntheticProblem generate(const SyntheticSpec& spec);

/// Passes the squared Euclidean costs, +inf for forbidden pairs, to sink(first_row, values), a few rows at a time and
/// in order. values.size() is a multiple of columns. Every call gives the same numbers.
void for_each_cost_block(const SyntheticProblem& problem,
                         const std::function<void(std::size_t first_row, std::span<const double> values)>& sink);

/// Streams the costs to a new .npy file of shape (rows, columns), with one block in memory at a time.
void write_cost(const SyntheticProblem& problem, const std::filesystem::path& path);

/// Columns [first, last] that row i of the north-west-corner plan may use.
struct ColumnRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The staircase of the north-west-corner plan of a and one target, row by row. Cumulative masses that differ only by
/// rounding count as equal, and both ranges touching there keep the pair: in any order of summation the plan is inside.
[[nodiscard]] std::vector<ColumnRange> north_west_corner(std::span<const double> a, std::span<const double> b);

}  // namespace fedsinkhorn
