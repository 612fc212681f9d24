// The costs of a block on the current device.
#pragma once

#include "backend/cuda/costs.hpp"
#include "kernel/block.hpp"

namespace fedsinkhorn::cuda {

/// Copies points, or the chosen rows and columns of a matrix in its own type. Of a matrix that lies on this device,
/// whole rows are used in place.
[[nodiscard]] DeviceCosts upload_costs(const CostBlock& block, const cpu::Simd& simd, int threads,
                                       const Stream& stream);
/// Device memory that copies take. dimension: of the points; 0: a matrix with entries of entry_bytes.
[[nodiscard]] double uploaded_bytes(std::size_t rows, std::size_t columns, std::size_t dimension,
                                    std::size_t entry_bytes);

}  // namespace fedsinkhorn::cuda
