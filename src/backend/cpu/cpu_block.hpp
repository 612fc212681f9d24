// A block in host memory, computed on the CPU.
#pragma once

#include "backend/cpu/make_kernel.hpp"
#include "kernel/block.hpp"

namespace fedsinkhorn {

[[nodiscard]] std::unique_ptr<Block> make_cpu_block(const CostBlock& block, const BlockSettings& settings,
                                                    MakeKernel* make_kernel);

/// Uses that kernel.
template <MakeKernel* make_kernel>
[[nodiscard]] std::unique_ptr<Block> make_cpu_block(const CostBlock& block, const BlockSettings& settings) {
  return make_cpu_block(block, settings, make_kernel);
}

}  // namespace fedsinkhorn
