// A block in the memory of a device, for each kernel there. No header of CUDA is needed to include this.
#pragma once

#include "kernel/kernel_entry.hpp"

namespace fedsinkhorn::cuda {

/// A kernel that is stored: float64, mixed, float32, bfloat16. On device settings.device, which is one of devices() and
/// supported. The block is not empty.
[[nodiscard]] std::unique_ptr<Block> make_dense_block(const CostBlock& block, const BlockSettings& settings);
/// Device memory such a block will take, scratch included. As float64: it cannot wrap.
[[nodiscard]] double dense_block_bytes(const KernelSpec& spec, const BlockShape& shape);

/// Likewise a kernel that is computed from points: float64 (mixed is the same), float32, tf32.
[[nodiscard]] std::unique_ptr<Block> make_online_block(const CostBlock& block, const BlockSettings& settings);
[[nodiscard]] double online_block_bytes(const KernelSpec& spec, const BlockShape& shape);

}  // namespace fedsinkhorn::cuda
