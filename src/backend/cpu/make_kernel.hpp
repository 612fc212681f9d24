// The kernels of this backend.
#pragma once

#include <memory>

#include "cost/cost_source.hpp"
#include "kernel/kernel_entry.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

/// cost: the costs of the block. The block also tells where in the whole problem they lie. cost and simd must outlive
/// the kernel.
using MakeKernel = std::unique_ptr<Kernel>(const KernelSpec& spec, const CostBlock& block, const CostSource& cost,
                                           const cpu::Simd& simd);

/// Stores K.
[[nodiscard]] std::unique_ptr<Kernel> make_dense_kernel(const KernelSpec& spec, const CostBlock& block,
                                                        const CostSource& cost, const cpu::Simd& simd);
[[nodiscard]] double dense_kernel_bytes(const KernelSpec& spec, const BlockShape& shape);

/// Recomputes K whenever it is needed.
[[nodiscard]] std::unique_ptr<Kernel> make_online_kernel(const KernelSpec& spec, const CostBlock& block,
                                                         const CostSource& cost, const cpu::Simd& simd);
[[nodiscard]] double online_kernel_bytes(const KernelSpec& spec, const BlockShape& shape);

}  // namespace fedsinkhorn
