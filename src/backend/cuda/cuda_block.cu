// Placeholder until the blocks on the device are there: nothing is computed here yet.
#include "backend/cuda/cuda_block.hpp"

#include <stdexcept>

namespace fedsinkhorn::cuda {

std::unique_ptr<Block> make_cuda_block(const CostBlock& /*block*/, const BlockSettings& /*settings*/) {
  throw std::logic_error("the CUDA backend is not there yet");
}

double cuda_block_bytes(const KernelSpec& /*spec*/, std::size_t /*rows*/, std::size_t /*columns*/,
                        std::size_t /*targets*/, std::size_t /*dimension*/) {
  return 0;
}

}  // namespace fedsinkhorn::cuda
