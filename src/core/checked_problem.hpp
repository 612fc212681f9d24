// The problem after inspection: what every later stage may rely on.
#pragma once

#include <cstddef>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

/// Rows and columns without mass are gone; the rest is numbered 0, 1, 2, ... in the old order ("active").
struct CheckedProblem {
  const Problem* input = nullptr;
  double epsilon = 0;
  std::size_t rows = 0;     ///< as given
  std::size_t columns = 0;  ///< as given
  std::size_t targets = 1;
  std::vector<std::size_t> active_rows;     ///< position of each active row among those given
  std::vector<std::size_t> active_columns;  ///< likewise; a column is active if any target has mass there
  std::vector<double> a;                    ///< active rows; all positive
  std::vector<double> b;                    ///< targets x active columns, each target scaled to the total of a
  double mass = 1;                          ///< total of a
  double mass_rescaled = 0;                 ///< largest |factor - 1| by which a target was scaled
  bool has_forbidden_pairs = false;
  double largest_cost = 0;  ///< of the finite ones, in absolute value; an upper bound when costs come from points

  [[nodiscard]] std::size_t n() const { return active_rows.size(); }
  [[nodiscard]] std::size_t m() const { return active_columns.size(); }
  [[nodiscard]] const double* target(std::size_t k) const { return b.data() + k * m(); }
};

/// Shapes, masses, epsilon and every cost or coordinate are looked at. Throws InputError naming the first culprit.
/// With Feasibility::check also proves that the allowed pairs can carry the masses. The problem must outlive the
/// result.
[[nodiscard]] CheckedProblem check_problem(const Problem& problem, Feasibility feasibility, int threads);

}  // namespace fedsinkhorn
