// The kernels of the processors by kind, for tests of the verbs.
#pragma once

#include <memory>
#include <stdexcept>

#include "backend/cpu/make_kernel.hpp"

namespace fedsinkhorn::testing {

inline std::unique_ptr<Kernel> make_kernel(KernelKind kind, const KernelSpec& spec, const CostBlock& block,
                                           const CostSource& cost, const cpu::Simd& simd) {
  switch (kind) {
    case KernelKind::dense: return make_dense_kernel(spec, block, cost, simd);
    case KernelKind::online: return make_online_kernel(spec, block, cost, simd);
  }
  throw std::logic_error("a kernel that nobody knows");
}

}  // namespace fedsinkhorn::testing
