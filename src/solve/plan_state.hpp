// What a plan is computed from, and one target of it ready to be computed.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/cuda/cuda_plan_kernel.hpp"
#include "cost/cost_input.hpp"
#include "fedsinkhorn/solve.hpp"
#include "kernel/plan_kernel.hpp"

namespace fedsinkhorn {

struct Plan::State {
  const Result& result;
  double epsilon;
  CostBlock with_mass;  ///< rows and columns that have a potential in some target, as they had in the solve
  const cpu::Simd& simd;
  int threads;
  int device;                        ///< that computes; -1: the host
  std::unique_ptr<CostSource> cost;  ///< if the host computes

  /// Costs of this result for the device.
  [[nodiscard]] cuda::DeviceTask task(const CostBlock& block) const { return {block, simd, threads, device, epsilon}; }
  /// Rows that the result has.
  [[nodiscard]] std::size_t rows_here() const { return result.f.size() / result.targets; }
};

/// One target of a plan: P_ij = 2^exponent u_i K_ij v_j over the lines with mass, K_ij = exp((phi_i + psi_j - C_ij) /
/// epsilon). Where a line has no mass in this target, u or v and K are 0.
struct PlanTarget {
  int exponent = 0;
  std::vector<double> u, v;
  std::vector<double> phi, psi;
};
[[nodiscard]] PlanTarget plan_target(const Plan::State& state, std::size_t target);
[[nodiscard]] std::unique_ptr<PlanKernel> make_kernel(const Plan::State& state, const PlanTarget& plan);

/// The values with a last column of ones, so that one product also gives the totals.
[[nodiscard]] std::vector<double> with_ones(MatrixView<double> values);

// Plan::apply and Plan::apply_transposed with weights. Shapes must be right.
void multiply(const Plan::State& state, std::size_t target, EntryWeight weight, MatrixView<double> values,
              std::span<double> out);
void multiply_transposed(const Plan::State& state, std::size_t target, EntryWeight weight, MatrixView<double> values,
                         std::span<double> out);

}  // namespace fedsinkhorn
