// Products of stored rows: q = K v and r += K' u, block by block.
// Included by simd.cpp once per instruction set, which is why the guard is one that toggles.
#if defined(FEDSINKHORN_BACKEND_CPU_PRODUCTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FEDSINKHORN_BACKEND_CPU_PRODUCTS_INL
#undef FEDSINKHORN_BACKEND_CPU_PRODUCTS_INL
#else
#define FEDSINKHORN_BACKEND_CPU_PRODUCTS_INL
#endif

#include <cstddef>
#include <limits>

#include "backend/cpu/simd.hpp"
#include "backend/cpu/vectors-inl.hpp"

// Members of std::array would not be compiled for the target, and so not be inlined: plain arrays of vectors.
// NOLINTBEGIN(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)
HWY_BEFORE_NAMESPACE();
namespace fedsinkhorn::cpu {
namespace HWY_NAMESPACE {
namespace {

// Loading a stored row as the type the products are computed in.

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

// float32 sums are moved into a float64 total every so many columns, so that their error does not grow with the row.
template <class V>
constexpr std::size_t kSumBlock = sizeof(V) == 8 ? std::numeric_limits<std::size_t>::max() : 2048;

// Rows come from memory faster when asked for ahead of time: a core's own prefetchers leave part of the bus idle. Step:
// bytes from one request to the next. AMD's cores fetch lines in pairs, and asking for every line of rows of doubles
// slows them down (a fused pass takes 1.4 instead of 1.2 reads); Intel's do not, and asking for every other one does
// (1.66 instead of 1.24 reads). Rows of floats, which take half the bytes a step, want every line on both.
constexpr std::size_t kLine = 64;
constexpr std::size_t kLinePair = 128;
constexpr std::size_t kPrefetchAhead = 4096;

template <std::size_t R, class S>
HWY_INLINE void prefetch_rows(const S* rows, std::size_t stride, std::size_t ahead) {
  for (std::size_t k = 0; k < R; ++k) {
    __builtin_prefetch(reinterpret_cast<const char*>(rows + k * stride) + ahead, 0, 2);
  }
}

template <class S, class V, std::size_t Step, std::size_t R>
void dot_block(const S* HWY_RESTRICT rows, std::size_t stride, std::size_t columns, const V* HWY_RESTRICT v,
               double* q) {
  using L = Lanes<V, S>;
  const typename L::D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t step = Step / sizeof(S);
  for (std::size_t k = 0; k < R; ++k) q[k] = 0;
  for (std::size_t first = 0; first < columns;) {
    const std::size_t last = columns - first > kSumBlock<V> ? first + kSumBlock<V> : columns;
    hn::Vec<typename L::D> sum[R];
    for (std::size_t k = 0; k < R; ++k) sum[k] = hn::Zero(d);
    for (std::size_t begin = first; begin < last; begin += step) {
      prefetch_rows<R>(rows + begin, stride, kPrefetchAhead);
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

template <class S, std::size_t Step, std::size_t R>
void add_block(const S* HWY_RESTRICT rows, std::size_t stride, std::size_t columns, const double* HWY_RESTRICT u,
               double* HWY_RESTRICT r) {
  using L = Lanes<double, S>;
  const typename L::D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t step = Step / sizeof(S);
  hn::Vec<typename L::D> scale[R];
  for (std::size_t k = 0; k < R; ++k) scale[k] = hn::Set(d, u[k]);
  for (std::size_t begin = 0; begin < columns; begin += step) {
    // These rows are in cache already; the bus is used to bring in those that follow.
    prefetch_rows<R>(rows + begin, stride, R * stride * sizeof(S));
    const std::size_t end = columns - begin > step ? begin + step : columns;
    for (std::size_t j = begin; j < end; j += lanes) {
      auto sum = hn::LoadU(d, r + j);
      for (std::size_t k = 0; k < R; ++k) sum = hn::MulAdd(L::load(rows + k * stride + j), scale[k], sum);
      hn::StoreU(sum, d, r + j);
    }
  }
}

template <class S, class V, std::size_t Step>
void dot_rows(const S* rows, std::size_t stride, std::size_t count, std::size_t columns, const V* v, double* q) {
  for (; count >= 8; count -= 8, rows += 8 * stride, q += 8) dot_block<S, V, Step, 8>(rows, stride, columns, v, q);
  for (; count >= 4; count -= 4, rows += 4 * stride, q += 4) dot_block<S, V, Step, 4>(rows, stride, columns, v, q);
  for (; count >= 2; count -= 2, rows += 2 * stride, q += 2) dot_block<S, V, Step, 2>(rows, stride, columns, v, q);
  for (; count >= 1; count -= 1, rows += stride, q += 1) dot_block<S, V, Step, 1>(rows, stride, columns, v, q);
}

template <class S, std::size_t Step>
void add_rows(const S* rows, std::size_t stride, std::size_t count, std::size_t columns, const double* u, double* r) {
  for (; count >= 8; count -= 8, rows += 8 * stride, u += 8) add_block<S, Step, 8>(rows, stride, columns, u, r);
  for (; count >= 4; count -= 4, rows += 4 * stride, u += 4) add_block<S, Step, 4>(rows, stride, columns, u, r);
  for (; count >= 2; count -= 2, rows += 2 * stride, u += 2) add_block<S, Step, 2>(rows, stride, columns, u, r);
  for (; count >= 1; count -= 1, rows += stride, u += 1) add_block<S, Step, 1>(rows, stride, columns, u, r);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::cpu
HWY_AFTER_NAMESPACE();
// NOLINTEND(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)

#endif
