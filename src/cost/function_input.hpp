// Costs computed by a function of the caller.
#pragma once

#include <memory>

#include "cost/cost_input.hpp"

namespace fedsinkhorn {

[[nodiscard]] std::shared_ptr<const CostInput> make_function_input(std::shared_ptr<const CostFunction> function);

}  // namespace fedsinkhorn
