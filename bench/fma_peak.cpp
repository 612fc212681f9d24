#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fma_peak.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "fma_peak.hpp"

HWY_BEFORE_NAMESPACE();
namespace fedsinkhorn::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

double multiply_add(std::size_t count) {
  const hn::ScalableTag<double> d;
  // Two units of latency four need eight independent sums; twelve leave room and fit into sixteen registers.
  constexpr std::size_t independent = 12;
  hn::Vec<decltype(d)> sum[independent];
  for (std::size_t k = 0; k < independent; ++k) sum[k] = hn::Set(d, static_cast<double>(k));
  const auto x = hn::Set(d, 0.999);
  const auto y = hn::Set(d, 0.001);
  for (std::size_t done = 0; done < count; done += independent * hn::Lanes(d)) {
    for (std::size_t k = 0; k < independent; ++k) sum[k] = hn::MulAdd(sum[k], x, y);
  }
  auto total = hn::Zero(d);
  for (std::size_t k = 0; k < independent; ++k) total = hn::Add(total, sum[k]);
  return hn::GetLane(hn::SumOfLanes(d, total));
}

}  // namespace HWY_NAMESPACE
}  // namespace fedsinkhorn::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fedsinkhorn::bench {

HWY_EXPORT(multiply_add);

double multiply_add_in_registers(std::size_t count) { return HWY_DYNAMIC_DISPATCH(multiply_add)(count); }

}  // namespace fedsinkhorn::bench
#endif
