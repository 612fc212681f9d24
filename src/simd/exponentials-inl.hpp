// Exponentials: rows of the Gibbs kernel and of the plan, and log-domain sums.
// Included by simd.cpp once per instruction set, hence the toggling guard.
#if defined(FEDSINKHORN_BACKEND_CPU_EXPONENTIALS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FEDSINKHORN_BACKEND_CPU_EXPONENTIALS_INL
#undef FEDSINKHORN_BACKEND_CPU_EXPONENTIALS_INL
#else
#define FEDSINKHORN_BACKEND_CPU_EXPONENTIALS_INL
#endif

#include <cmath>
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

// Exponentials. The argument is clamped from above, where exp would overflow. The loops that watch the scalings see the
// huge value and fall back to the log domain.

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

// x_l = exp(x_l), for arguments between the bounds above, where results are normal numbers: that saves what a general
// exp spends on the ends of its range. exp(x) = 2^k exp(r), k the integer nearest to x / ln 2. Each step depends on the
// one before; several vectors at once keep the units busy.
template <std::size_t Vectors, std::size_t Terms>
HWY_INLINE void exp_normal(D64 d, hn::Vec<D64>* x, const double (&series)[Terms]) {
  const hn::RebindToSigned<D64> integers;
  const auto shifter = hn::Set(d, 6755399441055744.0);  // 1.5 * 2^52: adding it leaves k in the lowest bits
  const auto one = hn::Set(d, 1.0);
  hn::Vec<D64> shifted[Vectors];
  hn::Vec<D64> r[Vectors];
  hn::Vec<D64> y[Vectors];
  for (std::size_t l = 0; l < Vectors; ++l) shifted[l] = hn::MulAdd(x[l], hn::Set(d, 1.4426950408889634), shifter);
  // ln 2 in two parts; the first is short enough that its product with k is exact.
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

// The exponent is always formed in float64: it is a small difference of large numbers.
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

// Prefetches the costs that come next.
HWY_INLINE void ask_for_step(const double* costs, std::size_t count) {
  constexpr std::size_t line = 64 / sizeof(double);
  for (std::size_t j = 0; j < count; j += line) __builtin_prefetch(costs + j, 0, 2);
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
      ask_for_step(costs + columns + j, at_once * lanes);  // in a matrix, the next row
      gibbs_step<at_once>(d, costs + j, row, psi + j, scale, values + j);
    }
    for (; j < columns; j += lanes) gibbs_step<1>(d, costs + j, row, psi + j, scale, values + j);
  }
}

// e^t (t - 1) + 1 = sum over k >= 2 of t^k (k - 1) / k!, for |t| < 1/4, where the terms on the left would cancel.
template <class V>
V small_divergence(D64 d, V t) {
  auto series = hn::Set(d, 12.0 / 6227020800.0);
  for (const double coefficient : {11.0 / 479001600.0, 10.0 / 39916800.0, 9.0 / 3628800.0, 8.0 / 362880.0,
                                   7.0 / 40320.0, 6.0 / 5040.0, 5.0 / 720.0, 4.0 / 120.0, 3.0 / 24.0, 2.0 / 6.0, 0.5}) {
    series = hn::MulAdd(series, t, hn::Set(d, coefficient));
  }
  return hn::Mul(series, hn::Mul(t, t));
}

// The terms of sums over a plan, for several vectors of exponents.
template <std::size_t Vectors>
struct PlanValues {
  hn::Vec<D64> kernel[Vectors];
  hn::Vec<D64> logarithm[Vectors];
  hn::Vec<D64> cost[Vectors];
  hn::Vec<D64> divergence[Vectors];
};

