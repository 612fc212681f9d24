// Sums over points whose coordinates are multiplied by the tensor cores.
#pragma once

#include "backend/cuda/online_fragments.cuh"
#include "backend/cuda/online_job.cuh"

namespace fedsinkhorn::cuda::online {

/// Targets whose sums are formed together: kernels have an instance for one and for this many.
constexpr std::size_t kTensorTargets = 8;

/// How points of that many coordinates are laid out, and who sums.
struct TensorPlan {
  Form form;
  std::size_t slices;         ///< of a point
  bool deep;                  ///< too many coordinates for the registers: both sides through shared memory
  std::size_t slots_a_split;  ///< of Job::partial that each split fills
};
[[nodiscard]] TensorPlan tensor_plan(bool exact, Metric metric, std::size_t dimension);

/// targets: 1 or kTensorTargets.
void tensor_sums(const TensorPlan& plan, const Job<float>& job, std::size_t targets, std::size_t splits,
                 cudaStream_t stream);
/// The same where plan.deep.
void deep_sums(const TensorPlan& plan, const Job<float>& job, std::size_t targets, std::size_t splits,
               cudaStream_t stream);

}  // namespace fedsinkhorn::cuda::online
