// Products of stored rows: q = K v and r += K' u, block by block.
// Included by simd.cpp once per instruction set, hence the toggling guard.
#if defined(FEDSINKHORN_BACKEND_CPU_PRODUCTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FEDSINKHORN_BACKEND_CPU_PRODUCTS_INL
#undef FEDSINKHORN_BACKEND_CPU_PRODUCTS_INL
#else
#define FEDSINKHORN_BACKEND_CPU_PRODUCTS_INL
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

// Loads a stored row as the type the products are computed in.

template <class V, class S>
struct Lanes;

template <>
struct Lanes<double, double> {
  using D = D64;
  static HWY_INLINE auto load(const double* p) { return hn::LoadU(D(), p); }
};
template <>
struct Lanes<double, float> {
  using D = D64;
  static HWY_INLINE auto load(const float* p) { return hn::PromoteTo(D(), hn::LoadU(Half32(), p)); }
};
template <>
struct Lanes<float, float> {
  using D = D32;
  static HWY_INLINE auto load(const float* p) { return hn::LoadU(D(), p); }
};

// float32 sums are added to a float64 total every so many columns, so that their error does not grow with the row.
template <class V>
constexpr std::size_t kSumBlock = sizeof(V) == 8 ? std::numeric_limits<std::size_t>::max() : 2048;

// Prefetching rows makes them arrive faster: a core's own prefetchers leave part of the bus idle. Loops go two lines at
// a time and ask for both, or only for the first on processors that fetch lines in pairs.
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kStepBytes = 2 * kLineBytes;
constexpr std::size_t kStreamAhead = 4096;

enum class Lines : std::size_t { every = 2, every_other = 1 };

template <std::size_t Rows, Lines Asked, class S>
HWY_INLINE void ask_for(const S* rows, std::size_t stride) {
  for (std::size_t k = 0; k < Rows; ++k) {
    for (std::size_t line = 0; line < static_cast<std::size_t>(Asked); ++line) {
      __builtin_prefetch(reinterpret_cast<const char*>(rows + k * stride) + line * kLineBytes, 0, 2);
    }
  }
}

// R rows of products. Meanwhile prefetches P rows starting at `ahead`.
template <class S, class V, std::size_t R, std::size_t P, Lines Asked>
void dot_block(const S* HWY_RESTRICT rows, std::size_t stride, std::size_t columns, const S* ahead,
               const V* HWY_RESTRICT v, double* q) {
  using L = Lanes<V, S>;
  const typename L::D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t step = kStepBytes / sizeof(S);
  for (std::size_t k = 0; k < R; ++k) q[k] = 0;
  for (std::size_t first = 0; first < columns;) {
    const std::size_t last = columns - first > kSumBlock<V> ? first + kSumBlock<V> : columns;
    hn::Vec<typename L::D> sum[R];
    for (std::size_t k = 0; k < R; ++k) sum[k] = hn::Zero(d);
    for (std::size_t begin = first; begin < last; begin += step) {
      ask_for<P, Asked>(ahead + begin, stride);
      const std::size_t end = last - begin > step ? begin + step : last;
      for (std::size_t j = begin; j < end; j += lanes) {
        const auto vj = hn::LoadU(d, v + j);
        for (std::size_t k = 0; k < R; ++k) sum[k] = hn::MulAdd(L::load(rows + k * stride + j), vj, sum[k]);
      }
    }
    for (std::size_t k = 0; k < R; ++k) q[k] += total(d, sum[k]);
    first = last;
  }
}

template <class S, std::size_t R, std::size_t P, Lines Asked>
void add_block(const S* HWY_RESTRICT rows, std::size_t stride, std::size_t columns, const S* ahead,
               const double* HWY_RESTRICT u, double* HWY_RESTRICT r) {
  using L = Lanes<double, S>;
  const typename L::D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t step = kStepBytes / sizeof(S);
  hn::Vec<typename L::D> scale[R];
  for (std::size_t k = 0; k < R; ++k) scale[k] = hn::Set(d, u[k]);
  for (std::size_t begin = 0; begin < columns; begin += step) {
    ask_for<P, Asked>(ahead + begin, stride);
    const std::size_t end = columns - begin > step ? begin + step : columns;
    for (std::size_t j = begin; j < end; j += lanes) {
      auto sum = hn::LoadU(d, r + j);
      for (std::size_t k = 0; k < R; ++k) sum = hn::MulAdd(L::load(rows + k * stride + j), scale[k], sum);
      hn::StoreU(sum, d, r + j);
    }
  }
}

