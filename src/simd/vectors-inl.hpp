// Vectors of the instruction set being compiled for.
// Included by simd.cpp once per instruction set, hence the toggling guard.
#if defined(FEDSINKHORN_BACKEND_CPU_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FEDSINKHORN_BACKEND_CPU_VECTORS_INL
#undef FEDSINKHORN_BACKEND_CPU_VECTORS_INL
#else
#define FEDSINKHORN_BACKEND_CPU_VECTORS_INL
#endif

#include <hwy/highway.h>

// Plain arrays of vectors: members of std::array would not be compiled for the target, so not inlined.
// NOLINTBEGIN(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)
HWY_BEFORE_NAMESPACE();
namespace fedsinkhorn::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::ScalableTag<double>;
using D32 = hn::ScalableTag<float>;
using Half32 = hn::Rebind<float, D64>;  // as many floats as there are doubles in a vector

HWY_INLINE double total(D64 d, hn::Vec<D64> x) { return hn::GetLane(hn::SumOfLanes(d, x)); }
HWY_INLINE double total(D32 d, hn::Vec<D32> x) {
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, lanes);
  double sum = 0;
  for (std::size_t l = 0; l < hn::Lanes(d); ++l) sum += static_cast<double>(lanes[l]);
  return sum;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::cpu
HWY_AFTER_NAMESPACE();
// NOLINTEND(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)

#endif
