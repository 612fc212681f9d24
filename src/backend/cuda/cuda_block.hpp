// A block in the memory of a device. No header of CUDA is needed to include this.
#pragma once

#include "kernel/block.hpp"

namespace fedsinkhorn::cuda {

/// On device settings.device, which is one of devices() and supported. The block is not empty. The kernel is one the
/// device can hold: not 50 digits, and online only where the input has points. The block's input must outlive it.
[[nodiscard]] std::unique_ptr<Block> make_cuda_block(const CostBlock& block, const BlockSettings& settings);

/// Device memory such a block will take, scratch included. dimension: of the points; 0: a cost matrix. As float64: it
/// cannot wrap.
[[nodiscard]] double cuda_block_bytes(const KernelSpec& spec, std::size_t rows, std::size_t columns,
                                      std::size_t targets, std::size_t dimension);

}  // namespace fedsinkhorn::cuda
