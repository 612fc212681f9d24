// The state of Anderson acceleration for a target, and the statistics of a round.
#pragma once

#include <cstddef>

#include "core/anderson_rules.hpp"
#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn::cuda {

inline constexpr int kMost = static_cast<int>(kMostHistory);
inline constexpr int kMostImages = kMost + 2;  // for the kept differences and the candidate

/// The state of a target. Points are stored in a ring: the newest accepted one in slot `newest`, earlier ones before
/// it. A difference has the slot of its later point.
struct AndersonTarget {
  int known;   // differences
  int newest;  // slot
  int gammas;  // of the point to try; 0: the plain image
  bool has_latest;
  bool accepted;  // the last round
  anderson::StepControl control;
  double sum_weights, sum_residual;
  double gamma[kMost];  // oldest difference first
  double sum_dx[kMostImages], sum_dr[kMostImages], dx_r[kMostImages], longest[kMostImages];
  double products[kMostImages][kMostImages];  // <dx_i, dR_j>
};

namespace anderson_steps {

using namespace fedsinkhorn::anderson;  // the rules

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kChunk = 1024;  // entries of a vector per block
inline constexpr int kPairChunk = 4096;

enum Sum : int { kErrorA, kErrorB, kDual, kDualAfter, kResidual2, kWeights, kResidual, kDx, kDxR, kDxDr, kSums };
enum Maximum : int { kLargestA, kLargestB, kLargestResidual, kLargestStep, kGreatest, kLeastNegated, kMaxima };
inline constexpr int kNumbers = int{kSums} + int{kMaxima};

inline int chunks_of(std::size_t size, int chunk) { return static_cast<int>((size + chunk - 1) / chunk); }

__device__ inline double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
/// The larger one; NaN is larger than any number.
__device__ inline double worse(double x, double y) { return x >= y || isnan(x) ? x : y; }
__device__ inline int before(int slot, int steps, int ring) { return (slot - steps % ring + ring) % ring; }

struct Numbers {
  double sums[kSums];
  double maxima[kMaxima];

  __device__ void count_error(Norm norm, Sum sum, Maximum maximum, double error) {
    sums[sum] += norm == Norm::l2 ? error * error : fabs(error);
    maxima[maximum] = worse(maxima[maximum], fabs(error));
  }
  __device__ void count_product(double product) {
    maxima[kGreatest] = worse(maxima[kGreatest], product);
    maxima[kLeastNegated] = worse(maxima[kLeastNegated], -product);
  }
};

}  // namespace anderson_steps
}  // namespace fedsinkhorn::cuda
