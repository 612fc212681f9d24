// Matrix products with a stored kernel by our own kernels, on tensor cores.
#pragma once

#include <cuda_bf16.h>

#include "backend/cuda/dense_pass.hpp"
#include "device/runtime.hpp"

namespace fedsinkhorn::cuda {

/// With a bfloat16 kernel, sums have float32 accuracy, otherwise float64. Owns its scratch memory, which grows with the
/// largest product seen. The order of summation depends only on the length of the sum and the number of targets.
class OwnProduct {
 public:
  OwnProduct();

  /// y = x K' (targets x rows; x: targets x columns), or, transposed, y = x K (targets x columns; x: targets x rows).
  void multiply(const StoredKernel& kernel, bool transposed, std::size_t targets, const double* x, double* y,
                cudaStream_t stream);

 private:
  int multiprocessors_ = 1;
  DeviceBuffer<double> begun_;         ///< tiles begun by one block and finished by the next
  DeviceBuffer<int> ready_;            ///< whether they are available
  DeviceBuffer<double> segments_;      ///< sums of parts, before they are added up
  DeviceBuffer<__nv_bfloat16> terms_;  ///< of x, for a bfloat16 kernel
};

/// Device memory it will take.
[[nodiscard]] double own_product_bytes(Storage storage, std::size_t rows, std::size_t columns, std::size_t targets);

}  // namespace fedsinkhorn::cuda
