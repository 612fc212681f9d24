// The input of the kernels that sum over points, and how the summed points are divided.
//
// All of them compute, for points x_i ("rows") and summed points y_j ("columns"), exponents in base 2:
//   sum_j 2^t_ij w_j^k,   t_ij = row_shift_i + column_shift_j - (log2 e / epsilon) C_ij or the rest of it
// The shifts contain the absorbed potentials. The transposed product swaps x and y.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn::cuda::online {

/// Points are padded to a multiple of this: padded points have a shift of -inf, no weight and zero coordinates.
constexpr std::size_t kPadding = 256;
/// Columns are divided in multiples of this.
constexpr std::size_t kColumnTile = 128;
/// Maximum number of shares of the columns of a row, each summed by one block.
constexpr std::size_t kMostSplits = 32;
/// Columns summed in float32 before they are added to a float64 sum; a thread has a quarter of them or less.
constexpr std::size_t kFloatColumns = 4096;

__host__ __device__ constexpr std::size_t round_up(std::size_t x, std::size_t unit) {
  return (x + unit - 1) / unit * unit;
}
__host__ __device__ constexpr std::size_t padded(std::size_t points) { return round_up(points, kPadding); }

/// Shares of the columns; they depend only on their number, like the order of summation.
struct Splits {
  std::size_t columns;  ///< per share; the last may have fewer
  std::size_t count;
};
inline Splits splits_for(std::size_t columns) {
  const std::size_t tiles = (columns + kColumnTile - 1) / kColumnTile;
  const std::size_t tiles_each = (tiles + kMostSplits - 1) / kMostSplits;
  return {tiles_each * kColumnTile, (tiles + tiles_each - 1) / tiles_each};
}

/// Real: type of shifts, weights and exponentials. Sums go to partial[(slot * targets of the kernel + k) * padded(rows)
/// + i].
template <class Real>
struct Job {
  std::size_t rows;
  std::size_t columns;
  std::size_t dimension;
  Metric metric;
  double scale;     ///< log2 e / epsilon, times the unit of the coordinates if C is a length
  const double* x;  ///< rows x dimension
  const double* y;  ///< columns x dimension
  const Real* row_shift;
  const Real* column_shift;
  const Real* weights;         ///< targets of the kernel x padded(columns)
  const double* row_norms;     ///< squared lengths
  const double* column_norms;  ///< squared lengths
  const uint4* left;           ///< fragments of x (see online_fragments.cuh)
  const uint4* right;          ///< fragments of y
  std::size_t slices;          ///< of 16 numbers, per point of a fragment
  std::size_t split_columns;
  std::size_t splits_a_block;  ///< summed by a block one after the other; only sum_by_products
  double* partial;
};

}  // namespace fedsinkhorn::cuda::online
