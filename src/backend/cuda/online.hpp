// The kernel computed from points whenever needed, never stored.
#pragma once

#include <memory>
#include <vector>

#include "backend/cuda/operator.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn::cuda {

/// float64: costs, exponentials and sums. float32: costs to float32 accuracy, exponentials in float32, long sums in
/// float64. tf32: faster; products of coordinates in eleven bits if there are more than 16 of them, the rest as
/// float32. In the latter two, K below 1e-38 is zero, so potentials should be absorbed before u and v have moved by
/// more than about 1e15. If epsilon is so small that float32 has no digits left for the exponents (coordinates over the
/// root of epsilon beyond 3e4, or distances over epsilon), float64 is used.
enum class OnlineAccuracy { float64, float32, tf32 };

/// Points as float64, row by row. For cosine they have unit length. For distances they are best centred, with the same
/// origin for all blocks: the error of an exponent in float32 is relative to squared lengths over epsilon.
struct Points {
  std::vector<double> x, y;
  std::size_t dimension = 1;
  Metric metric = Metric::sqeuclidean;
  double unit = 1;  ///< of the coordinates (see BlockPoints)
};

/// On the current device.
[[nodiscard]] std::unique_ptr<Operator> make_online(const Points& points, OnlineAccuracy accuracy);
/// Device memory it will take.
[[nodiscard]] double online_bytes(std::size_t rows, std::size_t columns, std::size_t dimension, std::size_t targets,
                                  OnlineAccuracy accuracy);

}  // namespace fedsinkhorn::cuda
