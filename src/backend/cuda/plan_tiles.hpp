// Plans written to device memory, and kernels weighted by their costs. All pointers are device memory; work is queued
// on the stream.
#pragma once

#include <variant>

#include "backend/cuda/costs.hpp"

namespace fedsinkhorn::cuda {

/// K_ij = exp((phi_i + psi_j - C_ij) / epsilon)
struct PlanPotentials {
  const double* phi;
  const double* psi;
  double epsilon;
};

/// to[row_places[i - lines.first] * stride + column_places[j]] = 2^exponent u_i K_ij v_j for these lines and all
/// columns.
struct PlanWriting {
  const double* u;
  const double* v;
  int exponent;
  const std::size_t* row_places;
  const std::size_t* column_places;
  std::variant<double*, float*> to;
  std::size_t stride;
};
void write_plan(const DeviceCosts& costs, const PlanPotentials& potentials, Range lines, const PlanWriting& writing,
                cudaStream_t stream);

/// kernel[(i - lines.first) * stride + j] /= C_ij, 0 where the cost is 0.
void divide_by_costs(const DeviceCosts& costs, Range lines, double* kernel, std::size_t stride, cudaStream_t stream);

}  // namespace fedsinkhorn::cuda
