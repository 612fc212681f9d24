// A block in the memory of the host, computed with by its processors.
#pragma once

#include "kernel/block.hpp"

namespace fedsinkhorn {

/// The block's input must outlive it.
[[nodiscard]] std::unique_ptr<Block> make_cpu_block(const CostBlock& block, const BlockSettings& settings);

}  // namespace fedsinkhorn
