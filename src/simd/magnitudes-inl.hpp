// Largest absolute values, at memory speed.
// Included by simd.cpp once per instruction set, hence the toggling guard.
#if defined(FEDSINKHORN_BACKEND_CPU_MAGNITUDES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FEDSINKHORN_BACKEND_CPU_MAGNITUDES_INL
#undef FEDSINKHORN_BACKEND_CPU_MAGNITUDES_INL
#else
#define FEDSINKHORN_BACKEND_CPU_MAGNITUDES_INL
#endif

#include <cstddef>
#include <limits>

#include "simd/simd.hpp"
#include "simd/vectors-inl.hpp"

// Plain arrays of vectors: members of std::array would not be compiled for the target, so not inlined.
// NOLINTBEGIN(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)
HWY_BEFORE_NAMESPACE();
namespace fedsinkhorn::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class T>
double largest_magnitude(const T* values, std::size_t count) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<hn::ScalableTag<T>>;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t at_once = 4;
  V best[at_once];
  V odd[at_once];  // sum of x - x: 0, or NaN if any x is not finite
  for (std::size_t l = 0; l < at_once; ++l) best[l] = odd[l] = hn::Zero(d);
  std::size_t j = 0;
  for (; j + at_once * lanes <= count; j += at_once * lanes) {
    for (std::size_t l = 0; l < at_once; ++l) {
      const auto x = hn::LoadU(d, values + j + l * lanes);
      best[l] = hn::Max(best[l], hn::Abs(x));
      odd[l] = hn::Add(odd[l], hn::Sub(x, x));
    }
  }
  for (std::size_t l = 1; l < at_once; ++l) {
    best[0] = hn::Max(best[0], best[l]);
    odd[0] = hn::Add(odd[0], odd[l]);
  }
  T greatest = hn::GetLane(hn::MaxOfLanes(d, best[0]));
  T oddities = hn::GetLane(hn::SumOfLanes(d, odd[0]));
  for (; j < count; ++j) {
    const T x = values[j] < 0 ? -values[j] : values[j];
    if (x > greatest) greatest = x;
    oddities += x - x;
  }
  return oddities == 0 ? static_cast<double>(greatest) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::cpu
HWY_AFTER_NAMESPACE();
// NOLINTEND(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)

#endif
