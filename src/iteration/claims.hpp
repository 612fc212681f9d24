// When a client that iterates by itself asks the others for a round.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fedsinkhorn {

/// A round brings all clients to the same state, measures the true errors, and costs about as much as a few iterations.
/// A client claims one
///  - when it takes the problem for solved. Slices of different age do not fit together exactly, which a round mends:
///  it
///    mostly finds an error below the one a client sees. How far below is learnt from rounds that came too early.
///  - when the error it sees has not halved for long. Between rounds potentials do not get further from a solution, and
///    a round brings them nearer (docs/async.md): should clients not get anywhere by themselves, rounds will.
class Claims {
 public:
  void begin_stretch(std::int64_t iteration) {
    best_ = std::numeric_limits<double>::infinity();
    best_at_ = iteration;
    claimed_ = 0;
  }

  /// error: as this client sees it after that iteration.
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

  /// The error the round found.
  void end_round(std::int64_t iteration, double error) {
    if (claimed_ > 0 && error > 0) reach_ = std::clamp(claimed_ / error / 2, 1 / kMostReach, kMostReach);
    not_before_ = iteration + std::max<std::int64_t>(4, iteration / 16);
  }

 private:
  static constexpr std::int64_t kPatience = 256;
  static constexpr double kMostReach = 10;

  double reach_ = kMostReach;    // claims are made at so many times the tolerance
  double claimed_ = 0;           // what this client saw when it claimed the round
  std::int64_t not_before_ = 0;  // rounds that came too early are not to follow each other closely
  double best_ = 0;
  std::int64_t best_at_ = 0;
};

}  // namespace fedsinkhorn
