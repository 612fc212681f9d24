// Anderson acceleration entirely on the device: the same steps as method/anderson.cpp, for all targets at once.
#pragma once

#include "backend/cuda/operator.hpp"
#include "device/runtime.hpp"
#include "kernel/lone_rounds.hpp"

namespace fedsinkhorn::cuda {

/// Result of a round for one target.
struct AndersonRound {
  RoundStatus status;
  double gain;    ///< of the last accepted round
  int rejected;   ///< rounds since the start
  int history;    ///< differences that the next point uses
  bool accepted;  ///< else u and v are those of an earlier round
  bool unusable;  ///< a plain round that gave zero, infinity or NaN: nothing was changed
};

/// Device memory; several targets one after the other.
struct AndersonVectors {
  const double* a;
  const double* b;
  double* u;             ///< of the last accepted round
  double* v;             ///< likewise
  double* x;             ///< start of the round; after step(): start of the next one
  const double* q;       ///< K x
  const double* u_next;  ///< a / q
  const double* r;       ///< K' u_next
};

struct AndersonTarget;

class AndersonOnDevice {
 public:
  AndersonOnDevice(std::size_t targets, std::size_t rows, std::size_t columns, std::size_t memory);
  ~AndersonOnDevice();
  AndersonOnDevice(const AndersonOnDevice&) = delete;
  AndersonOnDevice& operator=(const AndersonOnDevice&) = delete;

  /// Forgets the history: the next round starts from an accepted v.
  void restart(const AccelerationRule& rule, cudaStream_t stream);
  /// Call after the products of a round: judges it and updates u, v and x. rounds(): the results, one per target.
  void step(const AndersonVectors& vectors, Norm norm, cudaStream_t stream);
  [[nodiscard]] const AndersonRound* rounds() const { return rounds_.data(); }

  [[nodiscard]] static double bytes(std::size_t targets, std::size_t rows, std::size_t columns, std::size_t memory);

 private:
  std::size_t targets_, rows_, columns_;
  int memory_;
  DeviceBuffer<AndersonTarget> states_;
  DeviceBuffer<double> images_;     // targets x ring x columns: log G(x)
  DeviceBuffer<double> residuals_;  // likewise: log G(x) - log x
  DeviceBuffer<double> parts_;      // sums and maxima per chunk
  DeviceBuffer<double> pair_parts_;
  DeviceBuffer<AndersonRound> rounds_;
};

}  // namespace fedsinkhorn::cuda
