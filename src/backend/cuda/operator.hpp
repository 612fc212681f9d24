// The Gibbs kernel as an operator on the device, and rounds of Sinkhorn entirely on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn::cuda {

/// Result of one round for one target. Entries without mass do not count.
struct RoundStatus {
  double error_a;   ///< of (old u) q - a: the sum of |x|, of x^2, or the largest |x|, depending on the norm
  double error_b;   ///< of (old v) r - b
  double least;     ///< of all q and r; NaN if any of them is
  double greatest;  ///< likewise
};

/// Plain rounds: q = K x, u = a / q, r = K' u, v = b / r (0 where b is 0), then the same from x = v. All pointers are
/// device memory; vectors of several targets are stored one target after the other.
struct PlainRounds {
  std::size_t targets = 1;
  const double* a = nullptr;  ///< rows; all positive
  const double* b = nullptr;  ///< targets x columns; may have zeros
  const double* x = nullptr;  ///< start of the first round; may be v
  double* u = nullptr;        ///< before: from the previous round, for error_a; after: the newest
  double* v = nullptr;        ///< after: the newest
  double* q = nullptr;        ///< of the last round
  double* r = nullptr;
  Norm norm = Norm::l1;
  int count = 1;
  /// Rounds may end early once the error_b of all targets is at most this (in the form of RoundStatus), or some least
  /// or greatest is outside [1 / safe_scaling, safe_scaling] or NaN.
  double tolerance = 0;
  double safe_scaling = 1e100;
  RoundStatus* status = nullptr;  ///< count x targets; written for the rounds made
  int* made = nullptr;            ///< number of rounds made
};

/// K_ij = exp((phi_i + psi_j - C_ij) / epsilon). All pointers are device memory, all vectors float64, several targets
/// one after the other. Verbs queue their work on the stream and return without waiting. The order of summation depends
/// only on the shape: the same input gives the same bits.
class Operator {
 public:
  virtual ~Operator() = default;
  Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  [[nodiscard]] virtual std::size_t rows() const = 0;
  [[nodiscard]] virtual std::size_t columns() const = 0;

  virtual void absorb(const double* phi, const double* psi, double epsilon, cudaStream_t stream) = 0;
  /// q = K v. With one target, the order of summation depends only on the number of columns.
  virtual void apply(std::size_t targets, const double* v, double* q, cudaStream_t stream) = 0;
  /// r = K' u. With one target, the order of summation depends only on the number of rows.
  virtual void apply_transposed(std::size_t targets, const double* u, double* r, cudaStream_t stream) = 0;
  /// q = K v, u = a / q, r = K' u.
  virtual void fused(std::size_t targets, const double* a, const double* v, double* q, double* u, double* r,
                     cudaStream_t stream) = 0;
  virtual void rounds(const PlainRounds& rounds, cudaStream_t stream) = 0;
  /// Whether rounds() with a large count is the best way to make many, and stops by itself.
  [[nodiscard]] virtual bool makes_many_rounds(std::size_t /*targets*/) const { return false; }
};

}  // namespace fedsinkhorn::cuda
