// Costs in the memory of a device.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "cost/cost_input.hpp"

namespace fedsinkhorn {

[[nodiscard]] std::shared_ptr<const CostInput> make_device_input(const DeviceCostMatrix& matrix);

/// Whether the block is one piece of a matrix on that device: whole rows, one after the other. Then its first row in
/// the matrix, else nothing.
[[nodiscard]] std::optional<std::size_t> piece_on_device(const CostBlock& block, int device);

}  // namespace fedsinkhorn
