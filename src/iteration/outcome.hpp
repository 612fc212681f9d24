// The result of an iteration per target, before costs are evaluated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fedsinkhorn/result.hpp"
#include "iteration/potentials.hpp"

namespace fedsinkhorn {

/// Of all rows and columns, as far as this client knows those of the others.
struct WholePotentials {
  Potential f;
  Potential g;
};

/// In the units of the checked problem, which may not be those of the given masses (CheckedProblem::mass_exponent).
struct Outcome {
  std::size_t target = 0;
  Status status = Status::iteration_limit;
  std::int64_t iterations = 0;
  double epsilon = 0;    ///< of f and g; differs from the problem's only during annealing
  Potential f;           ///< active rows
  Potential g;           ///< active columns
  MarginalErrors error;  ///< at the precision of the iteration
  std::optional<WholePotentials> whole;
};

}  // namespace fedsinkhorn
