// The two shapes of the demonstration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedsinkhorn {

struct DemoClouds {
  std::vector<double> source;  ///< points x 2, a smiling face
  std::vector<double> target;  ///< points x 2, a five-pointed star
};

/// Points that fill each shape evenly without forming a grid, y upwards, within the square [-1, 1]^2. The same seed
/// gives the same points. The time grows with the square of their number: a quarter of a second for 1,500.
[[nodiscard]] DemoClouds demo_clouds(std::size_t points = 1500, std::uint64_t seed = 1);

}  // namespace fedsinkhorn
