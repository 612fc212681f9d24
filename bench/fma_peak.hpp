// The fastest this machine multiplies and adds.
#pragma once

#include <cstddef>

namespace fedsinkhorn::bench {

/// Does at least `count` multiply-adds of float64 on the calling thread, all in registers, with the widest vectors
/// there are. The result is of no interest but must be used.
[[nodiscard]] double multiply_add_in_registers(std::size_t count);

}  // namespace fedsinkhorn::bench
