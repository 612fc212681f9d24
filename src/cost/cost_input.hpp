// What costs come from, as all of the engine sees it. Made from what was given when a solve begins. A new input is a
// file that implements this, and its line in make_cost_input.
#pragma once

#include <cstddef>
#include <memory>

#include "cost/cost_block.hpp"
#include "cost/cost_scan.hpp"
#include "cost/cost_source.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

class PointsInput;

/// What sharing and memory depend on.
struct CostShape {
  std::size_t rows = 0;  ///< those here: all, or this client's part
  std::size_t columns = 0;
  std::size_t dimension = 0;                 ///< of points; 0: costs are given one by one
  std::size_t entry_bytes = sizeof(double);  ///< of a cost that is stored as it was given
};

class CostInput {
 public:
  virtual ~CostInput() = default;
  CostInput() = default;
  CostInput(const CostInput&) = delete;
  CostInput& operator=(const CostInput&) = delete;

  [[nodiscard]] virtual CostShape shape() const = 0;

  /// Throws InputError if the shape is wrong, whatever the other clients have. is_needed: this client has to hold
  /// costs.
  virtual void check_shape(const InputNames& names, const Parts& parts, bool is_needed) const;

  /// The block is one of this input, and is kept.
  [[nodiscard]] virtual std::unique_ptr<CostSource> source(const CostBlock& block, const cpu::Simd& simd) const = 0;

  /// A look at every cost of a block of consecutive rows and columns.
  [[nodiscard]] virtual CostScan scan(const CostBlock& block, const ScanSettings& settings) const;

  /// Where costs are distances of points: those, for who has a better use for them than costs one by one. Such costs
  /// are bounded by how far the points reach; others are scanned.
  [[nodiscard]] virtual const PointsInput* points() const { return nullptr; }
};

/// Views only, as Cost has. A null CostFunction has no rows.
[[nodiscard]] std::shared_ptr<const CostInput> make_cost_input(const Cost& cost);

}  // namespace fedsinkhorn
