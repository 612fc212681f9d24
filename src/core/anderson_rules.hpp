// The decisions of Anderson acceleration, wherever it runs: which rounds count, and how long a step may be. See
// method/anderson.cpp for what they are about.
#pragma once

#include <cstdint>
#include <limits>

#include "core/host_device.hpp"

namespace fedsinkhorn::anderson {

/// A rejected step is tried again at a quarter of its length.
inline constexpr double kShrink = 0.25;
/// One that was cut short and accepted may be followed by one twice as long.
inline constexpr double kGrow = 2;
/// What rounding may do to F, of the mass; larger noise shows, and is learnt, when a plain step falls short.
inline constexpr double kRounding = 1e-12;
/// Where F cannot tell points apart, the residual must not grow more than tenfold.
inline constexpr double kResidualGrowth = 100;
/// Once there is noise, gains up to this many times the slack may be nothing else.
inline constexpr double kNoiseAlone = 4;
/// Tikhonov's parameter, relative to the mean of the diagonal.
inline constexpr double kRegularization = 1e-12;
/// Rejected rounds may not outnumber the accepted ones by more than this.
inline constexpr int kRejectionsForFree = 10;
/// Differences that survive a rejection.
inline constexpr int kKeptAfterRejection = 1;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What a round showed.
struct Seen {
  bool usable = true;           ///< all of it is numbers
  double dual = 0;              ///< F, the semi-dual value of the point
  double dual_after = 0;        ///< and after the second half-step
  double residual2 = 0;         ///< its squared norm
  double largest_residual = 0;  ///< its largest entry
};

/// Of one target. A plain value: the host has one, a device one per target in its memory.
struct StepControl {
  double reach = 0;   ///< no step may ever be longer
  double radius = 0;  ///< nor longer than this at the moment
  double length = 0;  ///< of the step beyond the image that is to be tried, at most
  bool is_cut = false;
  bool has_rejected = false;  ///< since the last round that counted

  double floor = -kInfinity;  ///< F after the last round that counted
  double slack = 0;           ///< shortfall put down to rounding or noise
  bool has_met_noise = false;
  double gain = kInfinity;
  double residual2 = 0;
  double largest_residual = 0;
  std::int64_t accepted = 0;
  std::int64_t rejected = 0;

  FEDSINKHORN_HOST_DEVICE StepControl(double reach_, double mass)
      : reach(reach_), radius(reach_), slack(kRounding * mass) {}

  /// Whether a round from a point that was extrapolated counts.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE bool accepts(const Seen& seen) const {
    if (!seen.usable || seen.dual < floor - slack) return false;
    return seen.dual > floor + slack || seen.residual2 <= kResidualGrowth * residual2;
  }
  /// It does not: back towards the image. True: the step is to be shortened by kShrink. False: the image itself is to
  /// be tried, since a plain step would go about as far.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE bool reject() {
    ++rejected;
    has_rejected = true;
    is_cut = true;
    length *= kShrink;
    radius = length;
    return length >= largest_residual && rejected <= kRejectionsForFree + accepted;
  }
  /// It does, as a plain one always does. True: only kKeptAfterRejection differences are of any further use.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE bool accept(const Seen& seen, bool is_plain) {
    // The plain image cannot fall short but for noise.
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
  /// Where what a round gains is no more than noise, differences of rounds are noise, too.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE bool is_all_noise() const {
    return has_met_noise && gain <= kNoiseAlone * slack;
  }
  /// The next step is the plain one.
  FEDSINKHORN_HOST_DEVICE void step_plainly() {
    length = 0;
    is_cut = false;
  }
  /// The next step would be that long: the share of it that is made.
  [[nodiscard]] FEDSINKHORN_HOST_DEVICE double share_of_step(double wanted) {
    length = wanted;
    radius = least(greatest(radius, largest_residual), reach);
    is_cut = length > radius;
    if (!is_cut) return 1;
    const double share = radius / length;
    length = radius;
    return share;
  }
  /// What is remembered is of no further use; what is known of noise, and the counts, are.
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
