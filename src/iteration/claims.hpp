// When a client that iterates by itself requests a round from the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fedsinkhorn {

/// A round brings all clients to the same state, measures the true errors, and costs about as much as a few iterations.
/// A client claims one
/// - when it believes the problem is solved. Slices of different age do not fit together exactly; a round repairs that,
///   so it usually finds a smaller error than a client sees. How much smaller is learnt from rounds that came too
///   early.
/// - when the error it sees has not halved for long. Between rounds, potentials do not move away from a solution, and a
///   round brings them closer (docs/async.md): if clients make no progress by themselves, rounds will.
class Claims {
 public:
  void begin_stretch(std::int64_t iteration) {
    best_ = std::numeric_limits<double>::infinity();
    best_at_ = iteration;
    claimed_ = 0;
  }

  /// error: as seen by this client after that iteration.
  [[nodiscard]] bool wants_round(std::int64_t iteration, double error, double tolerance) {
    if (error < best_ / 2) {
      best_ = error;
      best_at_ = iteration;
    }
    if (tolerance > 0 && error <= reach_ * tolerance && iteration >= not_before_) {
      claimed_ = error;
      return true;
    }
    return iteration - best_at_ >= kPatience;
  }

  /// error: as found by the round.
  void end_round(std::int64_t iteration, double error) {
    if (claimed_ > 0 && error > 0) reach_ = std::clamp(claimed_ / error / 2, 1 / kMostReach, kMostReach);
    not_before_ = iteration + std::max<std::int64_t>(4, iteration / 16);
  }

 private:
  static constexpr std::int64_t kPatience = 256;
  static constexpr double kMostReach = 10;

  double reach_ = kMostReach;    // a round is claimed at this multiple of the tolerance
  double claimed_ = 0;           // error seen by this client when it claimed the round
  std::int64_t not_before_ = 0;  // keeps rounds that came too early from following each other closely
  double best_ = 0;
  std::int64_t best_at_ = 0;
};

}  // namespace fedsinkhorn
