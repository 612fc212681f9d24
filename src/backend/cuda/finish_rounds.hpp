// What follows the products of a round, for operators that have no faster way of their own.
#pragma once

#include "backend/cuda/operator.hpp"
#include "backend/cuda/runtime.hpp"

namespace fedsinkhorn::cuda {

/// Owns its scratch memory, which grows with the largest number of targets seen. Sums in a fixed order. Call rows and
/// then columns for each round, on one stream.
class RoundFinisher {
 public:
  RoundFinisher() = default;

  /// After q = K x: error_a of the old u, then u = a / q. Status of round `index`.
  void rows(const PlainRounds& rounds, int index, std::size_t n, cudaStream_t stream);
  /// After r = K' u: error_b of x, then v = b / r, and the status.
  void columns(const PlainRounds& rounds, int index, const double* x, std::size_t m, cudaStream_t stream);

 private:
  void reserve(std::size_t targets, cudaStream_t stream);

  DeviceBuffer<double> parts_;
  unsigned row_blocks_ = 0;         ///< parts each target has from the last call of rows
  DeviceBuffer<unsigned> arrived_;  ///< zero between calls
};

}  // namespace fedsinkhorn::cuda
