// Numbers of .npy files of every type and order, as float64.
#pragma once

#include <cstddef>
#include <vector>

#include "io/npy_header.hpp"

namespace fedsinkhorn {

/// All numbers, row by row. data: where they begin, at any alignment. Integers beyond 2^53 and long doubles are
/// rounded; what is too large becomes infinite.
[[nodiscard]] std::vector<double> converted_numbers(const NpyHeader& header, const std::byte* data);

}  // namespace fedsinkhorn
