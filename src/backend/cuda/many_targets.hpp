// Products of a stored kernel with many targets at once: matrix products.
#pragma once

#include <memory>

#include "backend/cuda/dense_pass.hpp"

namespace fedsinkhorn::cuda {

/// Owns its scratch memory, which grows with the largest number of targets seen.
class ManyTargets {
 public:
  virtual ~ManyTargets() = default;
  ManyTargets() = default;
  ManyTargets(const ManyTargets&) = delete;
  ManyTargets& operator=(const ManyTargets&) = delete;

  virtual void apply(const StoredKernel& kernel, std::size_t targets, const double* v, double* q,
                     cudaStream_t stream) = 0;
  virtual void apply_transposed(const StoredKernel& kernel, std::size_t targets, const double* u, double* r,
                                cudaStream_t stream) = 0;
  virtual void fused(const StoredKernel& kernel, std::size_t targets, const double* a, const double* v, double* q,
                     double* u, double* r, cudaStream_t stream) = 0;
  virtual void rounds(const StoredKernel& kernel, const PlainRounds& rounds, cudaStream_t stream) = 0;
  /// The library in use: "cublas" or "own".
  [[nodiscard]] virtual const char* library() const = 0;
};

/// The library to use. best: cuBLAS for float64 if present, else our own. With cuBLAS the order of summation depends on
/// the whole shape; with our own, only on the length of the sum and the number of targets.
enum class Multiplier { best, cublas, own };

/// On the current device. Empty if cuBLAS is requested but not present, or not used for that storage (only float64).
[[nodiscard]] std::unique_ptr<ManyTargets> make_many_targets(Storage storage, Multiplier multiplier = Multiplier::best);
/// Device memory it will take for that many targets.
[[nodiscard]] double many_targets_bytes(Storage storage, std::size_t rows, std::size_t columns, std::size_t targets);

}  // namespace fedsinkhorn::cuda
