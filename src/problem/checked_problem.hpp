// The checked problem as one client sees it: what every later stage may rely on. All clients have checked their parts
// and agreed; what is not marked as this client's own is the same on all clients.
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

/// Rows or columns. Those without mass are dropped; the others ("active") are numbered 0, 1, 2, ... in the given order.
struct Side {
  std::size_t given = 0;            ///< all of them, as given
  std::vector<std::size_t> active;  ///< position of each active one among those given
  std::vector<Range> given_slices;  ///< of each client, in positions as given
  std::vector<Range> slices;        ///< of each client, in active numbers
  std::size_t hidden = 0;  ///< number of those active that other clients keep to themselves (rows, policy sums)

  [[nodiscard]] std::size_t size() const { return active.size() + hidden; }
};

struct CheckedProblem {
  Problem input;                           ///< as given
  std::shared_ptr<const CostInput> costs;  ///< its costs; points y given in parts are complete here
  double epsilon = 0;
  std::size_t targets = 1;
  bool costs_from_points = false;
  std::size_t client = 0;
  std::size_t clients = 1;
  Layout layout;
  Side rows;
  Side columns;
  /// The masses here are the given ones times 2^-mass_exponent. Their total is near 1, so no sum or product of them
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
  double mass_tolerance = 0;    ///< relative difference of masses attributed to rounding; the largest of all clients
  double mass_rescaled = 0;     ///< largest |factor - 1| by which a target, or a component of it, was scaled
  bool has_forbidden_pairs = false;
  bool symmetric_cost = false;  ///< only checked if the topology can use it
  double largest_cost = 0;      ///< of the finite ones, in absolute value; an upper bound when costs come from points
  std::size_t first_held_row = 0;
  std::uint64_t most_sums = 0;  ///< numbers that secure sums may show, the smallest of all clients' limits; 0: no limit

  /// An amount of mass, in the units of the masses given.
  [[nodiscard]] double as_given(double amount) const { return std::ldexp(amount, mass_exponent); }
  [[nodiscard]] std::size_t n() const { return a.size(); }
  [[nodiscard]] std::size_t m() const { return own_columns().size(); }
  [[nodiscard]] Range own_rows() const { return rows.slices[client]; }
  [[nodiscard]] Range own_columns() const { return columns.slices[client]; }
  [[nodiscard]] const double* target(std::size_t k) const { return b.data() + k * m(); }
  /// The initial potential of a target, on own active columns, in units of the cost. -inf where the target has no mass,
  /// whatever was given there; elsewhere finite, also when divided by epsilon. Null if none was given: on all clients
  /// or on none, including those without columns.
  [[nodiscard]] const double* initial_g(std::size_t target) const;

  /// The block this client holds, in active numbers; empty if it holds none.
  [[nodiscard]] Range block_rows() const;
  [[nodiscard]] Range block_columns() const;
  [[nodiscard]] CostBlock block() const;
  /// All rows of its own columns, if the layout has them.
  [[nodiscard]] CostBlock column_block() const;
};

/// What a client knows of its problem before it has asked anybody.
[[nodiscard]] CheckedProblem not_yet_checked(const Problem& problem, const LayoutOf& layout_of,
                                             const Collectives& clients);

/// Who has given the clients their problems: one caller, who knows what each needs, or each client's own user.
enum class GivenBy : char { one_caller, each_client };

/// Throws InputError unless it is a usable regularisation.
void check_epsilon(const Problem& problem);

/// Checks shapes, masses, epsilon and every cost or coordinate, each on a client that holds it. Throws the same
/// InputError on all clients, naming the first culprit. With Feasibility::check, also proves that the allowed pairs can
/// carry the masses, unless some client keeps its masses private. Problems given by each client are compared, where
/// they are not in parts.
[[nodiscard]] CheckedProblem check_problem(const Problem& problem, const Options& options, const LayoutOf& layout_of,
                                           const Collectives& clients, int threads,
                                           GivenBy given_by = GivenBy::one_caller);

/// For a single client.
[[nodiscard]] CheckedProblem check_problem(const Problem& problem, Feasibility feasibility, int threads);

}  // namespace fedsinkhorn
