// Costs between points.
// Included by simd.cpp once per instruction set, hence the toggling guard.
#if defined(FEDSINKHORN_BACKEND_CPU_DISTANCES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FEDSINKHORN_BACKEND_CPU_DISTANCES_INL
#undef FEDSINKHORN_BACKEND_CPU_DISTANCES_INL
#else
#define FEDSINKHORN_BACKEND_CPU_DISTANCES_INL
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

// Pairwise costs: R rows of x against one panel of kPanel points, all partial results in registers.

struct SquaredDifference {
  static HWY_INLINE hn::Vec<D64> add(hn::Vec<D64> x, hn::Vec<D64> y, hn::Vec<D64> sum) {
    const auto difference = hn::Sub(x, y);
    return hn::MulAdd(difference, difference, sum);
  }
};
struct Product {
  static HWY_INLINE hn::Vec<D64> add(hn::Vec<D64> x, hn::Vec<D64> y, hn::Vec<D64> sum) { return hn::MulAdd(x, y, sum); }
};

template <class Term, std::size_t R>
HWY_INLINE void pairwise_panel(const double* HWY_RESTRICT x, std::size_t dimension, const double* HWY_RESTRICT panel,
                               double* HWY_RESTRICT out, std::size_t out_stride) {
  const hn::CappedTag<double, kPanel> d;
  constexpr std::size_t lanes = HWY_LANES(double) < kPanel ? HWY_LANES(double) : kPanel;
  constexpr std::size_t vectors = kPanel / lanes;
  hn::Vec<decltype(d)> sum[R][vectors];
  for (std::size_t k = 0; k < R; ++k) {
    for (std::size_t l = 0; l < vectors; ++l) sum[k][l] = hn::Zero(d);
  }
  for (std::size_t c = 0; c < dimension; ++c) {
    hn::Vec<decltype(d)> y[vectors];
    for (std::size_t l = 0; l < vectors; ++l) y[l] = hn::LoadU(d, panel + c * kPanel + l * lanes);
    for (std::size_t k = 0; k < R; ++k) {
      const auto xk = hn::Set(d, x[k * dimension + c]);
      for (std::size_t l = 0; l < vectors; ++l) sum[k][l] = Term::add(xk, y[l], sum[k][l]);
    }
  }
  for (std::size_t k = 0; k < R; ++k) {
    for (std::size_t l = 0; l < vectors; ++l) hn::StoreU(sum[k][l], d, out + k * out_stride + l * lanes);
  }
}

template <class Term>
void pairwise(const double* x, std::size_t count, std::size_t dimension, const double* panels, std::size_t panel_count,
              double* out, std::size_t out_stride) {
  // As many rows at once as keep the partial results in registers: 32 registers with AVX-512, 16 before.
  constexpr std::size_t rows = HWY_LANES(double) >= 8 ? 4 : 2;
  for (std::size_t p = 0; p < panel_count; ++p) {
    const double* panel = panels + p * dimension * kPanel;
    std::size_t k = 0;
    for (; k + rows <= count; k += rows) {
      pairwise_panel<Term, rows>(x + k * dimension, dimension, panel, out + k * out_stride + p * kPanel, out_stride);
    }
    for (; k < count; ++k) {
      pairwise_panel<Term, 1>(x + k * dimension, dimension, panel, out + k * out_stride + p * kPanel, out_stride);
    }
  }
}

bool distance_from_product(double x_norm, const double* y_norm, std::size_t columns, double* out) {
  const D64 d;
  const auto norm = hn::Set(d, x_norm);
  const auto two = hn::Set(d, 2.0);
  const auto share = hn::Set(d, kCancelled);
  auto cancelled = hn::Lt(norm, hn::Zero(d));
  for (std::size_t j = 0; j < columns; j += hn::Lanes(d)) {
    const auto norms = hn::Add(norm, hn::LoadU(d, y_norm + j));
    const auto distance = hn::Max(hn::Zero(d), hn::NegMulAdd(two, hn::LoadU(d, out + j), norms));
    cancelled = hn::Or(cancelled, hn::Lt(distance, hn::Mul(share, norms)));
    hn::StoreU(distance, d, out + j);
  }
  return !hn::AllFalse(d, cancelled);
}

void square_root(std::size_t columns, double* out) {
  const D64 d;
  for (std::size_t j = 0; j < columns; j += hn::Lanes(d)) hn::StoreU(hn::Sqrt(hn::LoadU(d, out + j)), d, out + j);
}

bool halve(double close, std::size_t columns, double* out) {
  const D64 d;
  const auto half = hn::Set(d, 0.5);
  const auto limit = hn::Set(d, close);
  auto is_close = hn::Lt(limit, hn::Zero(d));
  for (std::size_t j = 0; j < columns; j += hn::Lanes(d)) {
    const auto cost = hn::Mul(half, hn::LoadU(d, out + j));
    is_close = hn::Or(is_close, hn::Lt(cost, limit));
    hn::StoreU(cost, d, out + j);
  }
  return !hn::AllFalse(d, is_close);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::cpu
HWY_AFTER_NAMESPACE();
// NOLINTEND(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)

#endif
