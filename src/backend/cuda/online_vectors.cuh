// The small kernels around the sums over points: shifts and weights before, joining after.
#pragma once

#include "backend/cuda/online_job.cuh"

namespace fedsinkhorn::cuda::online {

/// What the potentials of one side add to the exponent, in base 2: shift = scale potential - offset - part norm, as
/// float64 and rounded to float32. rest = 2^(shift - rounded) corrects the rounding. -inf stays -inf. Padded points get
/// -inf. norms may be null.
void make_shifts(std::size_t count, const double* potential, double scale, double offset, const double* norms,
                 double part, double* shift, float* rounded, double* rest, cudaStream_t stream);

/// weights_j^k = values_j^k rest_j for the kernel's targets; zero for padded points and for k >= targets. rest may be
/// null.
template <class Real>
void make_weights(std::size_t count, std::size_t targets, std::size_t kernel_targets, const double* values,
                  const double* rest, Real* weights, cudaStream_t stream);

/// out_i^k = rest_i (sum of the slots of partial, in order). rest may be null.
void join_partial(std::size_t rows, std::size_t targets, std::size_t kernel_targets, std::size_t slots,
                  const double* partial, const double* rest, double* out, cudaStream_t stream);

/// |x_i|^2.
void squared_norms(const double* points, std::size_t count, std::size_t dimension, double* norms, cudaStream_t stream);

}  // namespace fedsinkhorn::cuda::online
