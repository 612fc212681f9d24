// The kernels of this backend.
#pragma once

#include <cstddef>
#include <memory>

#include "cost/cost_source.hpp"
#include "kernel/kernel.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

/// The cost source and the table must outlive the kernel.
[[nodiscard]] std::unique_ptr<Kernel> make_kernel(const KernelSpec& spec, const CostSource& cost,
                                                  const cpu::Simd& simd);

/// Bytes such a kernel for n x m costs and that many targets will hold, scratch included. As float64: it cannot wrap.
[[nodiscard]] double kernel_bytes(const KernelSpec& spec, std::size_t n, std::size_t m, std::size_t targets);

}  // namespace fedsinkhorn
