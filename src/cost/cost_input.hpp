// Where costs come from, as the whole engine sees it. Made from the given costs when a solve begins. A new kind of
// input is one file that implements this and one line in make_cost_input.
#pragma once

#include <cstddef>
#include <memory>

#include "cost/cost_block.hpp"
#include "cost/cost_scan.hpp"
#include "cost/cost_source.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

class PointsInput;

/// What slices and memory needs depend on.
struct CostShape {
  std::size_t rows = 0;  ///< held here: all, or this client's part
  std::size_t columns = 0;
  std::size_t dimension = 0;                 ///< of points; 0: costs are given one by one
  std::size_t entry_bytes = sizeof(double);  ///< per cost, if costs are stored as given
};

class CostInput {
 public:
  virtual ~CostInput() = default;
  CostInput() = default;
  CostInput(const CostInput&) = delete;
  CostInput& operator=(const CostInput&) = delete;

  [[nodiscard]] virtual CostShape shape() const = 0;

  /// Throws InputError if the shape is wrong regardless of other clients. is_needed: this client must hold costs.
  virtual void check_shape(const InputNames& names, const Parts& parts, bool is_needed) const;

  /// The block must be one of this input. The source keeps it.
  [[nodiscard]] virtual std::unique_ptr<CostSource> source(const CostBlock& block, const cpu::Simd& simd) const = 0;

  /// Scans every cost of a block of consecutive rows and columns.
  [[nodiscard]] virtual CostScan scan(const CostBlock& block, const ScanSettings& settings) const;

  /// The points, if costs are computed from points, for code that can use them better than single costs; else null.
  /// Such costs are bounded by how far the points reach; others are scanned.
  [[nodiscard]] virtual const PointsInput* points() const { return nullptr; }

  /// The matrix, if it lies on a device, for code that computes there; else null.
  [[nodiscard]] virtual const DeviceCostMatrix* device_matrix() const { return nullptr; }
};

/// Holds only views, like Cost. A null CostFunction has no rows.
[[nodiscard]] std::shared_ptr<const CostInput> make_cost_input(const Cost& cost);

}  // namespace fedsinkhorn