// Eight rows at a time, and the rest in fours, twos and one. Without columns `rows` may be null: nothing is prefetched.
template <class S, class V, class Way>
void dot_rows(const S* rows, std::size_t stride, std::size_t count, std::size_t columns, const V* v, double* q) {
  if (columns == 0) {
    for (std::size_t i = 0; i < count; ++i) q[i] = 0;
    return;
  }
  for (; count >= 8; count -= 8, rows += 8 * stride, q += 8) Way::template dot<S, V, 8>(rows, stride, columns, v, q);
  for (; count >= 4; count -= 4, rows += 4 * stride, q += 4) Way::template dot<S, V, 4>(rows, stride, columns, v, q);
  for (; count >= 2; count -= 2, rows += 2 * stride, q += 2) Way::template dot<S, V, 2>(rows, stride, columns, v, q);
  for (; count >= 1; count -= 1, rows += stride, q += 1) Way::template dot<S, V, 1>(rows, stride, columns, v, q);
}
template <class S, class Way>
void add_rows(const S* rows, std::size_t stride, std::size_t count, std::size_t columns, const double* u, double* r) {
  if (columns == 0) return;
  for (; count >= 8; count -= 8, rows += 8 * stride, u += 8) Way::template add<S, 8>(rows, stride, columns, u, r);
  for (; count >= 4; count -= 4, rows += 4 * stride, u += 4) Way::template add<S, 4>(rows, stride, columns, u, r);
  for (; count >= 2; count -= 2, rows += 2 * stride, u += 2) Way::template add<S, 2>(rows, stride, columns, u, r);
  for (; count >= 1; count -= 1, rows += stride, u += 1) Way::template add<S, 1>(rows, stride, columns, u, r);
}

// Prefetches half of the following rows during the products, the others during the additions: memory stays busy.
template <Lines Asked>
struct Spread {
  template <class S, class V, std::size_t R>
  static HWY_INLINE void dot(const S* rows, std::size_t stride, std::size_t columns, const V* v, double* q) {
    dot_block<S, V, R, R / 2, Asked>(rows, stride, columns, rows + R * stride, v, q);
  }
  template <class S, std::size_t R>
  static HWY_INLINE void add(const S* rows, std::size_t stride, std::size_t columns, const double* u, double* r) {
    add_block<S, R, R - R / 2, Asked>(rows, stride, columns, rows + (R + R / 2) * stride, u, r);
  }
};

// Prefetches the rows a little ahead during the products. During the additions they are in cache, so the bus brings in
// those that follow.
template <Lines Asked>
struct Late {
  template <class S, class V, std::size_t R>
  static HWY_INLINE void dot(const S* rows, std::size_t stride, std::size_t columns, const V* v, double* q) {
    dot_block<S, V, R, R, Asked>(rows, stride, columns, rows + kStreamAhead / sizeof(S), v, q);
  }
  template <class S, std::size_t R>
  static HWY_INLINE void add(const S* rows, std::size_t stride, std::size_t columns, const double* u, double* r) {
    add_block<S, R, R, Asked>(rows, stride, columns, rows + R * stride, u, r);
  }
};

struct Silent {
  template <class S, class V, std::size_t R>
  static HWY_INLINE void dot(const S* rows, std::size_t stride, std::size_t columns, const V* v, double* q) {
    dot_block<S, V, R, 0, Lines::every>(rows, stride, columns, rows, v, q);
  }
  template <class S, std::size_t R>
  static HWY_INLINE void add(const S* rows, std::size_t stride, std::size_t columns, const double* u, double* r) {
    add_block<S, R, 0, Lines::every>(rows, stride, columns, rows, u, r);
  }
};

template <class S, class V, class Way>
constexpr RowLoops<S, V> kLoops = {dot_rows<S, V, Way>, add_rows<S, Way>};

// In the order of Asking.
template <class S, class V>
constexpr ProductOps<S, V> product_ops() {
  return {{kLoops<S, V, Spread<Lines::every>>, kLoops<S, V, Spread<Lines::every_other>>,
           kLoops<S, V, Late<Lines::every>>, kLoops<S, V, Late<Lines::every_other>>, kLoops<S, V, Silent>}};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::cpu
HWY_AFTER_NAMESPACE();
// NOLINTEND(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)

#endif
