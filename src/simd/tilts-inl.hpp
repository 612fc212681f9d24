// Rows of costs tilted by losses: the inner loops of worst-case risk (src/risk).
// Included by simd.cpp once per instruction set, hence the toggling guard.
#if defined(FEDSINKHORN_SIMD_TILTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FEDSINKHORN_SIMD_TILTS_INL
#undef FEDSINKHORN_SIMD_TILTS_INL
#else
#define FEDSINKHORN_SIMD_TILTS_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "simd/exponentials-inl.hpp"
#include "simd/simd.hpp"
#include "simd/vectors-inl.hpp"

// NOLINTBEGIN(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)
HWY_BEFORE_NAMESPACE();
namespace fedsinkhorn::cpu {
namespace HWY_NAMESPACE {
namespace {

// The end of a row, filled up with forbidden moves, which add nothing.
struct TiltedRest {
  HWY_ALIGN double cost[kMostLanes];
  HWY_ALIGN double loss[kMostLanes];

  TiltedRest(const double* costs, const double* losses, std::size_t count) {
    for (std::size_t l = 0; l < kMostLanes; ++l) {
      cost[l] = l < count ? costs[l] : std::numeric_limits<double>::infinity();
      loss[l] = l < count ? losses[l] : 0.0;
    }
  }
};

// l - lambda (c - least), -inf where c is infinite, also if lambda is 0. Costs become c - least, 0 if infinite.
HWY_INLINE hn::Vec<D64> tilted(D64 d, hn::Vec<D64> loss, hn::Vec<D64> lambda, hn::Vec<D64> least, hn::Vec<D64>& cost) {
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto is_allowed = hn::Lt(cost, infinity);
  cost = hn::IfThenElseZero(is_allowed, hn::Sub(cost, least));
  return hn::IfThenElse(is_allowed, hn::NegMulAdd(lambda, cost, loss), hn::Neg(infinity));
}

double tilted_maximum(const double* cost, double least, std::size_t columns, const double* loss, double lambda) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto multiplier = hn::Set(d, lambda);
  const auto base = hn::Set(d, least);
  auto best = hn::Set(d, -std::numeric_limits<double>::infinity());
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    auto costs = hn::LoadU(d, cost + j);
    best = hn::Max(best, tilted(d, hn::LoadU(d, loss + j), multiplier, base, costs));
  }
  if (j < columns) {
    const TiltedRest rest(cost + j, loss + j, columns - j);
    auto costs = hn::Load(d, rest.cost);
    best = hn::Max(best, tilted(d, hn::Load(d, rest.loss), multiplier, base, costs));
  }
  // Not MaxOfLanes: without vectors, Highway's never gives less than the smallest finite number.
  HWY_ALIGN double of_lanes[kMostLanes];
  hn::Store(best, d, of_lanes);
  return *std::max_element(of_lanes, of_lanes + lanes);
}

struct TiltedTerms {
  hn::Vec<D64> least, lambda, shift, scale;
};

struct TiltedSumsOfRow {
  hn::Vec<D64> weight, excess, squared_excess, loss, product;
};

template <std::size_t Vectors>
HWY_INLINE void add_tilted(D64 d, const double* cost, const double* loss, const TiltedTerms& terms,
                           TiltedSumsOfRow& sums, double* weights) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D64> costs[Vectors];
  hn::Vec<D64> t[Vectors];
  for (std::size_t l = 0; l < Vectors; ++l) {
    costs[l] = hn::LoadU(d, cost + l * lanes);
    const auto value = tilted(d, hn::LoadU(d, loss + l * lanes), terms.lambda, terms.least, costs[l]);
    t[l] = hn::Mul(hn::Sub(value, terms.shift), terms.scale);
  }
  gibbs<Vectors>(d, t, kSmallestExponent64, kLargestExponent64, kExpSeries64);
  for (std::size_t l = 0; l < Vectors; ++l) {
    const auto weighted = hn::Mul(t[l], costs[l]);
    sums.weight = hn::Add(sums.weight, t[l]);
    const auto losses = hn::LoadU(d, loss + l * lanes);
    sums.excess = hn::Add(sums.excess, weighted);
    sums.squared_excess = hn::MulAdd(weighted, costs[l], sums.squared_excess);
    sums.loss = hn::MulAdd(t[l], losses, sums.loss);
    sums.product = hn::MulAdd(weighted, losses, sums.product);
    hn::StoreU(t[l], d, weights + l * lanes);
  }
}

