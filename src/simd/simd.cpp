// Compiled once per instruction set by Highway's foreach_target: everything between HWY_BEFORE_NAMESPACE and
// HWY_AFTER_NAMESPACE exists in one copy per target; the selection at the end exists once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/simd.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "fedsinkhorn/error.hpp"
#include "simd/distances-inl.hpp"
#include "simd/exponentials-inl.hpp"
#include "simd/magnitudes-inl.hpp"
#include "simd/products-inl.hpp"
#include "simd/simd.hpp"
#include "simd/sums-inl.hpp"
#include "simd/tilts-inl.hpp"

// NOLINTBEGIN(modernize-avoid-c-arrays, modernize-concat-nested-namespaces)
HWY_BEFORE_NAMESPACE();
namespace fedsinkhorn::cpu {
namespace HWY_NAMESPACE {
namespace {

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

}  // namespace

const Simd* table() {
  static const Simd simd = {
      variant_name(),
      product_ops<double, double>(),
      product_ops<float, double>(),
      product_ops<float, float>(),
      {gibbs_rows<double>},
      {gibbs_rows<float>},
      {row_maximum, row_log_sum_exp, column_log_sum_exp, plan_rows, plan_dots},
      {tilted_maximum, tilted_sums, chosen_columns},
      {pairwise<SquaredDifference>, pairwise<Product>, distance_from_product, square_root, halve},
      {exact_dots},
      {largest_magnitude<double>, largest_magnitude<float>},
      {read_sum, exp_sum},
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
std::vector<const Simd*> find_tables() {
  std::vector<const Simd*> tables;
  std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  while (targets != 0) {
    const std::int64_t lowest = targets & -targets;
    tables.push_back(table_of(lowest));
    targets ^= lowest;
  }
  return tables;
}

// Found once: querying a virtual processor's features takes microseconds per query.
const std::vector<const Simd*>& runnable_tables() {
  static const std::vector<const Simd*> tables = find_tables();
  return tables;
}

}  // namespace

std::vector<std::string> simd_variants() {
  std::vector<std::string> names;
  for (const Simd* table : runnable_tables()) names.emplace_back(table->name);
  return names;
}

const Simd& simd(std::string_view name) {
  // A forced "auto" that fails must blame the variable, not the option.
  const char* const forced = std::getenv(kForcedSimd);  // NOLINT(concurrency-mt-unsafe): nothing here writes it
  const bool is_forced = name == "auto" && forced != nullptr && *forced != '\0';
  if (is_forced) name = forced;
  const auto& tables = runnable_tables();
  if (name == "auto") return *tables.front();
  std::string alternatives = "auto";
  for (const Simd* table : tables) {
    if (name == table->name) return *table;
    alternatives += std::string(", ") + table->name;
  }
  throw InputError(is_forced ? kForcedSimd : "`simd`",
                   "this machine cannot run the variant '" + std::string(name) + "'", "one of " + alternatives);
}

}  // namespace fedsinkhorn::cpu
#endif
