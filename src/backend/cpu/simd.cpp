// Compiled once per instruction set by Highway's foreach_target: everything between HWY_BEFORE_NAMESPACE and
// HWY_AFTER_NAMESPACE exists in one copy per target; the selection at the end exists once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "backend/cpu/simd.hpp"
#include "fedsinkhorn/error.hpp"

// Members of std::array would not be compiled for the target, and so not be inlined: plain arrays of vectors.
// NOLINTBEGIN(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)
HWY_BEFORE_NAMESPACE();
namespace fedsinkhorn::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::ScalableTag<double>;
using D32 = hn::ScalableTag<float>;
using Half32 = hn::Rebind<float, D64>;  // as many floats as there are doubles in a vector

// ---------------------------------------------------------------------------------------------------------------------
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

HWY_INLINE double total(D64 d, hn::Vec<D64> x) { return hn::GetLane(hn::SumOfLanes(d, x)); }
HWY_INLINE double total(D32 d, hn::Vec<D32> x) {
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, lanes);
  double sum = 0;
  for (std::size_t l = 0; l < hn::Lanes(d); ++l) sum += static_cast<double>(lanes[l]);
  return sum;
}

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

// ---------------------------------------------------------------------------------------------------------------------
// Exponentials. The largest argument is clamped: beyond it exp overflows, and the loops that watch the scalings see
// the huge value and fall back to the log domain.

constexpr double kLargestExponent64 = 700.0;
constexpr double kSmallestExponent64 = -690.0;  // exp gives 2e-300; smaller values are flushed to 0
constexpr double kLargestExponent32 = 88.0;
constexpr double kSmallestExponent32 = -87.0;  // just above the smallest normal float

