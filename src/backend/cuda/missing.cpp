// For builds without CUDA: answers to the questions about devices.
#include <stdexcept>

#include "backend/cuda/cuda_block.hpp"
#include "backend/cuda/device.hpp"

namespace fedsinkhorn::cuda {

std::vector<DeviceDescription> devices() { return {}; }

std::uint64_t free_memory(int /*device*/) { return 0; }

std::string why_no_device() { return "built without CUDA"; }

std::unique_ptr<Block> make_dense_block(const CostBlock& /*block*/, const BlockSettings& /*settings*/) {
  throw std::logic_error("a block for CUDA in a build without it");
}
std::unique_ptr<Block> make_online_block(const CostBlock& block, const BlockSettings& settings) {
  return make_dense_block(block, settings);
}

double dense_block_bytes(const KernelSpec& /*spec*/, const BlockShape& /*shape*/) { return 0; }
double online_block_bytes(const KernelSpec& /*spec*/, const BlockShape& /*shape*/) { return 0; }

}  // namespace fedsinkhorn::cuda
