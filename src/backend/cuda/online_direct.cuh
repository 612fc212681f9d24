// Sums over points on the ordinary arithmetic units: all of float64, and distances of few coordinates in float32.
#pragma once

#include "backend/cuda/online_job.cuh"

namespace fedsinkhorn::cuda::online {

/// Up to this many coordinates, distances are summed from differences, as on the CPU.
constexpr std::size_t kDirectDimensions = 16;

/// Targets whose sums are formed together: the kernel has an instance for one and for this many.
constexpr std::size_t kDirectTargets = 4;

/// Fills one slot of partial per split. targets: 1 or kDirectTargets. Real: float needs dimension <= kDirectDimensions.
template <class Real>
void direct_sums(const Job<Real>& job, std::size_t targets, std::size_t splits, cudaStream_t stream);

}  // namespace fedsinkhorn::cuda::online