HWY_INLINE hn::Vec<D64> exponent(hn::Vec<D64> phi, hn::Vec<D64> psi, hn::Vec<D64> cost, hn::Vec<D64> inverse_epsilon) {
  return hn::Mul(hn::Sub(hn::Add(phi, psi), cost), inverse_epsilon);
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2, interpolated at Chebyshev nodes: exp within 1.7e-17 and 1.0e-8.
constexpr double kExpSeries64[] = {0.50000000000000010221,     0.16666666666666667453,   0.041666666666624127873,
                                   0.0083333333333300618325,   0.0013888888917213716901, 0.00019841269863053616878,
                                   0.000024801521295954375131, 2.7557268459997064772e-6, 2.7620088445409748161e-7,
                                   2.5100385495510319078e-8};
constexpr double kExpSeries32[] = {0.5, 0.16666576989698775683, 0.041666554617204574203, 0.0083631790527225773704,
                                   0.0013926183587713494542};

// x_l = exp(x_l), all of them between the exponents above, where results are normal numbers: that saves what a general
// exp spends on the ends of its range. exp(x) = 2^k exp(r), k the integer nearest to x / ln 2. Each step waits for the
// one before it; several vectors at once keep the units busy meanwhile.
template <std::size_t Vectors, std::size_t Terms>
HWY_INLINE void exp_normal(D64 d, hn::Vec<D64>* x, const double (&series)[Terms]) {
  const hn::RebindToSigned<D64> integers;
  const auto shifter = hn::Set(d, 6755399441055744.0);  // 1.5 * 2^52: adding it leaves k in the lowest bits
  const auto one = hn::Set(d, 1.0);
  hn::Vec<D64> shifted[Vectors];
  hn::Vec<D64> r[Vectors];
  hn::Vec<D64> y[Vectors];
  for (std::size_t l = 0; l < Vectors; ++l) shifted[l] = hn::MulAdd(x[l], hn::Set(d, 1.4426950408889634), shifter);
  // ln 2 in two parts, the first short enough for k times it to be exact.
  for (std::size_t l = 0; l < Vectors; ++l) {
    y[l] = hn::Sub(shifted[l], shifter);
    r[l] = hn::NegMulAdd(y[l], hn::Set(d, 0.6931471805596629565116018), x[l]);
  }
  for (std::size_t l = 0; l < Vectors; ++l)
    r[l] = hn::NegMulAdd(y[l], hn::Set(d, 0.28235290563031577122588448175e-12), r[l]);
  for (std::size_t l = 0; l < Vectors; ++l) y[l] = hn::Set(d, series[Terms - 1]);
  for (std::size_t term = Terms - 1; term-- > 0;) {
    const auto coefficient = hn::Set(d, series[term]);
    for (std::size_t l = 0; l < Vectors; ++l) y[l] = hn::MulAdd(y[l], r[l], coefficient);
  }
  for (std::size_t l = 0; l < Vectors; ++l) y[l] = hn::MulAdd(y[l], r[l], one);
  for (std::size_t l = 0; l < Vectors; ++l) y[l] = hn::MulAdd(y[l], r[l], one);
  for (std::size_t l = 0; l < Vectors; ++l) {
    const auto exponent_bits = hn::ShiftLeft<52>(hn::BitCast(integers, shifted[l]));
    x[l] = hn::BitCast(d, hn::Add(hn::BitCast(integers, y[l]), exponent_bits));
  }
}

// t_l = exp(t_l), 0 below `smallest`.
template <std::size_t Vectors, std::size_t Terms>
HWY_INLINE void gibbs(D64 d, hn::Vec<D64>* t, double smallest, double largest, const double (&series)[Terms]) {
  const auto low = hn::Set(d, smallest);
  const auto high = hn::Set(d, largest);
  hn::Vec<D64> x[Vectors];
  for (std::size_t l = 0; l < Vectors; ++l) x[l] = hn::Min(hn::Max(t[l], low), high);
  exp_normal<Vectors>(d, x, series);
  for (std::size_t l = 0; l < Vectors; ++l) t[l] = hn::IfThenElseZero(hn::Gt(t[l], low), x[l]);
}
HWY_INLINE hn::Vec<D64> gibbs(D64 d, hn::Vec<D64> t) {
  gibbs<1>(d, &t, kSmallestExponent64, kLargestExponent64, kExpSeries64);
  return t;
}

HWY_INLINE void store(D64 d, hn::Vec<D64> x, double* out) { hn::StoreU(x, d, out); }
HWY_INLINE void store(D64 /*d*/, hn::Vec<D64> x, float* out) { hn::StoreU(hn::DemoteTo(Half32(), x), Half32(), out); }

// The exponent is formed in float64 in either case: it is a small difference of large numbers.
template <std::size_t Vectors, class S>
HWY_INLINE void gibbs_step(D64 d, const double* cost, hn::Vec<D64> phi, const double* psi, hn::Vec<D64> scale, S* out) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D64> t[Vectors];
  for (std::size_t l = 0; l < Vectors; ++l) {
    t[l] = exponent(phi, hn::LoadU(d, psi + l * lanes), hn::LoadU(d, cost + l * lanes), scale);
  }
  if constexpr (sizeof(S) == sizeof(double)) {
    gibbs<Vectors>(d, t, kSmallestExponent64, kLargestExponent64, kExpSeries64);
  } else {
    gibbs<Vectors>(d, t, kSmallestExponent32, kLargestExponent32, kExpSeries32);
  }
  for (std::size_t l = 0; l < Vectors; ++l) store(d, t[l], out + l * lanes);
}

template <class S>
void gibbs_rows(const double* cost, std::size_t cost_stride, std::size_t count, std::size_t columns, const double* phi,
                const double* psi, double inverse_epsilon, S* out, std::size_t out_stride) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, inverse_epsilon);
  constexpr std::size_t at_once = 4;
  for (std::size_t k = 0; k < count; ++k) {
    const auto row = hn::Set(d, phi[k]);
    const double* costs = cost + k * cost_stride;
    S* values = out + k * out_stride;
    std::size_t j = 0;
    for (; j + at_once * lanes <= columns; j += at_once * lanes) {
      gibbs_step<at_once>(d, costs + j, row, psi + j, scale, values + j);
    }
    for (; j < columns; j += lanes) gibbs_step<1>(d, costs + j, row, psi + j, scale, values + j);
  }
}

// e^t (t - 1) + 1 = sum over k >= 2 of t^k (k - 1) / k!, for |t| < 1/4: the terms on the left would cancel.
template <class V>
V small_divergence(D64 d, V t) {
  auto series = hn::Set(d, 12.0 / 6227020800.0);
  for (const double coefficient : {11.0 / 479001600.0, 10.0 / 39916800.0, 9.0 / 3628800.0, 8.0 / 362880.0,
                                   7.0 / 40320.0, 6.0 / 5040.0, 5.0 / 720.0, 4.0 / 120.0, 3.0 / 24.0, 2.0 / 6.0, 0.5}) {
    series = hn::MulAdd(series, t, hn::Set(d, coefficient));
  }
  return hn::Mul(series, hn::Mul(t, t));
}

