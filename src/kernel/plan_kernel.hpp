// The kernel of a plan that is looked at after a solve: K_ij = exp((phi_i + psi_j - C_ij) / epsilon) in float64, from
// costs that are read or computed again. Nothing here stores an n x m array.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "core/range.hpp"

namespace fedsinkhorn {

/// What an entry of the plan counts in a product.
enum class EntryWeight {
  one,
  inverse_cost  ///< 1 / C_ij, 0 where the cost is 0
};

/// For one call at a time. Rows are called lines, as they are those with mass alone.
class PlanKernel {
 public:
  virtual ~PlanKernel() = default;
  PlanKernel() = default;
  PlanKernel(const PlanKernel&) = delete;
  PlanKernel& operator=(const PlanKernel&) = delete;

  /// Calls body(line, count, kernel, stride), perhaps on several threads at once, for blocks that together are these
  /// lines: count rows of K, stride numbers apart.
  using UseRows = std::function<void(std::size_t line, std::size_t count, const double* kernel, std::size_t stride)>;
  virtual void for_blocks(Range lines, const UseRows& body) const = 0;

  /// sums[c * rows + i] = sum_j w_ij K_ij factors[c * columns + j], for each of `count` lists of factors.
  virtual void multiply(EntryWeight weight, std::size_t count, std::span<const double> factors,
                        std::span<double> sums) const = 0;
  /// sums[c * columns + j] = sum_i w_ij K_ij factors[c * rows + i]
  virtual void multiply_transposed(EntryWeight weight, std::size_t count, std::span<const double> factors,
                                   std::span<double> sums) const = 0;
};

}  // namespace fedsinkhorn
