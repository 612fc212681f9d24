// Costs read from a matrix, where it is.
#pragma once

#include <memory>

#include "cost/cost_source.hpp"

namespace fedsinkhorn {

[[nodiscard]] std::unique_ptr<CostSource> make_matrix_cost(const CostBlock& block);

}  // namespace fedsinkhorn
