// The problem after inspection, as one client sees it: what every later stage may rely on. All clients have looked at
// their parts and agreed; what is not marked as this client's own is the same everywhere.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "core/half_step.hpp"
#include "core/range.hpp"
#include "cost/cost_input.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "problem/layout.hpp"

namespace fedsinkhorn {

/// Rows or columns. Those without mass are gone; the rest is numbered 0, 1, 2, ... in the old order ("active").
struct Side {
  std::size_t given = 0;            ///< all of them, as given
  std::vector<std::size_t> active;  ///< position of each active one among those given
  std::vector<Range> given_slices;  ///< of each client, in positions as given
  std::vector<Range> slices;        ///< of each client, in active numbers

  [[nodiscard]] std::size_t size() const { return active.size(); }
};

struct CheckedProblem {
  Problem input;                           ///< as given
  std::shared_ptr<const CostInput> costs;  ///< its costs; points y that came in parts are whole here
  double epsilon = 0;
  std::size_t targets = 1;
  bool costs_from_points = false;
  std::size_t client = 0;
  std::size_t clients = 1;
  Layout layout;
  Side rows;
  Side columns;
  /// The masses here are those given times 2^-mass_exponent: their total is near 1, so that no sum or product of them
  /// leaves the range of a double. 0 for totals from 1/2 to 2.
  int mass_exponent = 0;
  std::vector<double> a;  ///< own active rows; all positive
  std::vector<double>
      b;               ///< targets x own active columns, each target scaled to the total of a (see also feasible.cpp)
  ScalingRule rule{};  ///< how masses and products become scalings
  bool has_initial_g = false;
  std::vector<double> start_g;  ///< targets x own active columns if there is an initial g; see initial_g()
  double mass = 1;              ///< total of a
  double least_mass = 1;        ///< least positive entry of a
  double mass_tolerance = 0;    ///< relative difference of masses put down to rounding; the largest any client has
  double mass_rescaled = 0;     ///< largest |factor - 1| by which a target, or a component of it, was scaled
  bool has_forbidden_pairs = false;
  bool symmetric_cost = false;  ///< only looked at where a topology can make use of it
  double largest_cost = 0;      ///< of the finite ones, in absolute value; an upper bound when costs come from points
  std::size_t first_held_row = 0;

  /// An amount of mass, in the units of the masses given.
  [[nodiscard]] double as_given(double amount) const { return std::ldexp(amount, mass_exponent); }
  [[nodiscard]] std::size_t n() const { return a.size(); }
  [[nodiscard]] std::size_t m() const { return own_columns().size(); }
  [[nodiscard]] Range own_rows() const { return rows.slices[client]; }
  [[nodiscard]] Range own_columns() const { return columns.slices[client]; }
  [[nodiscard]] const double* target(std::size_t k) const { return b.data() + k * m(); }
  /// The potential to start a target from, of its own active columns, in units of the cost: -inf where the target has
  /// no mass, whatever was given there, and else finite, so that dividing by epsilon is finite, too. Null if none was
  /// given; that is so on all clients or on none, also on those without columns.
  [[nodiscard]] const double* initial_g(std::size_t target) const;

  /// The block this client holds, in active numbers; empty where it holds none.
  [[nodiscard]] Range block_rows() const;
  [[nodiscard]] Range block_columns() const;
  [[nodiscard]] CostBlock block() const;
  /// All rows of its own columns, where the layout has them.
  [[nodiscard]] CostBlock column_block() const;
};

/// Shapes, masses, epsilon and every cost or coordinate are looked at, each by a client that holds it. Throws the same
/// InputError on all clients, naming the first culprit. With Feasibility::check also proves that the allowed pairs can
/// carry the masses, unless some client keeps its masses to itself.
[[nodiscard]] CheckedProblem check_problem(const Problem& problem, const Options& options, const LayoutOf& layout_of,
                                           const Collectives& clients, int threads);

/// For a single client.
[[nodiscard]] CheckedProblem check_problem(const Problem& problem, Feasibility feasibility, int threads);

}  // namespace fedsinkhorn