TiltedSums tilted_sums(const double* cost, double least, std::size_t columns, const double* loss, double lambda,
                       double shift, double inverse_epsilon, double* weights) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const TiltedTerms terms{hn::Set(d, least), hn::Set(d, lambda), hn::Set(d, shift), hn::Set(d, inverse_epsilon)};
  constexpr std::size_t at_once = 4;
  TiltedSumsOfRow sums{hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  std::size_t j = 0;
  for (; j + at_once * lanes <= columns; j += at_once * lanes) {
    add_tilted<at_once>(d, cost + j, loss + j, terms, sums, weights + j);
  }
  for (; j + lanes <= columns; j += lanes) {
    add_tilted<1>(d, cost + j, loss + j, terms, sums, weights + j);
  }
  if (j < columns) {
    const TiltedRest rest(cost + j, loss + j, columns - j);
    HWY_ALIGN double last[kMostLanes];
    add_tilted<1>(d, rest.cost, rest.loss, terms, sums, last);
    for (std::size_t l = 0; l < columns - j; ++l) weights[j + l] = last[l];
  }
  return {total(d, sums.weight), total(d, sums.excess), total(d, sums.squared_excess), total(d, sums.loss),
          total(d, sums.product)};
}

struct VectorCut {
  hn::Vec<D64> lambda, value;
};

// Appends the lanes that reach a cut; the vector begins with column `first`.
HWY_INLINE std::uint32_t* append_chosen(D64 d, const double* cost, const double* loss, std::size_t first,
                                        hn::Vec<D64> least, const VectorCut (&cuts)[2], hn::Vec<D64>& largest,
                                        std::uint32_t* chosen) {
  auto excess = hn::LoadU(d, cost);
  auto again = excess;
  const auto losses = hn::LoadU(d, loss);
  const auto at_one = tilted(d, losses, cuts[0].lambda, least, excess);
  const auto at_other = tilted(d, losses, cuts[1].lambda, least, again);
  largest = hn::Max(largest, excess);
  const auto reach = hn::Or(hn::Ge(at_one, cuts[0].value), hn::Ge(at_other, cuts[1].value));
  if (hn::AllFalse(d, reach)) return chosen;
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(d, reach, bits);
  for (std::size_t l = 0; l < hn::Lanes(d); ++l) {
    *chosen = static_cast<std::uint32_t>(first + l);
    chosen += (bits[l / 8] >> (l % 8)) & 1U;
  }
  return chosen;
}

TiltedChoice chosen_columns(const double* cost, double least, std::size_t columns, const double* loss,
                            const TiltedCut& one, const TiltedCut& other, std::uint32_t* chosen) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto base = hn::Set(d, least);
  const VectorCut cuts[2] = {{hn::Set(d, one.lambda), hn::Set(d, one.value)},
                             {hn::Set(d, other.lambda), hn::Set(d, other.value)}};
  auto largest = hn::Zero(d);
  std::uint32_t* end = chosen;
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) end = append_chosen(d, cost + j, loss + j, j, base, cuts, largest, end);
  if (j < columns) {
    const TiltedRest rest(cost + j, loss + j, columns - j);
    std::uint32_t last[kMostLanes + 1];
    const std::uint32_t* const last_end = append_chosen(d, rest.cost, rest.loss, j, base, cuts, largest, last);
    end = std::copy(static_cast<const std::uint32_t*>(last), last_end, end);
  }
  return {static_cast<std::size_t>(end - chosen), hn::GetLane(hn::MaxOfLanes(d, largest))};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::cpu
HWY_AFTER_NAMESPACE();
// NOLINTEND(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)

#endif  // include guard
