#include "backend/cpu/make_kernel.hpp"

#include "backend/cpu/row_kernel.hpp"

namespace fedsinkhorn {
namespace {

template <class S, class V>
std::unique_ptr<Kernel> make(const KernelSpec& spec, const CostSource& cost, const cpu::Simd& simd) {
  if (spec.kind == KernelKind::online) {
    return std::make_unique<RowKernel<ComputedRows<S>, V>>(cost, simd, spec);
  }
  return std::make_unique<RowKernel<StoredRows<S>, V>>(cost, simd, spec);
}

}  // namespace

std::unique_ptr<Kernel> make_kernel(const KernelSpec& spec, const CostSource& cost, const cpu::Simd& simd) {
  switch (spec.precision) {
    case Precision::float32: return make<float, float>(spec, cost, simd);
    case Precision::mixed: return make<float, double>(spec, cost, simd);
    case Precision::bfloat16:
    case Precision::tf32:  // of devices: here only a block with nothing in it can ask for them
    case Precision::float64:
    case Precision::digits50: break;
  }
  return make<double, double>(spec, cost, simd);
}

double kernel_bytes(const KernelSpec& spec, std::size_t n, std::size_t m, std::size_t targets) {
  const bool stored_as_float = is_reduced(spec.precision);
  const double element = stored_as_float ? sizeof(float) : sizeof(double);
  const double vector_element = spec.precision == Precision::float32 ? sizeof(float) : sizeof(double);
  const std::size_t padded = stored_as_float ? cpu::padded<float>(m) : cpu::padded<double>(m);
  const auto stride = static_cast<double>(padded);
  const auto threads = static_cast<double>(spec.threads);
  const auto vectors = static_cast<double>(targets) * stride;
  const bool many = targets > WorkCut::kFewTargets;
  const std::size_t work = spec.kind == KernelKind::online ? WorkCut::kExponential : 1;
  const double copies = many ? 1 : static_cast<double>(WorkCut::fused_chunks(n, m, work));

  double bytes = vectors * (vector_element + copies * sizeof(double));  // v and the sums
  bytes += threads * cpu::kRowBlock * kStrip * sizeof(double);
  if (spec.kind == KernelKind::dense) bytes += static_cast<double>(n) * stride * element;
  if (spec.kind == KernelKind::online) bytes += threads * cpu::kRowBlock * stride * element;
  if (many) {
    const auto block_rows = static_cast<double>(WorkCut::target_block(n, padded));
    bytes += block_rows * static_cast<double>(targets) * vector_element;
    const bool in_place = spec.kind == KernelKind::dense && element == vector_element;
    if (!in_place) bytes += block_rows * stride * vector_element;
    if (spec.precision == Precision::float32) bytes += vectors * sizeof(float);
  }
  return bytes;
}

}  // namespace fedsinkhorn
