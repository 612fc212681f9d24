// NVIDIA's matrix products, if the library is present at run time.
#pragma once

#include <memory>

#include "device/runtime.hpp"

namespace fedsinkhorn::cuda {

/// A column-major matrix, as cuBLAS reads it.
struct ColumnMajor {
  const double* data = nullptr;
  std::size_t stride = 0;
  bool transposed = false;
};

/// One handle with its own workspace, so that the same input gives the same bits.
class Cublas {
 public:
  virtual ~Cublas() = default;
  Cublas() = default;
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// C = A B: rows x columns = (rows x length) (length x columns), column by column.
  virtual void multiply(std::size_t rows, std::size_t columns, std::size_t length, ColumnMajor a, ColumnMajor b,
                        double* c, std::size_t stride, cudaStream_t stream) = 0;
};

/// On the current device; empty if the library is not present.
[[nodiscard]] std::unique_ptr<Cublas> make_cublas();
/// Device memory it takes, besides the library's own.
inline constexpr std::size_t kCublasWorkspaceBytes = std::size_t{32} << 20;

}  // namespace fedsinkhorn::cuda
