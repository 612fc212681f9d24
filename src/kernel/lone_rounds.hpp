// Rounds that a block makes by itself, where nobody else has a part in the problem and it has a faster way than verb by
// verb: on a device, without the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// What a round met, of the worst target.
struct SeenRound {
  double error_a = 0;  ///< in the norm asked for
  double error_b = 0;
  double gain = 0;            ///< KL(b || columns) of the last accepted round; accelerated only
  std::int64_t rejected = 0;  ///< rounds so far, of all targets
  std::size_t history = 0;
};

/// How to get ahead faster than by plain rounds (method/anderson.cpp).
struct AccelerationRule {
  std::size_t memory = 0;  ///< differences kept; 0: plain rounds
  double reach = 64;       ///< longest step of log v
  double mass = 1;
};

struct LoneRounds {
  std::size_t targets = 1;
  std::span<const double> a;
  std::span<const double* const> b;  ///< of each target
  double* u = nullptr;               ///< targets x rows, targets x columns: from these, to the last ones accepted
  double* v = nullptr;
  Norm norm = Norm::l1;
  std::int64_t most = 0;         ///< rounds
  std::int64_t look_every = 64;  ///< rounds from one look, if it is wanted, to the next
  /// It is time for the caller to have a look when half of the targets have an error this small (0: never),
  double tolerance = 0;
  /// or when scalings leave the safe range,
  double safe_scaling = 1e100;
  /// or when all gains are at most this.
  double goal_gain = -1;
  AccelerationRule acceleration;
  /// Called for every round, in order and possibly a few late; true: the caller wants to have a look, at the next
  /// multiple of look_every.
  std::function<bool(const SeenRound&)> observe;
  /// Asked now and then: whether to stop at once.
  std::function<bool()> interrupted;
};

}  // namespace fedsinkhorn
