#include "cost/cost_input.hpp"

#include "cost/device_input.hpp"
#include "cost/function_input.hpp"
#include "cost/matrix_input.hpp"
#include "cost/points_input.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

std::shared_ptr<const CostInput> make(const CostMatrix& matrix) { return make_matrix_input(matrix); }
std::shared_ptr<const CostInput> make(const PointClouds& points) { return std::make_shared<PointsInput>(points); }
std::shared_ptr<const CostInput> make(const std::shared_ptr<const CostFunction>& function) {
  return make_function_input(function);
}
std::shared_ptr<const CostInput> make(const DeviceCostMatrix& matrix) { return make_device_input(matrix); }

}  // namespace

void CostInput::check_shape(const InputNames& names, const Parts& parts, bool is_needed) const {
  const auto [rows, columns, dimension, bytes] = shape();
  const bool none = (rows == 0 && !parts.rows) || columns == 0;
  if (none && is_needed) throw InputError(names.cost, "has no entries");
}

CostScan CostInput::scan(const CostBlock& block, const ScanSettings& settings) const {
  const std::unique_ptr<CostSource> costs = source(block, settings.simd);
  return scan_rows(
      block, settings, [&] { return RowReader(*costs); },
      [&](std::size_t row, std::size_t count) { costs->rows_done(row, count); });
}

std::shared_ptr<const CostInput> make_cost_input(const Cost& cost) {
  return std::visit([](const auto& given) { return make(given); }, cost);
}

}  // namespace fedsinkhorn
