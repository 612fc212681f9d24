// Points in the format of the tensor cores: float16, as fragments in registers or as blocks in shared memory.
//
// Coordinates are multiplied by the root of the factor of x.y in the exponent, so that x'.y' is the exponent's part. A
// float16 holds 11 bits, one more than tf32, at twice its speed. Its narrower range does no harm here: x' near 2^15
// would be an exponent of 2^30, and what x' below 2^-14 loses is below 2^-25.
//
// Forms of a point:
//  - single: hi = float16(x').
//  - split:  hi and lo = float16(x' - hi), together 22 bits. x'.y' = hi.hi + hi.lo + lo.hi.
//  - packed: all of split in one slice for dimensions up to three, and both points' shifts s in three pieces:
//      left  = [hi, hi, lo, s1/2^12, s2, s3, 2^12,     1,  1 ]
//      right = [hi, lo, hi, 2^12,     1,  1, s1/2^12, s2, s3].
// A split point has the slices hi, lo, hi, lo ... of 16 coordinates each.
// Memory of fragments: [tile of 16 points][slice of 16 numbers][lane] of four registers of two numbers: what that lane
// holds of the slice in B of mma.m16n8k16 for points 0 to 7, then for points 8 to 15. Reordered, they are what the lane
// holds of A, so one array serves both sides.
// Memory of blocks, B of wgmma: [8 points][slice][numbers 0 to 7, 8 to 15][point][number].
#pragma once

#include <cuda_fp16.h>

#include "backend/cuda/online_job.cuh"

namespace fedsinkhorn::cuda::online {

enum class Form { single, split, packed };

constexpr std::size_t kPackedDimensions = 3;
/// Coordinates beyond this do not fit a float16.
constexpr double kLargestCoordinate = 60000;

/// Writes all padded points as fragments to left and, unless null, as blocks to right. root: the factor of the
/// coordinates. shift: packed only.
void pack_points(Form form, const double* points, std::size_t count, std::size_t dimension, double root,
                 std::size_t slices, const float* shift, __half* left, __half* right, cudaStream_t stream);

/// x'.x' as the tensor cores would compute it, from the rounded points: close points then have distances near zero.
void rounded_norms(Form form, const double* points, std::size_t count, std::size_t dimension, double root,
                   double* norms, cudaStream_t stream);

}  // namespace fedsinkhorn::cuda::online
