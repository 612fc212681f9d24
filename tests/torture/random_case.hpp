// Small random problems with random options, all that a user may combine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn::torture {

/// Owns what a Problem only refers to.
struct Case {
  std::uint64_t seed = 0;
  std::uint64_t number = 0;
  std::size_t n = 1;
  std::size_t m = 1;
  std::size_t targets = 1;
  std::vector<double> cost;  ///< n x m; empty: costs come from points
  std::size_t dimension = 1;
  Metric metric = Metric::sqeuclidean;
  std::vector<double> x, y;
  std::vector<double> a;  ///< empty: uniform
  std::vector<double> b;  ///< m x targets; empty: uniform
  std::vector<double> initial_g;
  bool float32_masses = false;  ///< a and b are float32 numbers
  bool is_infeasible = false;   ///< no plan exists, and solve() must say so
  double epsilon = 1;
  Options options;
  bool is_hard = false;              ///< too hard for the slow reference
  std::int64_t most_iterations = 0;  ///< it must have converged by then; 0: it may take longer

  /// Refers to this case.
  [[nodiscard]] Problem problem() const;
};

/// Families to leave out.
struct Without {
  bool totals = false;  ///< all total masses are about 1
  bool large_epsilon = false;
};

/// The same on every machine (but for which instruction sets there are). Cases do not depend on each other.
[[nodiscard]] Case make_case(std::uint64_t seed, std::uint64_t number, const Without& without);
/// Default options for the most part, and problems on which solvers break.
[[nodiscard]] Case make_hard_case(std::uint64_t seed, std::uint64_t number);

}  // namespace fedsinkhorn::torture
