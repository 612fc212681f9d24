// Problems on which plain Sinkhorn is slow at small epsilon, of many kinds: what accelerated methods are judged by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fedsinkhorn {

/// Costs are at most 1; +inf forbids a pair. Both masses have total 1 and are positive.
struct HardProblem {
  std::size_t n = 0, m = 0;
  std::vector<double> cost;  ///< n x m
  std::vector<double> a, b;
};

/// The names of all families, for hard_problem().
///   random        independent costs, uniform masses
///   clusters-d    two normal clusters against two others in d = 2, 8, 64 dimensions, uniform masses
///   normal-d      normal clouds, d = 2, 3, uniform masses
///   offset-2      a narrower normal cloud beside a wide one, uniform masses
///   spots-2       four small spots, masses within a factor of eleven
///   square-2      uniform clouds in a square
///   line          uniform points on a line, masses within a factor of eleven
///   integer       whole costs from 0 to 9, uniform masses: many ties
///   grid          points of a square lattice: many ties
///   anti-monge    square roots of distances on a line
///   dirichlet     uniform clouds in a square, masses from Dirichlet(0.1)
///   wide-masses   uniform clouds in a square, masses over eight orders of magnitude
///   one-hot       almost all of b in one column
///   blocks        four blocks of random costs, dear to leave; masses that differ between blocks by a thousandth
///   bridges       two blocks that only two pairs connect, and that the masses use
///   separate      three blocks, pairs between them forbidden
[[nodiscard]] const std::vector<std::string_view>& hard_families();

/// Throws std::invalid_argument if there is no such family.
[[nodiscard]] HardProblem hard_problem(std::string_view family, std::size_t n, std::size_t m, std::uint64_t seed);

}  // namespace fedsinkhorn
