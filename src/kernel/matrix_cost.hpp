// Costs from a matrix that lies in memory or in a mapped file.
#pragma once

#include <memory>

#include "kernel/cost_source.hpp"

namespace fedsinkhorn {

[[nodiscard]] std::unique_ptr<CostSource> make_matrix_cost(const CostMatrix& cost, const CheckedProblem& problem);

}  // namespace fedsinkhorn
