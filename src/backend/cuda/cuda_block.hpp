// A block in device memory. Including this needs no CUDA header.
#pragma once

#include "kernel/block.hpp"

namespace fedsinkhorn::cuda {

/// On device settings.device, which must be one of devices() and supported. The block must not be empty. The kernel
/// must fit the device: not 50 digits, and online only if the input has points. The block's input must outlive it.
[[nodiscard]] std::unique_ptr<Block> make_cuda_block(const CostBlock& block, const BlockSettings& settings);

/// What determines the memory of a block, besides its kernel.
struct BlockShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t dimension = 0;    ///< of the points; 0: a cost matrix
  std::size_t entry_bytes = 8;  ///< per entry of that matrix
  std::size_t differences = 0;  ///< kept by an acceleration
};

/// Device memory such a block will take, including scratch. As float64, so it cannot wrap.
[[nodiscard]] double cuda_block_bytes(const KernelSpec& spec, const BlockShape& shape);

}  // namespace fedsinkhorn::cuda
