// What an ordinary client has seen when a solve under policy sums is over: the sums it has unmasked, and the points
// they belong to. Masks play no part here; what is left are numbers that every client gets by following the program.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/range.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"
#include "privacy/held_apart.hpp"

namespace fedsinkhorn::testing {

using Vectors = std::vector<std::vector<double>>;

/// What a Newton step has added up: numbers about B'B, with B = diag(a)^-1/2 P diag(c)^-1/2.
struct SeenStep {
  std::vector<double> v;         ///< P = diag(u) K diag(v)
  std::vector<double> root_c;    ///< the square roots of the columns of P
  std::vector<double> diagonal;  ///< of 1 - B'B; empty if it was not added up
  std::vector<double> matrix;    ///< the lower triangle of B'B, row by row; empty if it was not added up
  Vectors directions, products;  ///< products[k] = B'B directions[k]
  std::vector<double> own_plan;  ///< the curious client's rows of P, one after the other
};

/// In the kernel K that the solve ended with, that is, since the potentials in it have moved for the last time.
struct Seen {
  Vectors v, r;       ///< one per round: r = K'u with u = a / (K v)
  Vectors own_plans;  ///< of the rounds, as in SeenStep
  std::vector<SeenStep> steps;
};

/// The rank of the client that looks. It owns all columns, so that nothing has to be gathered; all clients see as much.
inline constexpr std::size_t kInsider = 0;

struct InsiderSolve {
  Result result;  ///< of that client
  Seen seen;
  std::vector<double> psi;  ///< K = exp((phi + psi' - C) / epsilon): all clients know psi
};

/// method: sinkhorn, anderson, newton or auto. Clients are dealt the rows; the rest of the options is the caller's.
[[nodiscard]] InsiderSolve solve_with_an_insider(const OwnedProblem& owned, const std::vector<std::size_t>& rows,
                                                 const std::string& method, Options options);

/// Rows of the plan diag(u) K diag(v) with u = a / (K v), one after the other.
[[nodiscard]] std::vector<double> plan_rows(const OwnedProblem& owned, std::span<const double> psi,
                                            std::span<const double> v, Range rows);

}  // namespace fedsinkhorn::testing
