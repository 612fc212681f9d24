// Costs given as a matrix.
#pragma once

#include <memory>

#include "cost/cost_input.hpp"

namespace fedsinkhorn {

/// Reads the matrix in place.
[[nodiscard]] std::shared_ptr<const CostInput> make_matrix_input(const CostMatrix& matrix);

}  // namespace fedsinkhorn
