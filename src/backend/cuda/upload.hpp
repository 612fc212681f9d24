// The costs of a block, brought onto the current device.
#pragma once

#include "backend/cuda/costs.hpp"
#include "kernel/block.hpp"

namespace fedsinkhorn::cuda {

/// Points, or the chosen rows and columns of a matrix in the type it has.
[[nodiscard]] DeviceCosts upload_costs(const CostBlock& block, const cpu::Simd& simd, int threads,
                                       const Stream& stream);
/// Device memory they take. dimension: of the points; 0: a matrix, with entries of so many bytes.
[[nodiscard]] double uploaded_bytes(std::size_t rows, std::size_t columns, std::size_t dimension,
                                    std::size_t entry_bytes);

}  // namespace fedsinkhorn::cuda
