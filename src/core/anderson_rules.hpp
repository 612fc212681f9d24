// The decisions of Anderson acceleration on host and device: which rounds count, and how long a step may be. For the
// method see method/anderson.cpp.
#pragma once

#include <cstdint>
#include <limits>

#include "core/host_device.hpp"

namespace fedsinkhorn::anderson {

/// A rejected step is tried again at a quarter of its length.
inline constexpr double kShrink = 0.25;
/// After an accepted step that was cut short, the next may be twice as long.
inline constexpr double kGrow = 2;
/// Rounding error of F, relative to the mass. Larger noise is learnt when a plain step falls short.
inline constexpr double kRounding = 1e-12;
/// If F cannot tell points apart, the residual must not grow more than tenfold.
inline constexpr double kResidualGrowth = 100;
/// Once noise was seen, gains up to this many times the slack may be noise alone.
inline constexpr double kNoiseAlone = 4;
/// Tikhonov parameter, relative to the mean of the diagonal.
inline constexpr double kRegularization = 1e-12;
/// Rejected rounds may not outnumber the accepted ones by more than this.
inline constexpr int kRejectionsForFree = 10;
/// Differences that survive a rejection.
inline constexpr int kKeptAfterRejection = 1;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What a round showed.
struct Seen {
  bool usable = true;           ///< all values are numbers
  double dual = 0;              ///< F, the semi-dual value of the point
  double dual_after = 0;        ///< the same after the second half-step
  double residual2 = 0;         ///< squared norm of the residual
  double largest_residual = 0;  ///< largest entry of the residual
};

/// State of one target. A plain value: the host has one, a device one per target in its memory.
struct StepControl {
  double reach = 0;   ///< upper bound on all steps
  double radius = 0;  ///< current bound on the step
  double length = 0;  ///< bound on the length of the next step beyond the image
  bool is_cut = false;
  bool has_rejected = false;  ///< since the last round that counted

  double floor = -kInfinity;  ///< F after the last round that counted
  double slack = 0;           ///< shortfall attributed to rounding or noise
  bool has_met_noise = false;
  double gain = kInfinity;
  double residual2 = 0;
  double largest_residual = 0;
  std::int64_t accepted = 0;
  std::int64_t rejected = 0;

  FEDSINKHORN_HOST_DEVICE StepControl(double longest_step, double mass)
      : reach(longest_step), radius(longest_step), slack(kRounding * mass) {}

  /// Whether a round from an extrapolated point counts.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE bool accepts(const Seen& seen) const {
    if (!seen.usable || seen.dual < floor - slack) return false;
    return seen.dual > floor + slack || seen.residual2 <= kResidualGrowth * residual2;
  }
  /// Call if it does not: moves back towards the image. True: shorten the step by kShrink. False: try the image itself,
  /// since a plain step would go about as far.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE bool reject() {
    ++rejected;
    has_rejected = true;
    is_cut = true;
    length *= kShrink;
    radius = length;
    return length >= largest_residual && rejected <= kRejectionsForFree + accepted;
  }
  /// Call if it does, and for every plain round. True: only kKeptAfterRejection differences are still useful.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE bool accept(const Seen& seen, bool is_plain) {
    // Only noise can make the plain image fall short.
    if (is_plain && seen.dual < floor - slack) {
      slack = 2 * (floor - seen.dual);
      has_met_noise = true;
    }
    ++accepted;
    floor = seen.dual_after;
    gain = floor - seen.dual;
    if (is_cut) radius = least(greatest(radius, kGrow * length), reach);
    residual2 = seen.residual2;
    largest_residual = seen.largest_residual;
    const bool had_rejected = has_rejected;
    has_rejected = false;
    return had_rejected;
  }
  /// If the gain of a round is no more than noise, differences of rounds are noise too.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE bool is_all_noise() const {
    return has_met_noise && gain <= kNoiseAlone * slack;
  }
  /// Makes the next step a plain one.
  FEDSINKHORN_HOST_DEVICE void step_plainly() {
    length = 0;
    is_cut = false;
  }
  /// wanted: the length of the next step. Returns the share of it to take.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE double share_of_step(double wanted) {
    length = wanted;
    radius = least(greatest(radius, largest_residual), reach);
    is_cut = length > radius;
    if (!is_cut) return 1;
    const double share = radius / length;
    length = radius;
    return share;
  }
  /// Forgets the history, but keeps the noise level and the counts.
  FEDSINKHORN_HOST_DEVICE void restart() {
    step_plainly();
    radius = reach;
    has_rejected = false;
    floor = -kInfinity;
    gain = kInfinity;
  }

 private:
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE static double least(double x, double y) { return y < x ? y : x; }
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE static double greatest(double x, double y) { return x < y ? y : x; }
};

}  // namespace fedsinkhorn::anderson