void plan_rows(const double* cost, std::size_t cost_stride, std::size_t count, std::size_t columns, const double* phi,
               const double* psi, double inverse_epsilon, const PlanRows& out) {
  const D64 d;
  const auto scale = hn::Set(d, inverse_epsilon);
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, 1.0);
  const auto near = hn::Set(d, 0.25);
  for (std::size_t k = 0; k < count; ++k) {
    const auto row = hn::Set(d, phi[k]);
    for (std::size_t j = 0; j < columns; j += hn::Lanes(d)) {
      const std::size_t at = k * out.stride + j;
      const auto costs = hn::LoadU(d, cost + k * cost_stride + j);
      const auto t = exponent(row, hn::LoadU(d, psi + j), costs, scale);
      const auto value = gibbs(d, t);
      const auto exists = hn::Gt(value, zero);
      const auto logarithm = hn::IfThenElseZero(exists, hn::Mul(value, t));
      const auto divergence = hn::Add(hn::Sub(logarithm, value), one);
      hn::StoreU(value, d, out.kernel + at);
      hn::StoreU(logarithm, d, out.logarithm + at);
      hn::StoreU(hn::IfThenElseZero(exists, hn::Mul(value, costs)), d, out.cost + at);
      hn::StoreU(hn::IfThenElse(hn::Lt(hn::Abs(t), near), small_divergence(d, t), divergence), d, out.divergence + at);
    }
  }
}

double row_log_sum_exp(const double* cost, std::size_t columns, const double* psi, double inverse_epsilon) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, inverse_epsilon);
  const auto infinity = std::numeric_limits<double>::infinity();
  auto best = hn::Set(d, -infinity);
  for (std::size_t j = 0; j < columns; j += lanes) {
    best = hn::Max(best, hn::Sub(hn::LoadU(d, psi + j), hn::LoadU(d, cost + j)));
  }
  const double largest = hn::GetLane(hn::MaxOfLanes(d, best));
  if (!(largest > -infinity)) return -infinity;
  const auto shift = hn::Set(d, largest);
  auto sum = hn::Zero(d);
  for (std::size_t j = 0; j < columns; j += lanes) {
    const auto gap = hn::Sub(hn::Sub(hn::LoadU(d, psi + j), hn::LoadU(d, cost + j)), shift);
    sum = hn::Add(sum, gibbs(d, hn::Mul(gap, scale)));
  }
  return largest * inverse_epsilon + std::log(total(d, sum));
}

void column_log_sum_exp(const double* cost, std::size_t columns, double phi, double log_weight, double inverse_epsilon,
                        double* maximum, double* sum) {
  const D64 d;
  const auto scale = hn::Set(d, inverse_epsilon);
  const auto row = hn::Set(d, phi);
  const auto weight = hn::Set(d, log_weight);
  const auto lowest = hn::Set(d, std::numeric_limits<double>::lowest());
  for (std::size_t j = 0; j < columns; j += hn::Lanes(d)) {
    const auto x = hn::Add(hn::Mul(hn::Sub(row, hn::LoadU(d, cost + j)), scale), weight);
    const auto before = hn::LoadU(d, maximum + j);
    const auto after = hn::Max(before, x);
    // Where nothing finite has been seen yet both maxima are -inf: subtract the lowest finite number instead.
    const auto shift = hn::Max(after, lowest);
    const auto carried = hn::Mul(hn::LoadU(d, sum + j), gibbs(d, hn::Sub(before, shift)));
    hn::StoreU(hn::Add(carried, gibbs(d, hn::Sub(x, shift))), d, sum + j);
    hn::StoreU(after, d, maximum + j);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
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
  // As many rows at once as leave the partial results in registers: 32 registers with AVX-512, 16 before.
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

// ---------------------------------------------------------------------------------------------------------------------

double read_sum(const double* data, std::size_t count) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D64> sum[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  std::size_t j = 0;
  for (; j + 4 * lanes <= count; j += 4 * lanes) {
    for (std::size_t k = 0; k < 4; ++k) sum[k] = hn::Add(sum[k], hn::LoadU(d, data + j + k * lanes));
  }
  double rest = 0;
  for (; j < count; ++j) rest += data[j];
  return rest + total(d, hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3])));
}