template <std::size_t Vectors>
HWY_INLINE void plan_values(D64 d, const double* cost, hn::Vec<D64> phi, const double* psi, hn::Vec<D64> scale,
                            PlanValues<Vectors>& out) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D64> costs[Vectors];
  hn::Vec<D64> t[Vectors];
  for (std::size_t l = 0; l < Vectors; ++l) {
    costs[l] = hn::LoadU(d, cost + l * lanes);
    t[l] = exponent(phi, hn::LoadU(d, psi + l * lanes), costs[l], scale);
  }
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, 1.0);
  const auto near = hn::Set(d, 0.25);
  for (std::size_t l = 0; l < Vectors; ++l) out.kernel[l] = t[l];
  gibbs<Vectors>(d, out.kernel, kSmallestExponent64, kLargestExponent64, kExpSeries64);
  for (std::size_t l = 0; l < Vectors; ++l) {
    const auto value = out.kernel[l];
    const auto exists = hn::Gt(value, zero);
    out.logarithm[l] = hn::IfThenElseZero(exists, hn::Mul(value, t[l]));
    out.cost[l] = hn::IfThenElseZero(exists, hn::Mul(value, costs[l]));
    out.divergence[l] = hn::Add(hn::Sub(out.logarithm[l], value), one);
    // The series is long, and at small epsilon few exponents need it.
    const auto is_near = hn::Lt(hn::Abs(t[l]), near);
    if (hn::AllFalse(d, is_near)) continue;
    out.divergence[l] = hn::IfThenElse(is_near, small_divergence(d, t[l]), out.divergence[l]);
  }
}

template <std::size_t Vectors>
HWY_INLINE void plan_row_step(D64 d, const double* cost, hn::Vec<D64> phi, const double* psi, hn::Vec<D64> scale,
                              const PlanRows& out, std::size_t at) {
  const std::size_t lanes = hn::Lanes(d);
  PlanValues<Vectors> values;
  plan_values<Vectors>(d, cost, phi, psi, scale, values);
  for (std::size_t l = 0; l < Vectors; ++l) {
    hn::StoreU(values.kernel[l], d, out.kernel + at + l * lanes);
    hn::StoreU(values.logarithm[l], d, out.logarithm + at + l * lanes);
    hn::StoreU(values.cost[l], d, out.cost + at + l * lanes);
    hn::StoreU(values.divergence[l], d, out.divergence + at + l * lanes);
  }
}

