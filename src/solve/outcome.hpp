// What an iteration hands over for each target, before costs are evaluated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fedsinkhorn/result.hpp"
#include "solve/potentials.hpp"

namespace fedsinkhorn {

struct Outcome {
  std::size_t target = 0;
  Status status = Status::iteration_limit;
  std::int64_t iterations = 0;
  Potential f;           ///< active rows
  Potential g;           ///< active columns
  MarginalErrors error;  ///< at the precision of the iteration
};

}  // namespace fedsinkhorn
