// The kernel of a plan on a device, and log-domain sums there, after a solve. Including this needs no CUDA header.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "cost/cost_block.hpp"
#include "kernel/plan_kernel.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn::cuda {

/// What a device computes with after a solve.
struct DeviceTask {
  const CostBlock& block;
  const cpu::Simd& simd;  ///< to read costs that are on the host
  int threads = 1;
  int device = 0;
  double epsilon = 1;
};

[[nodiscard]] std::unique_ptr<PlanKernel> make_plan_kernel(const DeviceTask& task, std::span<const double> phi,
                                                           std::span<const double> psi);

/// Rows of a plan in the memory of the device: 2^exponent u_i K_ij v_j at (row_places[i], column_places[j]) of a matrix
/// with `columns` columns, row_places counted from its first row; 0 everywhere else.
struct PlanRows {
  std::span<const double> phi, psi, u, v;
  int exponent = 0;
  Range lines;  ///< of the block
  std::span<const std::size_t> row_places;
  std::span<const std::size_t> column_places;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::variant<double*, float*> out;  ///< rows x columns
};
void write_plan_rows(const DeviceTask& task, const PlanRows& rows);

/// s_i = log sum_j exp((psi_j - C_ij) / epsilon)
[[nodiscard]] std::vector<double> row_log_sums(const DeviceTask& task, std::span<const double> psi);
/// s_j = log sum_i exp((phi_i - C_ij) / epsilon)
[[nodiscard]] std::vector<double> column_log_sums(const DeviceTask& task, std::span<const double> phi);

}  // namespace fedsinkhorn::cuda
