// Rounds that a block makes by itself, if it is the whole problem and has a faster way than verb by verb: on a device,
// without the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// What a round found, for the worst target.
struct SeenRound {
  double error_a = 0;  ///< in the chosen norm
  double error_b = 0;
  double gain = 0;            ///< KL(b || columns) of the last accepted round; accelerated only
  std::int64_t rejected = 0;  ///< rounds so far, over all targets
  std::size_t history = 0;
};

/// Acceleration of the rounds (method/anderson.cpp).
struct AccelerationRule {
  std::size_t memory = 0;  ///< differences kept; 0: plain rounds
  double reach = 64;       ///< longest step of log v
  double mass = 1;
};

struct LoneRounds {
  std::size_t targets = 1;
  std::span<const double> a;
  std::span<const double* const> b;  ///< per target
  double* u = nullptr;               ///< targets x rows, targets x columns: start, and on return the last accepted
  double* v = nullptr;
  Norm norm = Norm::l1;
  std::int64_t most = 0;         ///< maximum number of rounds
  std::int64_t look_every = 64;  ///< rounds between checks by the caller, if it wants one
  /// The rounds end for a check by the caller if half of the targets have an error this small (0: never),
  double tolerance = 0;
  /// or scalings leave the safe range,
  double safe_scaling = 1e100;
  /// or all gains are at most this.
  double goal_gain = -1;
  AccelerationRule acceleration;
  /// Called for every round, in order, possibly a few rounds late. True: the caller wants to check, at the next
  /// multiple of look_every.
  std::function<bool(const SeenRound&)> observe;
  /// Polled: whether to stop at once.
  std::function<bool()> interrupted;
};

}  // namespace fedsinkhorn
