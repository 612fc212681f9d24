#include "backend/cpu/make_kernel.hpp"

#include "backend/cpu/row_kernel.hpp"

namespace fedsinkhorn {
namespace {

template <template <class> class Rows>
std::unique_ptr<Kernel> make(const KernelSpec& spec, const CostSource& cost, const cpu::Simd& simd) {
  switch (spec.precision) {
    case Precision::float32: return std::make_unique<RowKernel<Rows<float>, float>>(cost, simd, spec);
    case Precision::mixed: return std::make_unique<RowKernel<Rows<float>, double>>(cost, simd, spec);
    case Precision::bfloat16:
    case Precision::tf32:  // for devices: here only an empty block can have them
    case Precision::float64:
    case Precision::digits50: break;
  }
  return std::make_unique<RowKernel<Rows<double>, double>>(cost, simd, spec);
}

/// is_stored: else computed.
double bytes(const KernelSpec& spec, const BlockShape& shape, bool is_stored) {
  const std::size_t n = shape.rows;
  const std::size_t m = shape.columns;
  const std::size_t targets = shape.targets;
  const bool stored_as_float = is_reduced(spec.precision);
  const double element = stored_as_float ? sizeof(float) : sizeof(double);
  const double vector_element = spec.precision == Precision::float32 ? sizeof(float) : sizeof(double);
  const std::size_t padded = stored_as_float ? cpu::padded<float>(m) : cpu::padded<double>(m);
  const auto stride = static_cast<double>(padded);
  const auto threads = static_cast<double>(spec.threads);
  const auto vectors = static_cast<double>(targets) * stride;
  const bool many = targets > WorkCut::kFewTargets;
  const double copies =
      many ? 1 : static_cast<double>(WorkCut::fused_chunks(n, m, is_stored ? 1 : WorkCut::kExponential));

  double bytes = vectors * (vector_element + copies * sizeof(double));  // v and the sums
  bytes += threads * cpu::kRowBlock * kStrip * sizeof(double);
  bytes += (is_stored ? static_cast<double>(n) : threads * cpu::kRowBlock) * stride * element;
  if (many) {
    const auto block_rows = static_cast<double>(WorkCut::target_block(n, padded));
    bytes += block_rows * static_cast<double>(targets) * vector_element;
    const bool in_place = is_stored && element == vector_element;
    if (!in_place) bytes += block_rows * stride * vector_element;
    if (spec.precision == Precision::float32) bytes += vectors * sizeof(float);
  }
  return bytes;
}

}  // namespace

std::unique_ptr<Kernel> make_dense_kernel(const KernelSpec& spec, const CostBlock& /*block*/, const CostSource& cost,
                                          const cpu::Simd& simd) {
  return make<StoredRows>(spec, cost, simd);
}
double dense_kernel_bytes(const KernelSpec& spec, const BlockShape& shape) { return bytes(spec, shape, true); }

std::unique_ptr<Kernel> make_online_kernel(const KernelSpec& spec, const CostBlock& /*block*/, const CostSource& cost,
                                           const cpu::Simd& simd) {
  return make<ComputedRows>(spec, cost, simd);
}
double online_kernel_bytes(const KernelSpec& spec, const BlockShape& shape) { return bytes(spec, shape, false); }

}  // namespace fedsinkhorn
