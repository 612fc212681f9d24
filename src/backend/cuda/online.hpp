// The kernel computed from points whenever it is needed, never stored.
#pragma once

#include <memory>
#include <vector>

#include "backend/cuda/operator.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn::cuda {

/// float64: costs, exponentials and sums. float32: costs to the accuracy of float32, exponentials in float32, long sums
/// in float64. tf32: products of coordinates of about ten bits, the rest as float32; faster.
enum class OnlineAccuracy { float64, float32, tf32 };

/// Points as float64, row by row. For cosine they have unit length; for distances with many coordinates it is best if
/// they are centred.
struct Points {
  std::vector<double> x, y;
  std::size_t dimension = 1;
  Metric metric = Metric::sqeuclidean;
};

/// On the current device.
[[nodiscard]] std::unique_ptr<Operator> make_online(const Points& points, OnlineAccuracy accuracy);
/// Device memory it will take.
[[nodiscard]] double online_bytes(std::size_t rows, std::size_t columns, std::size_t dimension, std::size_t targets,
                                  OnlineAccuracy accuracy);

}  // namespace fedsinkhorn::cuda