void plan_rows(const double* cost, std::size_t cost_stride, std::size_t count, std::size_t columns, const double* phi,
               const double* psi, double inverse_epsilon, const PlanRows& out) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, inverse_epsilon);
  constexpr std::size_t at_once = 4;
  for (std::size_t k = 0; k < count; ++k) {
    const auto row = hn::Set(d, phi[k]);
    const double* costs = cost + k * cost_stride;
    const std::size_t at = k * out.stride;
    std::size_t j = 0;
    for (; j + at_once * lanes <= columns; j += at_once * lanes) {
      plan_row_step<at_once>(d, costs + j, row, psi + j, scale, out, at + j);
    }
    for (; j < columns; j += lanes) plan_row_step<1>(d, costs + j, row, psi + j, scale, out, at + j);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The same for one target; its sums are formed while the values are in registers.

constexpr std::size_t kPlanVectors = 2;  // per step along a row
constexpr std::size_t kPlanStrip = 512;  // columns
constexpr std::size_t kMostLanes = HWY_MAX_BYTES / sizeof(double);

// Sums of a row, added up in the order of dot_rows, one vector after the other.
struct PlanSumsOfRow {
  hn::Vec<D64> kernel, logarithm, cost, divergence;
};

HWY_INLINE void plan_dots_step(D64 d, const double* costs, hn::Vec<D64> phi, const double* psi, hn::Vec<D64> scale,
                               const double* v, hn::Vec<D64> u, PlanSumsOfRow& sums, double* r) {
  const std::size_t lanes = hn::Lanes(d);
  PlanValues<kPlanVectors> values;
  plan_values<kPlanVectors>(d, costs, phi, psi, scale, values);
  for (std::size_t l = 0; l < kPlanVectors; ++l) {
    const auto vj = hn::LoadU(d, v + l * lanes);
    sums.kernel = hn::MulAdd(values.kernel[l], vj, sums.kernel);
    sums.logarithm = hn::MulAdd(values.logarithm[l], vj, sums.logarithm);
    sums.cost = hn::MulAdd(values.cost[l], vj, sums.cost);
    sums.divergence = hn::MulAdd(values.divergence[l], vj, sums.divergence);
    hn::StoreU(hn::MulAdd(values.kernel[l], u, hn::LoadU(d, r + l * lanes)), d, r + l * lanes);
  }
}

// Some columns of a row. If fewer are left than a step takes, they are copied and padded with zeros.
void plan_dots_strip(const double* costs, std::size_t columns, double phi, const double* psi, double inverse_epsilon,
                     const double* v, double u, PlanSumsOfRow& sums, double* r) {
  const D64 d;
  const std::size_t step = kPlanVectors * hn::Lanes(d);
  const auto scale = hn::Set(d, inverse_epsilon);
  const auto row = hn::Set(d, phi);
  const auto scaling = hn::Set(d, u);
  PlanSumsOfRow here = sums;  // kept in registers
  std::size_t j = 0;
  for (; j + step <= columns; j += step) {
    ask_for_step(costs + j + kPlanStrip, step);
    plan_dots_step(d, costs + j, row, psi + j, scale, v + j, scaling, here, r + j);
  }
  if (j < columns) {
    HWY_ALIGN double rest[kPlanVectors * kMostLanes] = {};
    for (std::size_t l = 0; l < columns - j; ++l) rest[l] = costs[j + l];
    plan_dots_step(d, rest, row, psi + j, scale, v + j, scaling, here, r + j);
  }
  sums = here;
}

// Strip by strip, so that the column data stays in the first-level cache while all rows use it.
void plan_dots(const double* const* costs, std::size_t count, std::size_t columns, const double* phi, const double* psi,
               double inverse_epsilon, const double* v, const double* u, PlanDots* dots, double* r) {
  const D64 d;
  PlanSumsOfRow sums[kRowBlock];
  for (std::size_t k = 0; k < count; ++k) sums[k] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (std::size_t j = 0; j < columns; j += kPlanStrip) {
    const std::size_t width = columns - j < kPlanStrip ? columns - j : kPlanStrip;
    for (std::size_t k = 0; k < count; ++k) {
      plan_dots_strip(costs[k] + j, width, phi[k], psi + j, inverse_epsilon, v + j, u[k], sums[k], r + j);
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    dots[k] = {total(d, sums[k].kernel), total(d, sums[k].logarithm), total(d, sums[k].cost),
               total(d, sums[k].divergence)};
  }
}

// ---------------------------------------------------------------------------------------------------------------------

// sum + exp((psi_j - C_j - shift) / eps), one vector after the other.
template <std::size_t Vectors>
HWY_INLINE hn::Vec<D64> add_exponentials(D64 d, const double* cost, const double* psi, hn::Vec<D64> shift,
                                         hn::Vec<D64> scale, hn::Vec<D64> sum) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D64> t[Vectors];
  for (std::size_t l = 0; l < Vectors; ++l) {
    const auto gap = hn::Sub(hn::Sub(hn::LoadU(d, psi + l * lanes), hn::LoadU(d, cost + l * lanes)), shift);
    t[l] = hn::Mul(gap, scale);
  }
  gibbs<Vectors>(d, t, kSmallestExponent64, kLargestExponent64, kExpSeries64);
  for (std::size_t l = 0; l < Vectors; ++l) sum = hn::Add(sum, t[l]);
  return sum;
}

double row_maximum(const double* cost, std::size_t columns, const double* psi) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  auto best = hn::Set(d, -std::numeric_limits<double>::infinity());
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    best = hn::Max(best, hn::Sub(hn::LoadU(d, psi + j), hn::LoadU(d, cost + j)));
  }
  if (j < columns) {
    HWY_ALIGN double rest[kMostLanes] = {};
    for (std::size_t l = 0; l < columns - j; ++l) rest[l] = cost[j + l];
    best = hn::Max(best, hn::Sub(hn::LoadU(d, psi + j), hn::Load(d, rest)));
  }
  return hn::GetLane(hn::MaxOfLanes(d, best));
}

