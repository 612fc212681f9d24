// Sums over points whose coordinates the tensor cores multiply.
#pragma once

#include "backend/cuda/online_fragments.cuh"
#include "backend/cuda/online_job.cuh"

namespace fedsinkhorn::cuda::online {

/// Targets whose sums are formed together: kernels have an instance for one and for this many.
constexpr std::size_t kTensorTargets = 8;

/// How points with that many coordinates are stored, and which kernel sums.
struct TensorPlan {
  Form form;
  std::size_t slices;         ///< per point
  bool deep;                  ///< too many coordinates for registers: both sides go through shared memory
  std::size_t slots_a_split;  ///< of Job::partial, filled by each split
};
[[nodiscard]] TensorPlan tensor_plan(bool exact, Metric metric, std::size_t dimension);

/// targets: 1 or kTensorTargets.
void tensor_sums(const TensorPlan& plan, const Job<float>& job, std::size_t targets, std::size_t splits,
                 cudaStream_t stream);
/// The same if plan.deep.
void deep_sums(const TensorPlan& plan, const Job<float>& job, std::size_t targets, std::size_t splits,
               cudaStream_t stream);

}  // namespace fedsinkhorn::cuda::online
