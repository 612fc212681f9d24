// Exact sums, several at once.
// Included by simd.cpp once per instruction set, hence the toggling guard.
#if defined(FEDSINKHORN_BACKEND_CPU_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FEDSINKHORN_BACKEND_CPU_SUMS_INL
#undef FEDSINKHORN_BACKEND_CPU_SUMS_INL
#else
#define FEDSINKHORN_BACKEND_CPU_SUMS_INL
#endif

#include <cstddef>

#include "simd/simd.hpp"
#include "simd/vectors-inl.hpp"

// Plain arrays of vectors: members of std::array would not be compiled for the target, so not inlined.
// NOLINTBEGIN(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)
HWY_BEFORE_NAMESPACE();
namespace fedsinkhorn::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kExactLanes = 4;
using DExact = hn::CappedTag<double, kExactLanes>;

// The product, rounded. Compilers may fuse Mul with the following addition, which changes the rounding; adding -0 to
// any product leaves it unchanged.
HWY_INLINE hn::Vec<DExact> rounded_product(DExact d, hn::Vec<DExact> x, hn::Vec<DExact> y) {
  return hn::MulAdd(x, y, hn::Set(d, -0.0));
}

// ExactSum::add in every lane.
HWY_INLINE void add_exactly(hn::Vec<DExact> x, hn::Vec<DExact>& value, hn::Vec<DExact>& rest) {
  const auto sum = hn::Add(value, x);
  const auto x_part = hn::Sub(sum, value);
  rest = hn::Add(rest, hn::Add(hn::Sub(value, hn::Sub(sum, x_part)), hn::Sub(x, x_part)));
  value = sum;
}

// Each sum depends on the one before; several pairs at once keep the units busy.
template <std::size_t Pairs>
void exact_dots_of(const DotPair* pairs, std::size_t count, ExactSum* sums) {
  const DExact d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t vectors = kExactLanes / hn::MaxLanes(DExact());
  hn::Vec<DExact> value[Pairs * vectors];
  hn::Vec<DExact> rest[Pairs * vectors];
  for (std::size_t l = 0; l < Pairs * vectors; ++l) value[l] = rest[l] = hn::Zero(d);
  const std::size_t whole = count / kExactLanes * kExactLanes;
  for (std::size_t j = 0; j < whole; j += kExactLanes) {
    for (std::size_t p = 0; p < Pairs; ++p) {
      for (std::size_t l = 0; l < vectors; ++l) {
        const auto x = hn::LoadU(d, pairs[p].x + j + l * lanes);
        const auto y = hn::LoadU(d, pairs[p].y + j + l * lanes);
        add_exactly(rounded_product(d, x, y), value[p * vectors + l], rest[p * vectors + l]);
      }
    }
  }
  for (std::size_t p = 0; p < Pairs; ++p) {
    // The remainder, padded with zeros, which change no sum.
    HWY_ALIGN double x[kExactLanes] = {};
    HWY_ALIGN double y[kExactLanes] = {};
    for (std::size_t j = whole; j < count; ++j) {
      x[j - whole] = pairs[p].x[j];
      y[j - whole] = pairs[p].y[j];
    }
    HWY_ALIGN double values[kExactLanes];
    HWY_ALIGN double rests[kExactLanes];
    for (std::size_t l = 0; l < vectors; ++l) {
      auto& last = value[p * vectors + l];
      auto& last_rest = rest[p * vectors + l];
      add_exactly(rounded_product(d, hn::Load(d, x + l * lanes), hn::Load(d, y + l * lanes)), last, last_rest);
      hn::Store(last, d, values + l * lanes);
      hn::Store(last_rest, d, rests + l * lanes);
    }
    ExactSum total{values[0], rests[0]};
    for (std::size_t lane = 1; lane < kExactLanes; ++lane) total.add(ExactSum{values[lane], rests[lane]});
    sums[p] = total;
  }
}

void exact_dots(const DotPair* pairs, std::size_t pair_count, std::size_t count, ExactSum* sums) {
  std::size_t k = 0;
  for (; k + 2 <= pair_count; k += 2) exact_dots_of<2>(pairs + k, count, sums + k);
  if (k < pair_count) exact_dots_of<1>(pairs + k, count, sums + k);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::cpu
HWY_AFTER_NAMESPACE();
// NOLINTEND(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)

#endif