double row_log_sum_exp(const double* cost, std::size_t columns, const double* psi, double inverse_epsilon) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, inverse_epsilon);
  const auto infinity = std::numeric_limits<double>::infinity();
  const double largest = row_maximum(cost, columns, psi);
  if (!(largest > -infinity)) return -infinity;
  const auto shift = hn::Set(d, largest);
  constexpr std::size_t at_once = 4;
  auto sum = hn::Zero(d);
  std::size_t j = 0;
  for (; j + at_once * lanes <= columns; j += at_once * lanes) {
    // This row is in cache by now. What follows it in memory is usually the next row.
    ask_for_step(cost + columns + j, at_once * lanes);
    sum = add_exponentials<at_once>(d, cost + j, psi + j, shift, scale, sum);
  }
  for (; j + lanes <= columns; j += lanes) sum = add_exponentials<1>(d, cost + j, psi + j, shift, scale, sum);
  if (j < columns) {
    HWY_ALIGN double rest[kMostLanes] = {};
    for (std::size_t l = 0; l < columns - j; ++l) rest[l] = cost[j + l];
    sum = add_exponentials<1>(d, rest, psi + j, shift, scale, sum);
  }
  return largest * inverse_epsilon + std::log(total(d, sum));
}

// Adds a row to the maxima and sums of some columns.
template <std::size_t Vectors>
HWY_INLINE void stream_row(D64 d, const double* cost, hn::Vec<D64> row, hn::Vec<D64> scale, hn::Vec<D64> weight,
                           double* maximum, double* sum) {
  const std::size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, std::numeric_limits<double>::lowest());
  hn::Vec<D64> x[Vectors];
  hn::Vec<D64> before[Vectors];
  auto still = hn::FirstN(d, lanes);  // where the maximum does not change
  for (std::size_t l = 0; l < Vectors; ++l) {
    x[l] = hn::Add(hn::Mul(hn::Sub(row, hn::LoadU(d, cost + l * lanes)), scale), weight);
    before[l] = hn::LoadU(d, maximum + l * lanes);
    still = hn::And(still, hn::Le(x[l], before[l]));
  }
  if (hn::AllTrue(d, still)) {
    // Then the factor of the sums so far is 1, which saves an exponential.
    for (std::size_t l = 0; l < Vectors; ++l) x[l] = hn::Sub(x[l], hn::Max(before[l], lowest));
    gibbs<Vectors>(d, x, kSmallestExponent64, kLargestExponent64, kExpSeries64);
    for (std::size_t l = 0; l < Vectors; ++l) {
      hn::StoreU(hn::Add(hn::LoadU(d, sum + l * lanes), x[l]), d, sum + l * lanes);
    }
    return;
  }
  for (std::size_t l = 0; l < Vectors; ++l) {
    const auto after = hn::Max(before[l], x[l]);
    // If nothing finite has been seen yet, both maxima are -inf: subtract the lowest finite number instead.
    const auto shift = hn::Max(after, lowest);
    const auto carried = hn::Mul(hn::LoadU(d, sum + l * lanes), gibbs(d, hn::Sub(before[l], shift)));
    hn::StoreU(hn::Add(carried, gibbs(d, hn::Sub(x[l], shift))), d, sum + l * lanes);
    hn::StoreU(after, d, maximum + l * lanes);
  }
}

void column_log_sum_exp(const double* cost, std::size_t columns, double phi, double log_weight, double inverse_epsilon,
                        double* maximum, double* sum) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, inverse_epsilon);
  const auto row = hn::Set(d, phi);
  const auto weight = hn::Set(d, log_weight);
  constexpr std::size_t at_once = 4;
  std::size_t j = 0;
  for (; j + at_once * lanes <= columns; j += at_once * lanes) {
    stream_row<at_once>(d, cost + j, row, scale, weight, maximum + j, sum + j);
  }
  for (; j + lanes <= columns; j += lanes) stream_row<1>(d, cost + j, row, scale, weight, maximum + j, sum + j);
  if (j == columns) return;
  HWY_ALIGN double rest[kMostLanes] = {};
  for (std::size_t l = 0; l < columns - j; ++l) rest[l] = cost[j + l];
  stream_row<1>(d, rest, row, scale, weight, maximum + j, sum + j);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::cpu
HWY_AFTER_NAMESPACE();
// NOLINTEND(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)

#endif
