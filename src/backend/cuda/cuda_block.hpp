// A block in the memory of a device. No header of CUDA is needed to include this.
#pragma once

#include "kernel/block.hpp"

namespace fedsinkhorn::cuda {

/// On device settings.device, which is one of devices() and supported. The block is not empty. The kernel is one the
/// device can hold: not 50 digits, and online only where the input has points. The block's input must outlive it.
[[nodiscard]] std::unique_ptr<Block> make_cuda_block(const CostBlock& block, const BlockSettings& settings);

/// What the memory of a block depends on, beside its kernel.
struct BlockShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t dimension = 0;    ///< of the points; 0: a cost matrix
  std::size_t entry_bytes = 8;  ///< of an entry of that
  std::size_t differences = 0;  ///< that an acceleration keeps
};

/// Device memory such a block will take, scratch included. As float64: it cannot wrap.
[[nodiscard]] double cuda_block_bytes(const KernelSpec& spec, const BlockShape& shape);

}  // namespace fedsinkhorn::cuda
