// What follows the products of a round, for operators without a faster way of their own.
#pragma once

#include "backend/cuda/operator.hpp"
#include "device/runtime.hpp"

namespace fedsinkhorn::cuda {

/// u_i^k = a_i / q_i^k.
void divide(std::size_t rows, std::size_t targets, const double* a, const double* q, double* u, cudaStream_t stream);

/// *made = count.
void report_rounds(int count, int* made, cudaStream_t stream);

/// Owns its scratch memory, which grows with the largest number of targets seen. Sums in a fixed order. For each round,
/// call rows and then columns, on one stream.
class RoundFinisher {
 public:
  RoundFinisher() = default;

  /// After q = K x: error_a of the old u, then u = a / q. Status of round `index`.
  void rows(const PlainRounds& rounds, int index, std::size_t n, cudaStream_t stream);
  /// After r = K' u: error_b of x, then v = b / r, and the status.
  void columns(const PlainRounds& rounds, int index, const double* x, std::size_t m, cudaStream_t stream);

  /// Makes all rounds.count rounds, ignoring the tolerance. apply(x) queues q = K x, apply_transposed() r = K' u.
  template <class Apply, class ApplyTransposed>
  void make_rounds(const PlainRounds& rounds, std::size_t n, std::size_t m, const Apply& apply,
                   const ApplyTransposed& apply_transposed, cudaStream_t stream) {
    const double* x = rounds.x;
    for (int index = 0; index < rounds.count; ++index) {
      apply(x);
      rows(rounds, index, n, stream);
      apply_transposed();
      columns(rounds, index, x, m, stream);
      x = rounds.v;
    }
    report_rounds(rounds.count, rounds.made, stream);
  }

 private:
  void reserve(std::size_t targets, cudaStream_t stream);

  DeviceBuffer<double> parts_;
  unsigned row_blocks_ = 0;         ///< parts per target from the last call of rows
  DeviceBuffer<unsigned> arrived_;  ///< zero between calls
};

}  // namespace fedsinkhorn::cuda
