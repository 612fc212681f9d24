// Fifty decimal digits: the reference for everything else, and for studying how small epsilon can be.
#pragma once

#include <vector>

#include "iteration/outcome.hpp"
#include "iteration/stopping.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

struct PreciseOutcome {
  Outcome outcome;
  Costs cost;
};

/// The textbook iteration u = a / (K v), v = b / (K' u) with K = exp(-C / epsilon), in numbers whose exponent does not
/// overflow for any accepted C / epsilon. Costs from points are computed in 50 digits too. Single-threaded; stores n x
/// m numbers of about 48 bytes.
[[nodiscard]] std::vector<PreciseOutcome> precise_sinkhorn(const CheckedProblem& problem, Monitor& monitor);

[[nodiscard]] double precise_bytes(std::size_t n, std::size_t m);

}  // namespace fedsinkhorn
