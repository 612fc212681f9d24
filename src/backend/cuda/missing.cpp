// For builds without CUDA, where nobody can ask for blocks on a device.
#include <stdexcept>

#include "backend/cuda/cuda_block.hpp"
#include "backend/cuda/cuda_plan_kernel.hpp"

namespace fedsinkhorn::cuda {
namespace {

[[noreturn]] void refuse() { throw std::logic_error("work for a CUDA device in a build without it"); }

}  // namespace

std::unique_ptr<Block> make_dense_block(const CostBlock& /*block*/, const BlockSettings& /*settings*/) { refuse(); }
std::unique_ptr<Block> make_online_block(const CostBlock& block, const BlockSettings& settings) {
  return make_dense_block(block, settings);
}

double dense_block_bytes(const KernelSpec& /*spec*/, const BlockShape& /*shape*/) { return 0; }
double online_block_bytes(const KernelSpec& /*spec*/, const BlockShape& /*shape*/) { return 0; }

std::unique_ptr<PlanKernel> make_plan_kernel(const DeviceTask& /*task*/, std::span<const double> /*phi*/,
                                             std::span<const double> /*psi*/) {
  refuse();
}
void write_plan_rows(const DeviceTask& /*task*/, const PlanRows& /*rows*/) { refuse(); }
std::vector<double> row_log_sums(const DeviceTask& /*task*/, std::span<const double> /*psi*/) { refuse(); }
std::vector<double> column_log_sums(const DeviceTask& /*task*/, std::span<const double> /*phi*/) { refuse(); }

}  // namespace fedsinkhorn::cuda
