// An order of points in which neighbours in the list are neighbours in space, as far as a line can do that.
#pragma once

#include <cstddef>
#include <vector>

#include "fedsinkhorn/matrix.hpp"

namespace fedsinkhorn {

/// For every point its place among those of its cloud, along the direction in which both clouds together vary most.
struct OrderOfPoints {
  std::vector<std::size_t> x;
  std::vector<std::size_t> y;
};

/// Both have the same number of columns, at least one, and finite entries.
[[nodiscard]] OrderOfPoints order_of_points(const AnyMatrix& x, const AnyMatrix& y);

}  // namespace fedsinkhorn