double exp_sum(const double* data, std::size_t count, std::size_t repeats) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t at_once = 4;
  auto sum = hn::Zero(d);
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t j = 0; j + at_once * lanes <= count; j += at_once * lanes) {
      hn::Vec<D64> t[at_once];
      for (std::size_t l = 0; l < at_once; ++l) t[l] = hn::LoadU(d, data + j + l * lanes);
      gibbs<at_once>(d, t, kSmallestExponent64, kLargestExponent64, kExpSeries64);
      sum = hn::Add(sum, hn::Add(hn::Add(t[0], t[1]), hn::Add(t[2], t[3])));
    }
  }
  return total(d, sum);
}

// ---------------------------------------------------------------------------------------------------------------------

constexpr const char* variant_name() {
  switch (HWY_TARGET) {
#if HWY_ARCH_X86
    case HWY_AVX3: return "avx512";
    case HWY_AVX2: return "avx2";
    case HWY_SSE4: return "sse4";
#endif
    default: return "baseline";
  }
}

bool is_amd() {
#if HWY_ARCH_X86
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

// Two threads may share a core and its second-level cache, 2 MB with Intel: with blocks of 640 kB they then drive each
// other's rows out (half the speed). AMD's caches are smaller, but there larger blocks were faster all the same.
std::size_t fused_cache_bytes() { return std::size_t{is_amd() ? 1024U : 512U} << 10U; }

}  // namespace

const Simd* table() {
  static const Simd simd = {
      variant_name(),
      is_amd() ? ProductOps<double, double>{dot_rows<double, double, kLinePair>, add_rows<double, kLinePair>}
               : ProductOps<double, double>{dot_rows<double, double, kLine>, add_rows<double, kLine>},
      {dot_rows<float, double, kLine>, add_rows<float, kLine>},
      {dot_rows<float, float, kLine>, add_rows<float, kLine>},
      {gibbs_rows<double>},
      {gibbs_rows<float>},
      {row_log_sum_exp, column_log_sum_exp, plan_rows},
      {pairwise<SquaredDifference>, pairwise<Product>, distance_from_product, square_root, halve},
      {read_sum, exp_sum},
      fused_cache_bytes(),
  };
  return &simd;
}

}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::cpu
HWY_AFTER_NAMESPACE();
// NOLINTEND(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)

#if HWY_ONCE
namespace fedsinkhorn::cpu {
namespace {

HWY_EXPORT(table);

const Simd* table_of(std::int64_t target) {
  hwy::ChosenTarget chosen;  // a local choice: no global state to disturb other threads
  chosen.Update(target);
  return HWY_DISPATCH_TABLE(table)[chosen.GetIndex()]();
}

// Bit k of Highway's masks is better than bit k + 1.
std::vector<const Simd*> runnable_tables() {
  std::vector<const Simd*> tables;
  std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  while (targets != 0) {
    const std::int64_t lowest = targets & -targets;
    tables.push_back(table_of(lowest));
    targets ^= lowest;
  }
  return tables;
}

}  // namespace

std::vector<std::string> simd_variants() {
  std::vector<std::string> names;
  for (const Simd* table : runnable_tables()) names.emplace_back(table->name);
  return names;
}

const Simd& simd(std::string_view name) {
  // What stands in the way of `auto` is the variable, not the option.
  const char* const forced = std::getenv(kForcedSimd);  // NOLINT(concurrency-mt-unsafe): nothing here writes it
  const bool is_forced = name == "auto" && forced != nullptr && *forced != '\0';
  if (is_forced) name = forced;
  const auto tables = runnable_tables();
  if (name == "auto") return *tables.front();
  std::string alternatives = "auto";
  for (const Simd* table : tables) {
    if (name == table->name) return *table;
    alternatives += std::string(", ") + table->name;
  }
  throw InputError(is_forced ? kForcedSimd : "--simd",
                   "this machine cannot run the variant '" + std::string(name) + "'", "one of " + alternatives);
}

}  // namespace fedsinkhorn::cpu
#endif
