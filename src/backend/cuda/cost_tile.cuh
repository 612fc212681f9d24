// Costs on the device, tile by tile, as float64: read from a matrix or computed from points.
//
// A block of kTileThreads threads processes tiles of kTile x kTile entries; thread (tx, ty) has the entries in rows ty
// + 16 a and columns tx + 16 b, a, b < 4. Entries outside the matrix cost +inf, like forbidden pairs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "core/range.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn::cuda {

inline constexpr int kTile = 64;
inline constexpr int kTileThreads = 256;
inline constexpr int kTileSide = 16;  // threads along each side
inline constexpr int kEach = 4;       // rows, and columns, per thread

struct CostShape {
  std::size_t rows;
  std::size_t columns;
};

__device__ inline double tile_infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
__device__ inline std::size_t tile_row(std::size_t first, int a) {
  return first + threadIdx.x / kTileSide + kTileSide * a;
}
__device__ inline std::size_t tile_column(std::size_t first, int b) {
  return first + threadIdx.x % kTileSide + kTileSide * b;
}

/// A matrix as given: T is float or double.
template <class T>
struct MatrixCosts {
  const T* data;

  struct Shared {};
  __device__ void load(CostShape shape, std::size_t i0, std::size_t j0, Shared& /*shared*/,
                       double (&cost)[kEach][kEach]) const {
    for (int a = 0; a < kEach; ++a) {
      const std::size_t i = tile_row(i0, a);
      for (int b = 0; b < kEach; ++b) {
        const std::size_t j = tile_column(j0, b);
        const bool inside = i < shape.rows && j < shape.columns;
        cost[a][b] = inside ? static_cast<double>(data[i * shape.columns + j]) : tile_infinity();
      }
    }
  }
};

/// Points row by row, of unit length for cosine. Costs come from differences, which avoids cancellation.
template <Metric metric>
struct PointCosts {
  const double* x;
  const double* y;
  int dimension;
  double unit;  // of the coordinates; euclidean

  static constexpr int kDepth = 16;  // coordinates at a time
  struct Shared {
    double x[kTile][kDepth + 1];
    double y[kTile][kDepth + 1];
  };

  __device__ void load(CostShape shape, std::size_t i0, std::size_t j0, Shared& shared,
                       double (&cost)[kEach][kEach]) const {
    const int tx = static_cast<int>(threadIdx.x) % kTileSide;
    const int ty = static_cast<int>(threadIdx.x) / kTileSide;
    double sum[kEach][kEach] = {};
    for (int first = 0; first < dimension; first += kDepth) {
      __syncthreads();  // the previous chunk has been used
      for (int p = ty; p < kTile; p += kTileSide) {
        const int c = first + tx;
        const bool has_x = c < dimension && i0 + p < shape.rows;
        const bool has_y = c < dimension && j0 + p < shape.columns;
        shared.x[p][tx] = has_x ? x[(i0 + p) * dimension + c] : 0.0;
        shared.y[p][tx] = has_y ? y[(j0 + p) * dimension + c] : 0.0;
      }
      __syncthreads();
      for (int c = 0; c < kDepth; ++c) {
        for (int a = 0; a < kEach; ++a) {
          for (int b = 0; b < kEach; ++b) {
            const double xi = shared.x[ty + kTileSide * a][c];
            const double yj = shared.y[tx + kTileSide * b][c];
            sum[a][b] += (xi - yj) * (xi - yj);
          }
        }
      }
    }
    for (int a = 0; a < kEach; ++a) {
      for (int b = 0; b < kEach; ++b) {
        const bool inside = tile_row(i0, a) < shape.rows && tile_column(j0, b) < shape.columns;
        double value = sum[a][b];
        if constexpr (metric == Metric::euclidean) value = unit * sqrt(value);
        if constexpr (metric == Metric::cosine) value /= 2;
        cost[a][b] = inside ? value : tile_infinity();
      }
    }
  }
};

/// Calls use(i, j, C_ij) for the entries of these lines, each from one thread. To be launched with
/// grid_of_entries.
template <class Costs, class Use>
__device__ void for_entries(const Costs& costs, CostShape shape, Range lines, const Use& use) {
  __shared__ typename Costs::Shared shared;
  const std::size_t j0 = std::size_t{blockIdx.x} * kTile;
  for (std::size_t i0 = lines.first + std::size_t{blockIdx.y} * kTile; i0 < lines.last;
       i0 += std::size_t{gridDim.y} * kTile) {
    double cost[kEach][kEach];
    costs.load(shape, i0, j0, shared, cost);
    for (int a = 0; a < kEach; ++a) {
      const std::size_t i = tile_row(i0, a);
      for (int b = 0; b < kEach; ++b) {
        const std::size_t j = tile_column(j0, b);
        if (i < lines.last && j < shape.columns) use(i, j, cost[a][b]);
      }
    }
  }
}

inline dim3 grid_of_entries(CostShape shape, Range lines) {
  constexpr std::size_t most = 65535;  // maximum blocks of a grid in its second dimension
  const auto tiles_of = [](std::size_t count) { return (count + kTile - 1) / kTile; };
  return {static_cast<unsigned>(tiles_of(shape.columns)),
          static_cast<unsigned>(std::min(tiles_of(lines.size()), most))};
}

}  // namespace fedsinkhorn::cuda
