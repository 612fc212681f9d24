// Rounds that read a stored kernel once.
#pragma once

#include <memory>

#include "backend/cuda/operator.hpp"

namespace fedsinkhorn::cuda {

/// How K is stored and what products are formed in. float64, float32: both. mixed: stored as float32, all sums in
/// float64. bfloat16: stored as bfloat16, products in float32.
enum class Storage { float64, float32, mixed, bfloat16 };

[[nodiscard]] constexpr std::size_t bytes_of(Storage storage) {
  return storage == Storage::float64 ? 8 : storage == Storage::bfloat16 ? 2 : 4;
}

/// A stored kernel: row i begins at data + i * stride elements; entries between columns and stride are zero. No entry
/// is negative, infinite or NaN (mixed would not notice). data is aligned to 256 bytes.
struct StoredKernel {
  Storage storage = Storage::float64;
  const void* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;
};

/// The row stride that DensePass needs, in elements.
[[nodiscard]] std::size_t dense_stride(Storage storage, std::size_t columns);

/// Products with a stored kernel for one target. Owns its scratch memory.
class DensePass {
 public:
  virtual ~DensePass() = default;
  DensePass() = default;
  DensePass(const DensePass&) = delete;
  DensePass& operator=(const DensePass&) = delete;

  virtual void apply(const StoredKernel& kernel, const double* v, double* q, cudaStream_t stream) = 0;
  virtual void apply_transposed(const StoredKernel& kernel, const double* u, double* r, cudaStream_t stream) = 0;
  virtual void fused(const StoredKernel& kernel, const double* a, const double* v, double* q, double* u, double* r,
                     cudaStream_t stream) = 0;
  /// Whether rows are short enough to read the kernel once per round and to make many rounds per launch. Otherwise a
  /// round reads the kernel twice.
  [[nodiscard]] virtual bool reads_once() const = 0;
  /// rounds.targets is 1.
  virtual void rounds(const StoredKernel& kernel, const PlainRounds& rounds, cudaStream_t stream) = 0;
};

/// For kernels of that shape on the current device.
[[nodiscard]] std::unique_ptr<DensePass> make_dense_pass(Storage storage, std::size_t rows, std::size_t columns);
/// Device memory it will take.
[[nodiscard]] double dense_pass_bytes(Storage storage, std::size_t rows, std::size_t columns);

}  // namespace fedsinkhorn::cuda
